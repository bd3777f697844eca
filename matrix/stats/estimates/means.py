"""Means of one sample, and of paired differences, with Student's t.

What cannot be known is ``None``, never 0 and never NaN: the type checker then makes every caller
decide what to show. With no values nothing is known; with one, only the mean; with several equal
ones the spread is 0 and an interval follows from it only if the values have bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.samples import finite_sample
from matrix.stats.estimates.student import t_quantile, t_two_sided_p

ROUNDING = 1e-12
"""Spread below this share of the largest value is rounding, not data.

Means and differences of float64 values err by a few times 2e-16 of the values' size; without this
a constant difference of 0.1 would come out as a t of 1e16.
"""

REPRESENTED = 16 * float(np.finfo(np.float64).eps)
"""Spread of differences below this share of the scores is what float64 cannot hold, and no data.

A score is rounded to half a unit in its last place, 1.1e-16 of it, and so are means over scenarios
and a difference. More would take the noise of scores around 1e12 for nothing.
"""


ALIKE_SHARE = 0.1
"""Share of a level that claims about differences which are all alike may add to it."""


@dataclass(frozen=True, slots=True)
class MeanSummary:
    """Size, centre and spread of one sample, in the units of its values.

    Attributes:
        n: Number of values.
        mean: Arithmetic mean; ``None`` without values.
        sd: Standard deviation with n - 1; ``None`` below two values, 0.0 for identical ones.
        se: Standard error of the mean; ``None`` below two values and for identical ones.
        interval: t interval for the mean; ``None`` exactly where ``se`` is.
        identical: At least two values, and no spread beyond rounding.
    """

    n: int
    mean: float | None
    sd: float | None
    se: float | None
    interval: Interval | None
    identical: bool


@dataclass(frozen=True, slots=True)
class PairedT:
    """Student's t test on paired differences.

    Attributes:
        difference: Summary of the differences, second minus first.
        df: Degrees of freedom, n - 1 (0 without pairs).
        t: Mean over standard error; ``None`` where the standard error is.
        p: Two-sided p-value; ``None`` where ``t`` is.
    """

    difference: MeanSummary
    df: int
    t: float | None
    p: float | None


def summarize(
    values: npt.ArrayLike, alpha: float = 0.05, *, scale: float | None = None
) -> MeanSummary:
    """Summarize one sample, with the t interval ``mean +- t(1 - alpha/2, n - 1) sd / sqrt(n)``.

    Args:
        values: Sample, shape [n], finite.
        alpha: Two-sided error rate of the interval.
        scale: Size of the numbers the values are differences of: spread that these cannot hold
            is rounding (see `REPRESENTED`), as is spread below `ROUNDING` of the values themselves.

    Raises:
        ValueError: If a value is not finite, or ``values`` is not one-dimensional.
    """
    sample = finite_sample(values)
    if sample.size == 0:
        check_alpha(alpha)
        return MeanSummary(0, None, None, None, None, identical=False)
    # Centring first makes the mean of equal values exact, so that their spread is exactly 0.
    mean = float(sample[0] + (sample - sample[0]).mean())
    if sample.size == 1:
        check_alpha(alpha)
        return MeanSummary(1, mean, None, None, None, identical=False)
    size = max(float(np.abs(sample).max()), (scale or 0.0) * REPRESENTED / ROUNDING)
    return summary_from_moments(sample.size, mean, float(sample.std(ddof=1)), size, alpha)


def paired_t(first: npt.ArrayLike, second: npt.ArrayLike, alpha: float = 0.05) -> PairedT:
    """Test whether ``second - first`` is 0 on average, pair by pair.

    Source: Student (1908), Biometrika 6:1.

    Args:
        first: Shape [n], finite.
        second: Shape [n], in the same order as ``first``.
        alpha: Two-sided error rate of the interval.
    """
    before, after = finite_sample(first), finite_sample(second)
    if before.size != after.size:
        raise ValueError(f"pairs need equal lengths; got {before.size} and {after.size}")
    scale = max((float(np.abs(x).max()) for x in (before, after) if x.size), default=0.0)
    difference = summarize(after - before, alpha, scale=scale)
    df = max(difference.n - 1, 0)
    if difference.mean is None or difference.se is None:
        return PairedT(difference, df, None, None)
    t = difference.mean / difference.se
    return PairedT(difference, df, t, t_two_sided_p(t, df))


def summary_from_moments(n: int, mean: float, sd: float, size: float, alpha: float) -> MeanSummary:
    """Summary of at least two values from their moments; ``size`` is their largest magnitude."""
    check_alpha(alpha)
    if sd <= ROUNDING * size:
        return MeanSummary(n, mean, 0.0, None, None, identical=True)
    se = sd / sqrt(n)
    half = t_quantile(1.0 - alpha / 2, n - 1) * se
    interval = Interval(mean - half, mean + half, 1.0 - alpha)
    return MeanSummary(n, mean, sd, se, interval, identical=False)


def alike_half_width(
    difference: npt.ArrayLike, n: npt.ArrayLike, span: npt.ArrayLike, level: float
) -> npt.NDArray[np.float64]:
    """Half-width about n differences of bounded scores that are one and the same.

    If none can be below -W, then with a true mean of m each had a chance of at most
    (m + W) / (d + W) to be d; that all were it had a chance of ``share / 2`` of the level or more
    only if ``m >= pi d - (1 - pi) W``, pi being the n-th root of that. As long as they are alike, a
    wrong claim needs the first look that makes it and no other, so all looks together add that
    share of the level.

    Args:
        difference: d, not 0; all arguments but the level are broadcast.
        n: How many.
        span: W, from the least possible score to the greatest; infinite if that is not known.
        level: Two-sided error rate.
    """
    size, count, whole = (np.asarray(one, dtype=np.float64) for one in (difference, n, span))
    chance = (level * ALIKE_SHARE / 2.0) ** (1.0 / np.maximum(count, 1.0))
    return np.asarray((1.0 - chance) * (np.abs(size) + whole))


def alike_log_p(
    difference: npt.ArrayLike, n: npt.ArrayLike, span: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Logarithm of the level at which :func:`alike_half_width` reaches 0; at most 0."""
    size, count, whole = (np.asarray(one, dtype=np.float64) for one in (difference, n, span))
    surprise = count * np.log1p(np.abs(size) / whole)
    return np.asarray(np.minimum(0.0, np.log(2.0 / ALIKE_SHARE) - surprise))
