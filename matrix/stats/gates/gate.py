"""Gates: is a candidate no worse than a baseline by more than a margin, or has it regressed?

PASS: the one-sided lower bound of candidate minus baseline lies above minus the margin.
REGRESSION: the upper bound lies below 0. Otherwise there is not enough data. A candidate that is
surely worse, but by surely less than the margin, passes: that is what a margin says.

Where lower values are better, everything is turned round; differences and intervals
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
from matrix.stats.estimates.samples import refuse
from matrix.stats.rounds.rules import MIN_ROUNDS

GateKind = Literal["pass", "regression", "not_enough_data"]
GateReason = Literal[
    "within the margin",
    "worse",
    "interval too wide",
    "too few rounds",
    "identical so far",
    "no data",
    "judge errs",
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
        n: Rounds.
        extra: Further rounds until the gate decides, if the difference and the spread stay as they
            are; 0 once it has, ``None`` where no number can be given.
    """

    kind: GateKind
    reason: GateReason
    difference: float | None
    interval: Interval | None
    margin: float
    worse_within_margin: bool
    n: int
    extra: int | None


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
    check_gate(margin, alpha)
    known = paired_t(baseline, candidate, 2 * alpha).difference
    interval = known.interval or all_alike(known.mean, known.n, alpha)
    return _gate(known.mean, interval, margin, known.n, higher_is_better)


def gate_of_interval(
    difference: float | None,
    interval: Interval | None,
    margin: float,
    rounds: int,
    *,
    higher_is_better: bool = True,
) -> GateDecision:
    """Gate by an interval at ``1 - 2 alpha`` that was made elsewhere; else as `gate_paired`."""
    return _gate(difference, interval, margin, rounds, higher_is_better)


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


def _gate(
    difference: float | None,
    interval: Interval | None,
    margin: float,
    n: int,
    higher_is_better: bool,
) -> GateDecision:
    gain = interval if interval is None or higher_is_better else interval.negated()
    kind: GateKind = "not_enough_data"
    reason: GateReason
    extra: int | None = None
    if difference is None:
        reason, extra = "no data", max(0, MIN_ROUNDS - n)
    elif n < MIN_ROUNDS:
        reason, extra = "too few rounds", MIN_ROUNDS - n
    elif gain is None:
        reason = "identical so far"
    elif gain.low > -margin:
        kind, reason, extra = "pass", "within the margin", 0
    elif gain.high < 0:
        kind, reason, extra = "regression", "worse", 0
    else:
        lead = difference if higher_is_better else -difference
        reason, extra = "interval too wide", _extra(lead, gain, margin, n)
    worse = kind == "pass" and gain is not None and gain.high < 0
    return GateDecision(kind, reason, difference, interval, margin, worse, n, extra)


def _extra(lead: float, gain: Interval, margin: float, n: int) -> int:
    """Rounds until the nearer of the two verdicts, each bound shrinking as 1 / sqrt(n)."""
    to_pass = (lead - gain.low) / (lead + margin) if lead > -margin else inf
    to_fail = (gain.high - lead) / -lead if lead < 0 else inf
    return max(1, ceil(n * (min(to_pass, to_fail) ** 2 - 1)))


def check_gate(margin: float, alpha: float) -> None:
    """Raise ``ValueError`` that names every mistake in a margin and an error rate."""
    problems = []
    if not (margin > 0.0 and np.isfinite(margin)):
        problems.append(f"a margin is above 0, in units of the score; got {margin}")
    if not 0.0 < alpha < 0.5:
        problems.append(f"alpha is an error rate below 0.5, such as 0.05; got {alpha}")
    refuse(problems)
