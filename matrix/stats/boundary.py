"""How wide an interval must be at each look of an engine that looks after every round."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.failures import MOST_ROUNDS_AHEAD
from matrix.stats.mixture import t_mixture_radii
from matrix.stats.round_table import FloatArray
from matrix.stats.rules import MIN_ROUNDS, Engine
from matrix.stats.spending import planned_radii


@dataclass(frozen=True, slots=True)
class Boundary:
    """The boundary of one comparison.

    Attributes:
        engine: ``planned`` or ``open-ended``.
        level: Two-sided error rate over all its looks together.
        n_planned: Rounds of the plan; without effect on ``open-ended``.
    """

    engine: Engine
    level: float
    n_planned: int

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for an engine that looks once."""
        if self.engine == "fixed":
            raise ValueError("the fixed engine looks once; it has no boundary")

    def radii(self, n: npt.NDArray[np.int64]) -> FloatArray:
        """Half-width in standard errors after ``n`` rounds each; infinite without a look there."""
        if self.engine == "open-ended":
            return np.where(n < MIN_ROUNDS, np.inf, t_mixture_radii(n, self.level))
        planned = planned_radii(self.level, self.n_planned)
        inside = n < planned.size
        return np.where(inside, planned[np.where(inside, n, 0)], np.inf)

    def last_look(self, n: int) -> int:
        """The last number of rounds up to ``n`` that is looked at; ``n`` if there is none yet."""
        looked = np.flatnonzero(np.isfinite(self.radii(np.arange(n + 1))))
        return int(looked[-1]) if looked.size else n

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
