"""A mean by human ratings, made sharper by a judge who rated everything.

A judge is cheap and may be off; people are right and few. Each labelled session shows how far off
the judge was, and the mean over all sessions is corrected by that. The result is right however
wrong the judge is; a good judge makes the interval narrower. Labelled sessions must be chosen at
random. Source: Angelopoulos et al. (2023), Science 382:669, and PPI++ (2023), arXiv:2311.01453.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import ROUNDING
from matrix.stats.estimates.proportions import normal_z, wilson
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
    """
    check_alpha(alpha)
    people, seen, elsewhere = (finite_sample(x) for x in (human, judge, judge_elsewhere))
    _check_paired(people.size, seen.size)
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
            interval = Interval(mean - half, mean + half, 1.0 - alpha)
    return PoweredMean(mean, interval, weight, n, total, float(people.mean()))


def powered_share(
    human: npt.ArrayLike,
    judge: npt.ArrayLike,
    judge_elsewhere: npt.ArrayLike,
    alpha: float = 0.05,
    *,
    with_judge: bool = True,
) -> PoweredMean:
    """As :func:`powered_mean`, of ratings that are yes or no.

    The same estimate: people's share of yes among what the judge passes and among what it fails,
    each weighed by how often the judge says so of all sessions. Its interval joins Wilson's of the
    two shares by squaring and adding, and so keeps a width where no label disagrees with the judge;
    by the variance of a sample without a disagreement the judge would be known to be right (of 25
    labels and a judge that fails one session in ten wrongly, such intervals held in .79 of runs).
    Sources: Zou & Donner (2008), Stat Med 27:1693; Yan & Su (2010), Stat Biopharm Res 2:329.

    Args:
        human: Human ratings of the labelled sessions, 0 or 1, shape [n].
        judge: The judge's ratings of the same, same order.
        judge_elsewhere: The judge's ratings of all other sessions, shape [m].
        alpha: Two-sided error rate.
        with_judge: Whether the judge's ratings are used; else people's alone.
    """
    check_alpha(alpha)
    people, seen, elsewhere = (finite_sample(x) for x in (human, judge, judge_elsewhere))
    _check_paired(people.size, seen.size)
    n, total = people.size, seen.size + elsewhere.size
    if n == 0:
        return PoweredMean(None, None, 0.0, 0, total, None)
    everything = np.concatenate([seen, elsewhere])
    passed = float(everything.mean())
    parts = [_part(1.0, people, 1.0, alpha)]
    if with_judge:
        parts = [
            _part(passed, people[seen == 1], 1.0, alpha),
            _part(1 - passed, people[seen == 0], 0.0, alpha),
        ]
    share = sum(part.weight * part.share for part in parts)
    below = sum((part.weight * (part.share - part.low)) ** 2 for part in parts)
    above = sum((part.weight * (part.high - part.share)) ** 2 for part in parts)
    slope = parts[0].share - parts[1].share if with_judge else 0.0
    # what the judge says of all sessions is a sample, too
    drawn = (normal_z(alpha) * slope) ** 2 * passed * (1 - passed) / total
    low, high = share - sqrt(below + drawn), share + sqrt(above + drawn)
    interval = Interval(max(low, 0.0), min(high, 1.0), 1.0 - alpha)
    return PoweredMean(share, interval, slope, n, total, float(people.mean()))


class _Part(NamedTuple):
    """Sessions of which the judge says the same: their share of all, and people's share of yes."""

    weight: float
    share: float
    low: float
    high: float


def _part(weight: float, people: npt.NDArray[np.float64], word: float, alpha: float) -> _Part:
    """Where nobody labelled any, the judge's ``word`` stands, and anything may be true."""
    known = wilson(int(people.sum()), people.size, alpha)
    if known is None:
        return _Part(weight, word, 0.0, 1.0)
    return _Part(weight, float(people.mean()), known.low, known.high)


def _check_paired(people: int, judged: int) -> None:
    if people != judged:
        raise ValueError(
            f"labelled sessions have a human and a judge's rating each; got {people} and {judged}"
        )


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
