"""How large a lead is after looks that stopped the run as soon as it was shown.

A run stops where its lead happens to be large, so the mean at the stop overstates it: of half a
standard deviation, planned for 37 rounds, runs that stop show .64 on average. Stage-wise ordering
takes this back. Outcomes are ordered by the look at which they crossed, earlier before later, and
within a look by the statistic; p(theta) is the chance of an outcome at least as high as the one
seen if the true drift is theta. Where p is 1/2 is the median-unbiased estimate, and where it is
alpha/2 and 1 - alpha/2 are the ends of the interval. Both hold over all runs, those that reach the
end without crossing included. The runs that cross are the better part of them, which no ordering
undoes: in the plan above, where four in five cross, half of those show less than .59 and an
estimate of less than .55. `tests/stats/looks/test_early_stop.py` makes these figures.

p(theta) depends on the looks up to the one reported and on none after it. So the same serves
``planned``, where the last look ends the plan, and ``open-ended``, whose radii come from a mixture
and which has no last look; for it, too, a run that ends without crossing is ordered below those
that crossed above by then, at the look where it ended.

Sources: Tsiatis, Rosner & Mehta (1984), Biometrics 40:797; Jennison & Turnbull (2000), Group
Sequential Methods, chapter 8; for t statistics, the significance level approach of
section 3.8 there: z is the normal value with the p-value of t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, pi, sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.looks.spending import MOST_LOOKS, carried_density
from matrix.stats.rounds.round_table import FloatArray

METHOD = "median-unbiased, by stage-wise ordering (Tsiatis, Rosner & Mehta 1984)"

FAR = 8.0
"""Standard errors beyond which a normal chance counts as 0: it is 6e-16."""

SMALLEST_P = 1e-300
"""Smaller p-values count as this one, a z of 37."""


@dataclass(frozen=True, slots=True)
class AdjustedLead:
    """A mean difference, corrected for having been looked at until it was shown.

    Attributes:
        estimate: Median-unbiased estimate: too high as often as too low.
        interval: Its interval. At the first crossing of a boundary whose level is alpha or less it
            excludes 0.
        unadjusted: The mean at the look, as given.
        method: How it was corrected, in words.
    """

    estimate: float
    interval: Interval
    unadjusted: float
    method: str = METHOD


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """All steps from look to look up to the one reported, by nodes of the sum before them, [M].

    Attributes:
        at: Sum at the node, not having crossed yet.
        weight: Its weighted density without a drift.
        before: Rounds at the look before the step.
        step: Rounds of the step.
        edge: Boundary of the sum after the step; infinite for the last step.
    """

    at: FloatArray
    weight: FloatArray
    before: FloatArray
    step: FloatArray
    edge: FloatArray

    def chance_above(self, drift: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
        """Chance of an outcome above ``total`` at the last look, and its slope in the drift, [T].

        That is having crossed above before, or a sum of at least ``total`` not having crossed.
        """
        from scipy.special import ndtr

        theta, deviation = drift[:, None], np.sqrt(self.step)
        edge = np.where(np.isfinite(self.edge), self.edge, total)
        ratio = np.exp(theta * self.at - theta * theta * self.before / 2) * self.weight
        reach = (self.at + theta * self.step - edge) / deviation
        beyond, density = ndtr(reach), np.exp(-reach * reach / 2) / sqrt(2 * pi)
        slope = (self.at - theta * self.before) * beyond + deviation * density
        return (ratio * beyond).sum(axis=1), (ratio * slope).sum(axis=1)


def adjusted_lead(
    mean: float,
    sd: float,
    *,
    looks: npt.ArrayLike,
    radii: npt.ArrayLike,
    decided: int,
    first: int = 0,
    alpha: float = 0.05,
) -> AdjustedLead | None:
    """Estimate a mean difference from the look that ended the run, allowing for the looks before.

    The z of candidate drifts becomes t again at n - 1 degrees of freedom: the value reported for
    drift theta is ``mean - se T(z - theta sqrt(n))``. So one look gives the mean and its ordinary t
    interval, and drift 0 is the difference 0.

    A decision may come later than the first crossing, because something else was not shown yet,
    such as the failure gate. Looks before ``first`` could not end the run, so they count as no
    looks; a run decided at ``first`` itself then keeps its mean and ordinary t interval. This holds
    if what it waited for tells nothing of these scores, as a gate that counts failures does, and
    nearly so for another pair with the same leader that had to cross at the same look. If that is
    in doubt, report the first crossing instead (its look, mean and deviation, ``first`` left at 0):
    that is valid whatever delayed the decision, and leaves later rounds unused. A mean that had
    crossed, fell back below 0 and came up again before the decision is not allowed for.

    Args:
        mean: Mean difference at that look.
        sd: Standard deviation of one round's difference then, with n - 1, at least 0.
        looks: Rounds at each look, rising, at least 2, shape [K].
        radii: Boundary at each look in standard errors, as `Boundary.radii`, shape [K]; infinite
            where there is none.
        decided: Index into ``looks`` of the look that ended the run, by a decision or otherwise.
        first: Index of the first look at which everything but these scores allowed a decision.
        alpha: Two-sided error rate of the interval.

    Returns:
        In units of ``mean``; ``None`` without spread.

    Raises:
        ValueError: If looks do not rise, or ``decided`` or ``first`` is none of them.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    schedule, boundary = _checked(looks, radii, decided, first)
    if not sd > 0.0:
        check_alpha(alpha)
        return None
    n, sign = float(schedule[decided]), -1.0 if mean < 0.0 else 1.0
    se = sd / sqrt(n)
    z = float(_normal_of_t(np.array([abs(mean) / se]), np.array([n]))[0])
    steps = _steps(*_reduced(schedule, boundary, decided, first))
    tails = np.array([0.5, check_alpha(alpha) / 2, 1.0 - alpha / 2])
    drifts = _drifts(steps, z * sqrt(n), n, ndtri(tails))
    off = z - drifts * sqrt(n)
    back = -np.sign(off) * stdtrit(n - 1.0, ndtr(-np.abs(off)))
    middle, low, high = (sign * float(one) for one in abs(mean) - se * back)
    return AdjustedLead(middle, Interval(min(low, high), max(low, high), 1.0 - alpha), mean)


