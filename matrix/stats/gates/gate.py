"""Gates: is a candidate no worse than a baseline by more than a margin, or has it regressed?

PASS: the one-sided lower bound of candidate minus baseline lies above minus the margin.
REGRESSION: the upper bound lies below 0. Otherwise there is not enough data. A candidate that is
surely worse, but by surely less than the margin, passes: that is what a margin says.

Where lower values are better (cost, failures) everything is turned round; differences and intervals
are always reported as candidate minus baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Literal

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.means import paired_t
from matrix.stats.estimates.proportions import newcombe_independent
from matrix.stats.estimates.samples import finite_sample, refuse
from matrix.stats.estimates.student import t_two_sided_p
from matrix.stats.estimates.unpaired import welch
from matrix.stats.rounds.rules import MIN_ROUNDS

GateKind = Literal["pass", "regression", "not_enough_data"]
GateReason = Literal[
    "within the margin",
    "worse",
    "interval too wide",
    "too few rounds",
    "identical so far",
    "no data",
]


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a candidate may replace a baseline.

    Attributes:
        kind: The verdict.
        reason: Why.
        difference: Candidate minus baseline; ``None`` without data.
        interval: At ``1 - 2 alpha``, so that each end is a one-sided bound at alpha; ``None`` where
            none can be stated.
        margin: How much worse the candidate may be, in units of the difference.
        worse_within_margin: It passes, and is shown to be worse all the same.
        n_baseline: Rounds or sessions of the baseline.
        n_candidate: Those of the candidate.
        extra: Further rounds or sessions on each side until the gate decides, if the difference and
            the spread stay as they are; 0 once it has, ``None`` where no number can be given.
    """

    kind: GateKind
    reason: GateReason
    difference: float | None
    interval: Interval | None
    margin: float
    worse_within_margin: bool
    n_baseline: int
    n_candidate: int
    extra: int | None


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests: is the difference surely smaller than a margin, either way?

    Attributes:
        equivalent: Whether ``p`` is at most alpha; ``False`` where there is no p.
        p: The larger of the two one-sided p-values; ``None`` without an estimate of the spread.
        interval: At ``1 - 2 alpha``: inside the margin exactly when equivalent.
        margin: Largest difference that counts as none.
    """

    equivalent: bool
    p: float | None
    interval: Interval | None
    margin: float


def gate_paired(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    margin: float,
    alpha: float = 0.05,
    *,
    higher_is_better: bool = True,
) -> GateDecision:
    """Gate on round means of two variants over the same rounds, by the paired t.

    Args:
        baseline: Mean of each round, shape [n].
        candidate: Mean of each round, in the same order, shape [n].
        margin: How much worse the candidate may be, above 0, in units of the score.
        alpha: One-sided error rate of each bound, below 0.5.
        higher_is_better: Direction of the score.
    """
    _check(margin, alpha)
    known = paired_t(baseline, candidate, 2 * alpha).difference
    interval = known.interval or all_alike(known.mean, known.n, alpha)
    return _gate(known.mean, interval, margin, (known.n, known.n), higher_is_better, MIN_ROUNDS)


def gate_of_interval(
    difference: float | None,
    interval: Interval | None,
    margin: float,
    rounds: int,
    *,
    higher_is_better: bool = True,
) -> GateDecision:
    """Gate by an interval at ``1 - 2 alpha`` that was made elsewhere; else as `gate_paired`."""
    return _gate(difference, interval, margin, (rounds, rounds), higher_is_better, MIN_ROUNDS)


def all_alike(mean: float | None, n: int, alpha: float) -> Interval | None:
    """What ``n`` rounds that came out alike are taken for: their word, from ten on.

    Were the next round as likely to lie on the other side of a bound, all of n would lie on one
    with chance 2^-n (the sign test).

    Args:
        mean: What came out; ``None`` without rounds.
        n: Rounds.
        alpha: One-sided error rate.
    """
    if mean is None or n < MIN_ROUNDS or 0.5**n > alpha:
        return None
    return Interval(mean, mean, 1.0 - 2 * alpha)


def gate_unpaired(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    margin: float,
    alpha: float = 0.05,
    *,
    higher_is_better: bool = True,
) -> GateDecision:
    """Gate on two runs without common rounds, by Welch's t.

    Args:
        baseline: Shape [n].
        candidate: Shape [m].
        margin: How much worse the candidate may be, above 0, in units of the score.
        alpha: One-sided error rate of each bound, below 0.5.
        higher_is_better: Direction of the score.
    """
    _check(margin, alpha)
    test = welch(baseline, candidate, 2 * alpha)
    sizes = (test.n_first, test.n_second)
    return _gate(test.difference, test.interval, margin, sizes, higher_is_better, MIN_ROUNDS)


def gate_rates(
    passes_baseline: int,
    n_baseline: int,
    passes_candidate: int,
    n_candidate: int,
    margin: float,
    alpha: float = 0.05,
    *,
    higher_is_better: bool = True,
) -> GateDecision:
    """Gate on two independent pass rates, by Newcombe's interval.

    With no failure on either side it passes from 52 sessions each on for a margin of 5 points, and
    from 25 for 10.

    Args:
        passes_baseline: Passes of the baseline.
        n_baseline: Its sessions.
        passes_candidate: Passes of the candidate.
        n_candidate: Its sessions.
        margin: How much lower the candidate's rate may be, as a fraction above 0.
        alpha: One-sided error rate of each bound, below 0.5.
        higher_is_better: False for rates of failures.
    """
    _check(margin, alpha)
    interval = newcombe_independent(
        passes_candidate, n_candidate, passes_baseline, n_baseline, 2 * alpha
    )
    rates = None
    if interval is not None:
        rates = passes_candidate / n_candidate - passes_baseline / n_baseline
    return _gate(rates, interval, margin, (n_baseline, n_candidate), higher_is_better, 1)


def tost_paired(
    first: npt.ArrayLike, second: npt.ArrayLike, margin: float, alpha: float = 0.05
) -> Equivalence:
    """Show that two variants differ by less than a margin, pair by pair.

    Source: Schuirmann (1987), J Pharmacokinet Biopharm 15:657.

    Args:
        first: Shape [n].
        second: Shape [n], in the same order.
        margin: Largest difference that counts as none, above 0.
        alpha: Error rate, below 0.5.
    """
    _check(margin, alpha)
    test = paired_t(first, second, 2 * alpha)
    mean, se = test.difference.mean, test.difference.se
    return _tost(mean, se, float(test.df), test.difference.interval, margin, alpha)


def tost_unpaired(
    first: npt.ArrayLike, second: npt.ArrayLike, margin: float, alpha: float = 0.05
) -> Equivalence:
    """As `tost_paired`, for two samples that share nothing (shapes [n] and [m])."""
    _check(margin, alpha)
    test = welch(finite_sample(first), finite_sample(second), 2 * alpha)
    return _tost(test.difference, test.se, test.df, test.interval, margin, alpha)


def _gate(
    difference: float | None,
    interval: Interval | None,
    margin: float,
    sizes: tuple[int, int],
    higher_is_better: bool,
    least: int,
) -> GateDecision:
    gain = interval if interval is None or higher_is_better else interval.negated()
    kind: GateKind = "not_enough_data"
    reason: GateReason
    extra: int | None = None
    if difference is None:
        reason, extra = "no data", max(0, least - min(sizes))
    elif min(sizes) < least:
        reason, extra = "too few rounds", least - min(sizes)
    elif gain is None:
        reason = "identical so far"
    elif gain.low > -margin:
        kind, reason, extra = "pass", "within the margin", 0
    elif gain.high < 0:
        kind, reason, extra = "regression", "worse", 0
    else:
        lead = difference if higher_is_better else -difference
        reason, extra = "interval too wide", _extra(lead, gain, margin, min(sizes))
    worse = kind == "pass" and gain is not None and gain.high < 0
    return GateDecision(kind, reason, difference, interval, margin, worse, *sizes, extra)


def _extra(lead: float, gain: Interval, margin: float, n: int) -> int:
    """Rounds until the nearer of the two verdicts, each bound shrinking as 1 / sqrt(n)."""
    to_pass = (lead - gain.low) / (lead + margin) if lead > -margin else inf
    to_fail = (gain.high - lead) / -lead if lead < 0 else inf
    return max(1, ceil(n * (min(to_pass, to_fail) ** 2 - 1)))


def _tost(
    mean: float | None,
    se: float | None,
    df: float | None,
    interval: Interval | None,
    margin: float,
    alpha: float,
) -> Equivalence:
    if mean is None or se is None or df is None:
        return Equivalence(equivalent=False, p=None, interval=None, margin=margin)
    nearest = (margin - abs(mean)) / se
    half = t_two_sided_p(nearest, df) / 2
    p = half if nearest > 0 else 1.0 - half
    return Equivalence(p <= alpha, p, interval, margin)


def _check(margin: float, alpha: float) -> None:
    problems = []
    if not (margin > 0.0 and np.isfinite(margin)):
        problems.append(f"a margin is above 0, in units of the score; got {margin}")
    if not 0.0 < alpha < 0.5:
        problems.append(f"alpha is an error rate below 0.5, such as 0.05; got {alpha}")
    refuse(problems)
