"""How wide an interval must be at each look of an engine that looks after every round."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.means import alike_half_width
from matrix.stats.looks.failures import MOST_ROUNDS_AHEAD
from matrix.stats.looks.mixture import t_mixture_radii
from matrix.stats.looks.spending import planned_tails
from matrix.stats.rounds.round_table import FloatArray
from matrix.stats.rounds.rules import MIN_ROUNDS, Engine

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Boundary:
    """The boundary of one comparison.

    Looks are numbered by the rounds that have ended, out of those planned, whether or not a score
    is missing in them; what is missing costs degrees of freedom and widens the standard error.

    Attributes:
        engine: ``planned`` or ``open-ended``.
        level: Two-sided error rate over all its looks together.
        n_planned: Rounds of the plan; without effect on ``open-ended``.
        first: Rounds at the first look.
    """

    engine: Engine
    level: float
    n_planned: int
    first: int = MIN_ROUNDS

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for an engine that looks once."""
        if self.engine == "fixed":
            raise ValueError("the fixed engine looks once; it has no boundary")

    def radii(self, ended: IntArray, df: FloatArray | None = None) -> FloatArray:
        """Half-width in standard errors after so many rounds each; infinite without a look there.

        Args:
            ended: Rounds that have ended.
            df: Degrees of freedom of the standard error; by default one less than ``ended``.
        """
        freedom = np.asarray(ended - 1.0 if df is None else df, dtype=np.float64)
        if self.engine == "open-ended":
            found = t_mixture_radii(np.maximum(freedom, 0.0) + 1.0, self.level)
            return np.where(ended < self.first, np.inf, found)
        return _student(self._tails(ended), freedom)

    def half_widths(
        self,
        ended: IntArray,
        df: FloatArray,
        *,
        mean: npt.NDArray[Any],
        se: npt.NDArray[Any],
        rounds: npt.NDArray[Any],
        span: npt.ArrayLike,
    ) -> FloatArray:
        """How far a mean difference has to be from 0 after so many rounds; infinite without a look.

        Where all differences are alike, those of bounded scores: there is no error to go by.

        Args:
            ended: Rounds that have ended; what follows is at each, or broadcast to it.
            df: Degrees of freedom of the standard error.
            mean: Mean differences.
            se: Their standard errors.
            rounds: Rounds with a difference.
            span: From the least possible score to the greatest; infinite if that is not known.
        """
        radii = self.radii(ended, df)
        looked = np.isfinite(radii)
        half = np.where(looked & (se > 0.0), np.where(looked, radii, 0.0) * se, np.inf)
        alike = looked & (se == 0.0) & (mean != 0.0) & np.isfinite(span)
        if alike.any():
            half = np.where(alike, alike_half_width(mean, rounds, span, self.level), half)
        return half

    def looked_at(self, ended: IntArray) -> npt.NDArray[np.bool_]:
        """Whether there is a look after so many rounds each."""
        if self.engine == "open-ended":
            return np.asarray(ended >= self.first)
        return np.asarray(self._tails(ended) > 0.0)

    def last_look(self, ended: int) -> int:
        """The last number of rounds up to ``ended`` that is looked at; ``ended`` if none is yet."""
        looked = np.flatnonzero(self.looked_at(np.arange(ended + 1)))
        return int(looked[-1]) if looked.size else ended

    def rounds_until(self, n: int, reach: float) -> int | None:
        """Further rounds after ``n`` until the half-width is below ``reach`` deviations.

        Args:
            n: Rounds so far.
            reach: Half-width wanted, in standard deviations of one round's difference.

        Returns:
            At least 1; ``None`` if that is beyond the plan or `MOST_ROUNDS_AHEAD`.
        """
        if reach <= 0.0:
            return None
        if self.engine == "planned":
            ahead = np.arange(n + 1, self.n_planned + 1)
            near = self.radii(ahead) / np.sqrt(ahead) < reach
            return int(near.argmax()) + 1 if near.any() else None

        def near_enough(extra: int) -> bool:
            later = n + extra
            return float(self.radii(np.array([later]))[0]) / sqrt(later) < reach

        low, high = 0, MOST_ROUNDS_AHEAD
        if not near_enough(high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if near_enough(middle) else (middle, high)
        return high

    def _tails(self, ended: IntArray) -> FloatArray:
        """One-sided tail that each look of a plan leaves beyond its boundary; 0 without a look."""
        planned = planned_tails(self.level, self.n_planned, self.first)
        inside = ended < planned.size
        return np.where(inside, planned[np.where(inside, ended, 0)], 0.0)


def _student(tails: FloatArray, df: FloatArray) -> FloatArray:
    """Student's quantiles beyond which the tails lie; infinite where there is none."""
    from scipy.special import stdtrit

    known = (tails > 0.0) & (df > 0.0)
    found = -stdtrit(np.where(known, df, 1.0), np.where(known, tails, 0.25))
    return np.where(known, found, np.inf)
