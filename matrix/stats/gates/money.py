"""Cost beside quality: ratios of costs, and who dominates whom.

Costs include those of sessions that failed: the money is gone all the same. They are skewed, so
ratios are compared on the log scale, round by round; intervals of costs are always approximate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.bootstrap import DRAWS, check_draws, resamples, studentised, turned
from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import ROUNDING
from matrix.stats.estimates.samples import finite_sample, refuse
from matrix.stats.estimates.student import t_quantile
from matrix.stats.gates.gate import GateDecision

RatioMethod = Literal["jackknife", "bootstrap-t"]

LARGEST_LOG_RATIO = 20.0
"""Intervals that reach beyond a factor of half a billion come from a few rounds of which most
resamples are nearly constant: they say nothing, and their ends may not fit a float."""


@dataclass(frozen=True, slots=True)
class CostRatio:
    """Mean cost of the second variant per round, over that of the first.

    Attributes:
        n: Rounds.
        ratio: 0.8 for a fifth cheaper; ``None`` without rounds, or if either variant cost nothing.
        interval: Approximate interval for it; ``None`` below two rounds, where the costs keep the
            same proportion in all of them, and where ``ratio`` is.
        method: How the interval was made.
    """

    n: int
    ratio: float | None
    interval: Interval | None
    method: RatioMethod


def cost_ratio_jackknife(
    first: npt.ArrayLike, second: npt.ArrayLike, alpha: float = 0.05
) -> CostRatio:
    """Ratio of mean costs over the same rounds, by the jackknife on its logarithm.

    Each round is left out once; t with n - 1 degrees of freedom.
    Source: Tukey (1958), Ann Math Stat 29:614.

    Args:
        first: Cost of each round, shape [n], not negative, failed sessions included.
        second: The same for the other variant, in the same order.
        alpha: Two-sided error rate.
    """
    check_alpha(alpha)
    a, b = _costs(first, second)
    centre = _log_ratio(a, b)
    if centre is None or a.size < 2:
        return CostRatio(a.size, _exp(centre), None, "jackknife")
    n, left_a, left_b = a.size, a.sum() - a, b.sum() - b
    if min(left_a.min(), left_b.min()) <= 0.0:
        # All the money of a variant was spent in one round: without it there is no ratio.
        return CostRatio(n, exp(centre), None, "jackknife")
    left_out = np.log(left_b) - np.log(left_a)
    se = sqrt((n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum()))
    if se <= ROUNDING * n:
        return CostRatio(n, exp(centre), None, "jackknife")
    half = t_quantile(1 - alpha / 2, n - 1) * se
    interval = _as_ratio(Interval(centre - half, centre + half, 1.0 - alpha))
    return CostRatio(n, exp(centre), interval, "jackknife")


def cost_ratio_unpaired(
    first: npt.ArrayLike, second: npt.ArrayLike, alpha: float = 0.05
) -> CostRatio:
    """Ratio of mean costs of two samples that share nothing, by the jackknife on its logarithm.

    Each value is left out of its own sample once (Tukey 1958, Ann Math Stat 29:614), and the errors
    of the two are joined as Welch (1947), Biometrika 34:28, does.

    Args:
        first: Cost of each session, shape [n], not negative, failed sessions included.
        second: The same for the other variant, shape [m].
        alpha: Two-sided error rate.

    Returns:
        The ratio; its ``n`` is the size of the smaller sample.
    """
    check_alpha(alpha)
    samples = [_not_negative(one) for one in (first, second)]
    n = min(one.size for one in samples)
    if not n or min(float(one.sum()) for one in samples) <= 0.0:
        return CostRatio(n, None, None, "jackknife")
    centre = log(float(samples[1].mean())) - log(float(samples[0].mean()))
    errors = [_jackknifed(one) for one in samples]
    if None in errors or (total := sum(one or 0.0 for one in errors)) <= ROUNDING**2:
        return CostRatio(n, exp(centre), None, "jackknife")
    spent = sum(
        (own or 0.0) ** 2 / (one.size - 1) for own, one in zip(errors, samples, strict=True)
    )
    half = t_quantile(1 - alpha / 2, total**2 / spent) * sqrt(total)
    interval = _as_ratio(Interval(centre - half, centre + half, 1.0 - alpha))
    return CostRatio(n, exp(centre), interval, "jackknife")


def _jackknifed(costs: npt.NDArray[np.float64]) -> float | None:
    """Squared standard error of the logarithm of a mean; ``None`` where it is not known."""
    n, left = costs.size, costs.sum() - costs
    if n < 2 or left.min() <= 0.0:
        return None
    logs = np.log(left)
    return (n - 1) / n * float(((logs - logs.mean()) ** 2).sum())


def cost_ratio(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    rng: np.random.Generator,
    alpha: float = 0.05,
    *,
    draws: int = DRAWS,
) -> CostRatio:
    """Ratio of mean costs over the same rounds, by bootstrap-t on its logarithm.

    Args:
        first: Cost of each round, shape [n], not negative, failed sessions included.
        second: The same for the other variant, in the same order.
        rng: Source of the draws.
        alpha: Two-sided error rate.
        draws: Resamples.
    """
    check_draws(draws, alpha)
    a, b = _costs(first, second)
    centre = _log_ratio(a, b)
    if centre is None or a.size < 2:
        return CostRatio(a.size, _exp(centre), None, "bootstrap-t")
    sd = float(_spread(a[None], b[None])[0])
    if sd <= ROUNDING:
        return CostRatio(a.size, exp(centre), None, "bootstrap-t")
    errors, sds = [], []
    for places in resamples(a.size, draws, rng):
        drawn_a, drawn_b = a[places], b[places]
        sums = drawn_a.sum(axis=1), drawn_b.sum(axis=1)
        priced = (sums[0] > 0) & (sums[1] > 0)
        drawn_a, drawn_b = drawn_a[priced], drawn_b[priced]
        errors.append(np.log(sums[1][priced]) - np.log(sums[0][priced]) - centre)
        sds.append(_spread(drawn_a, drawn_b))
    pivots = studentised(np.concatenate(errors), np.concatenate(sds), sd)
    interval = _as_ratio(turned(centre, sd, pivots, alpha))
    return CostRatio(a.size, exp(centre), interval, "bootstrap-t")


def dominates(quality: GateDecision, cost: CostRatio) -> bool:
    """Whether the second variant is as good and cheaper.

    Both parts must hold, each at its own error rate, so no correction is needed.

    Args:
        quality: Gate of the second variant's quality against the first's.
        cost: Ratio of costs, second over first. At ``alpha`` its interval has one-sided error
            ``alpha / 2``; ask for it at ``2 * alpha`` to match the gate.
    """
    return quality.kind == "pass" and cost.interval is not None and cost.interval.high < 1.0


def _costs(
    first: npt.ArrayLike, second: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    a, b = finite_sample(first), finite_sample(second)
    problems = []
    if a.size != b.size:
        problems.append(f"costs of the same rounds need equal lengths; got {a.size} and {b.size}")
    if min(a.min(initial=0.0), b.min(initial=0.0)) < 0:
        problems.append("a cost cannot be negative")
    refuse(problems)
    return a, b


def _not_negative(costs: npt.ArrayLike) -> npt.NDArray[np.float64]:
    sample = finite_sample(costs)
    refuse(["a cost cannot be negative"] if sample.min(initial=0.0) < 0 else [])
    return sample


def _log_ratio(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float | None:
    if a.size == 0 or a.sum() <= 0 or b.sum() <= 0:
        return None
    return log(float(b.sum())) - log(float(a.sum()))


def _spread(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Standard deviation of each row's influences on its log ratio; [draws, n] to [draws]."""
    relative = b / b.mean(axis=1, keepdims=True) - a / a.mean(axis=1, keepdims=True)
    return np.asarray(relative.std(axis=1, ddof=1), dtype=np.float64)


def _exp(value: float | None) -> float | None:
    return None if value is None else exp(value)


def _as_ratio(interval: Interval | None) -> Interval | None:
    if interval is None or max(-interval.low, interval.high) > LARGEST_LOG_RATIO:
        return None
    return Interval(exp(interval.low), exp(interval.high), interval.confidence)
