"""Whether a judge errs by more for one variant than for another, beside people's ratings.

An error is the judge's rating minus people's, of one transcript. A judge whose errors are the same
for every variant changes no difference between variants; one whose errors differ makes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, hypot

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import ROUNDING, summarize
from matrix.stats.estimates.proportions import newcombe_paired
from matrix.stats.estimates.samples import finite_sample
from matrix.stats.estimates.unpaired import welch

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rated:
    """Transcripts that people and a judge have rated, in the same order.

    Attributes:
        people: Shape [n], finite.
        judge: Shape [n], finite.
    """

    people: Floats
    judge: Floats

    @property
    def verdicts(self) -> bool:
        """Whether every rating is 0 or 1."""
        return bool(np.isin(np.concatenate([self.people, self.judge]), (0.0, 1.0)).all())

    @property
    def errors(self) -> Floats:
        """Judge minus people, shape [n]; what is below rounding is 0."""
        apart = finite_sample(self.judge) - finite_sample(self.people)
        size = float(np.abs(np.concatenate([self.people, self.judge])).max(initial=0.0))
        return np.where(np.abs(apart) <= ROUNDING * size, 0.0, apart)


@dataclass(frozen=True, slots=True)
class ErrorsApart:
    """How much higher a judge rates the first of two variants than the second, beside people.

    Attributes:
        difference: Mean error of the first minus that of the second, in units of the ratings.
        interval: For it; ``None`` where all errors of each variant are the same.
        shown: Whether they are shown to differ at the error rate asked for.
    """

    difference: float
    interval: Interval | None
    shown: bool


def error_interval(rated: Rated, alpha: float = 0.05) -> Interval | None:
    """Interval for a judge's mean error: of verdicts Newcombe's for paired rates, else Student's t.

    Args:
        rated: Transcripts of one variant.
        alpha: Two-sided error rate.

    Returns:
        The interval; ``None`` without transcripts, and of ratings with fewer than two errors, or
        all the same.
    """
    if rated.verdicts:
        return newcombe_paired(*_table(rated), alpha)
    return summarize(rated.errors, alpha).interval


def errors_apart(first: Rated, second: Rated, alpha: float = 0.05) -> ErrorsApart | None:
    """Whether a judge errs differently for two variants.

    Verdicts: the interval of each variant's error by Newcombe's method for paired rates, joined by
    squaring and adding, which has a width where no error varies. Source: Newcombe (2001), Stat Med
    20:2885. Other ratings: Welch's t. Where the errors of each variant are all the same, t has
    nothing to measure chance by. Then they differ if so clean a split of the labels is rarer by
    chance than ``alpha``: an exact permutation test, Fisher (1935), The Design of Experiments,
    chapter 3. At .05 that takes four labels of each variant, or two of one and five of the other.

    Args:
        first: Transcripts of one variant.
        second: Transcripts of the other.
        alpha: Two-sided error rate.

    Returns:
        What is found; ``None`` without a transcript of each.
    """
    check_alpha(alpha)
    mine, other = first.errors, second.errors
    if not mine.size or not other.size:
        return None
    difference = float(mine.mean() - other.mean())
    if first.verdicts and second.verdicts:
        interval = _joined(first, second, alpha)
        return ErrorsApart(difference, interval, not interval.contains(0.0))
    found = welch(other, mine, alpha)
    if found.interval is not None:
        return ErrorsApart(difference, found.interval, not found.interval.contains(0.0))
    size = float(np.abs(np.concatenate([mine, other])).max())
    split = min(mine.size, other.size) > 1 and abs(difference) > ROUNDING * size
    return ErrorsApart(difference, None, split and _chance(mine.size, other.size) <= alpha)


def _joined(first: Rated, second: Rated, alpha: float) -> Interval:
    ends = [newcombe_paired(*_table(one), alpha) for one in (first, second)]
    a, b = ends
    assert a is not None
    assert b is not None
    x, y = float(first.errors.mean()), float(second.errors.mean())
    low = x - y - hypot(x - a.low, b.high - y)
    return Interval(low, x - y + hypot(a.high - x, y - b.low), 1.0 - alpha)


def _table(rated: Rated) -> tuple[int, int, int, int]:
    """Transcripts that both pass, the judge alone, people alone, and neither."""
    judge, people = rated.judge == 1.0, rated.people == 1.0
    cells = (judge & people, judge & ~people, ~judge & people, ~judge & ~people)
    a, b, c, d = (int(cell.sum()) for cell in cells)
    return a, b, c, d


def _chance(n: int, m: int) -> float:
    """Chance that a random split into n and m puts all of one value here and of another there."""
    return (2 if n == m else 1) / comb(n + m, n)