def _checked(
    looks: npt.ArrayLike, radii: npt.ArrayLike, decided: int, first: int
) -> tuple[FloatArray, FloatArray]:
    schedule = np.asarray(looks, dtype=np.float64)
    boundary = np.asarray(radii, dtype=np.float64)
    if schedule.ndim != 1 or schedule.shape != boundary.shape:
        raise ValueError(
            f"looks and radii need one equal length; got {schedule.shape} and {boundary.shape}"
        )
    if not 0 <= first <= decided < schedule.size:
        raise ValueError(
            f"of {schedule.size} looks none is first {first}, decided {decided} in this order"
        )
    if not (schedule[0] >= 2 and (np.diff(schedule) > 0).all() and (boundary > 0).all()):
        raise ValueError("looks rise from 2 rounds or more, and radii are above 0")
    return schedule, boundary


def _reduced(
    schedule: FloatArray, boundary: FloatArray, decided: int, first: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Rounds at the looks that count up to the one reported, and the sums that cross before it.

    Of more than `MOST_LOOKS` only every so many count, back from the one reported.
    """
    n, radii = schedule[first:decided], boundary[first:decided]
    n, radii = n[np.isfinite(radii)], radii[np.isfinite(radii)]
    every = ceil((n.size + 1) / MOST_LOOKS)
    n, radii = n[::-1][every - 1 :: every][::-1], radii[::-1][every - 1 :: every][::-1]
    edges = _normal_of_t(radii, n) * np.sqrt(n)
    return (*n.tolist(), float(schedule[decided])), tuple(edges.tolist())


def _normal_of_t(t: FloatArray, n: FloatArray) -> FloatArray:
    """The normal value with the p-value of a t statistic above 0 of ``n`` values."""
    from scipy.special import ndtri, stdtr

    return np.asarray(-ndtri(np.maximum(stdtr(n - 1.0, -t), SMALLEST_P)))


@lru_cache(maxsize=256)
def _steps(rounds: tuple[float, ...], edges: tuple[float, ...]) -> _Steps:
    nodes, weighted, before = np.zeros(1), np.ones(1) / 2, 0.0
    rows = []
    for n, edge in zip(rounds, (*edges, np.inf), strict=True):
        shape = 2 * nodes.size
        terms = (np.full(shape, value) for value in (before, n - before, edge))
        rows.append((np.append(nodes, -nodes), np.tile(weighted, 2), *terms))
        if np.isfinite(edge):
            nodes, weighted = carried_density(nodes, weighted, sqrt(n - before), edge)
        before = n
    return _Steps(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))


def _drifts(steps: _Steps, total: float, n: float, requested: FloatArray) -> FloatArray:
    """Drifts for which the chance of an outcome above ``total`` has these normal quantiles, [T].

    Newton's method on the quantile, nearly linear in the drift, kept inside a bracket.
    """
    from scipy.special import ndtri

    soonest = float((steps.before + steps.step).min())
    low = np.full(requested.size, -FAR / sqrt(soonest))
    high = total / n - low
    drift = total / n + requested / sqrt(n)
    for _ in range(100):
        chance, slope = steps.chance_above(drift, total)
        quantile = ndtri(np.clip(chance, SMALLEST_P, 1.0 - 1e-16))
        low = np.where(quantile < requested, drift, low)
        high = np.where(quantile < requested, high, drift)
        density = np.exp(-quantile * quantile / 2) / sqrt(2 * pi)
        move = (requested - quantile) * density / np.maximum(slope, SMALLEST_P)
        settled = np.abs(move) * sqrt(n) <= 1e-9
        if settled.all():
            break
        inside = (low < drift + move) & (drift + move < high)
        drift = np.where(inside | settled, drift + move, (low + high) / 2)
    return drift
