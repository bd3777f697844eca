"""A mean by human ratings, made sharper by a judge who rated everything.

A judge is cheap and may be off; people are right and few. Each labelled session shows how far off
the judge was, and the mean over all sessions is corrected by that. The result is right however
wrong the judge is; a good judge makes the interval narrower. Labelled sessions must be chosen at
random. Source: Angelopoulos et al. (2023), Science 382:669, and PPI++ (2023), arXiv:2311.01453.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import ROUNDING
from matrix.stats.estimates.samples import finite_sample
from matrix.stats.estimates.student import t_quantile


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """Mean human rating, with the help of a judge.

    Attributes:
        mean: In units of the human ratings; ``None`` without a labelled session.
        interval: For ``mean``; ``None`` with fewer than three labelled sessions, or without spread.
        judge_weight: Lambda: how much of the judge's rating is used; 0 uses people only.
        n_labelled: Sessions rated by both.
        n_all: Sessions rated by the judge, labelled ones included.
        people_only: Mean of the human ratings alone, for comparison.
    """

    mean: float | None
    interval: Interval | None
    judge_weight: float
    n_labelled: int
    n_all: int
    people_only: float | None


def powered_mean(
    human: npt.ArrayLike,
    judge: npt.ArrayLike,
    judge_elsewhere: npt.ArrayLike,
    alpha: float = 0.05,
    *,
    judge_weight: float | None = None,
    bounds: tuple[float, float] | None = None,
) -> PoweredMean:
    """Estimate ``lambda mean(judge, all sessions) + mean(human - lambda judge, labelled)``.

    The variance allows for the labelled sessions being among all sessions, and t has the labelled
    ones' degrees of freedom, so that it holds for few of them.

    Args:
        human: Human ratings of the labelled sessions, shape [n].
        judge: The judge's ratings of the same, same order.
        judge_elsewhere: The judge's ratings of all other sessions, shape [m].
        alpha: Two-sided error rate.
        judge_weight: Lambda; by default the one with the narrowest interval, estimated from the
            labelled sessions, which also makes up for another scale.
        bounds: Least and greatest possible rating, which the mean and its interval keep to: of
            shares 0 and 1. No truth is lost by that, as none lies beyond.
    """
    check_alpha(alpha)
    people, seen, elsewhere = (finite_sample(x) for x in (human, judge, judge_elsewhere))
    if people.size != seen.size:
        raise ValueError(
            f"labelled sessions have a human and a judge's rating each; got {people.size} and "
            f"{seen.size}"
        )
    n, total = people.size, seen.size + elsewhere.size
    weight = _best_weight(people, seen) if judge_weight is None else judge_weight
    if n == 0:
        return PoweredMean(None, None, weight, 0, total, None)
    everything = np.concatenate([seen, elsewhere])
    errors = people - weight * seen
    mean = float(weight * everything.mean() + errors.mean())
    df = n - 1 - (judge_weight is None)
    interval = None
    if n >= 3:
        variance = _variance(errors, weight * seen, weight * everything, df)
        size = max(float(np.abs(people).max()), abs(weight) * float(np.abs(everything).max()))
        if variance > (ROUNDING * size) ** 2:
            half = t_quantile(1 - alpha / 2, df) * sqrt(variance)
            low, high = _kept(bounds, mean - half), _kept(bounds, mean + half)
            interval = Interval(low, high, 1.0 - alpha)
    return PoweredMean(_kept(bounds, mean), interval, weight, n, total, float(people.mean()))


def _kept(bounds: tuple[float, float] | None, value: float) -> float:
    return value if bounds is None else min(max(value, bounds[0]), bounds[1])


def _best_weight(people: npt.NDArray[np.float64], seen: npt.NDArray[np.float64]) -> float:
    """Slope of human on judge: the lambda of least variance. 0 where it cannot be estimated."""
    if people.size < 3:
        return 0.0
    centred = seen - seen.mean()
    spread = float(centred @ centred)
    if spread <= (ROUNDING * float(np.abs(seen).max())) ** 2:
        return 0.0
    return float(centred @ people) / spread


def _variance(
    errors: npt.NDArray[np.float64],
    seen: npt.NDArray[np.float64],
    everything: npt.NDArray[np.float64],
    df: int,
) -> float:
    """Variance of mean(everything) + mean(errors); what both share enters through covariance."""
    off = errors - errors.mean()
    shared = float(off @ (seen - seen.mean()))
    from_errors = float(off @ off) / df / errors.size
    from_judge = float(everything.var(ddof=1)) / everything.size
    return from_errors + from_judge + 2 * shared / (errors.size - 1) / everything.size
