"""Does one variant pass often enough, or score high enough? Thresholds for a rate and for a mean.

Both are looked at once, after a number of sessions that the results had no part in choosing.
"28 of 30 passed, the threshold is .9, so it passes" is a figure about those 30 sessions. A verdict
is about the next ones: PASS needs a lower bound of the pass rate at p0 or above, FAIL an upper
bound below it, and everything between is not enough data. Both figures are given, side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.proportions import clopper_pearson_lower, clopper_pearson_upper
from matrix.stats.estimates.samples import refuse
from matrix.stats.gates.gate import all_alike
from matrix.stats.rounds.own_mean import own_mean
from matrix.stats.rounds.rules import MIN_ROUNDS

ThresholdKind = Literal["pass", "fail", "not_enough_data"]


@dataclass(frozen=True, slots=True)
class ThresholdVerdict:
    """Whether a pass rate lies at or above a threshold, and how sure that is.

    Attributes:
        kind: ``pass``, ``fail``, or ``not_enough_data``.
        passes: Sessions that passed.
        n: Sessions that passed or failed; those lost to infrastructure are not among them.
        threshold: Rate asked for, p0.
        rate: Plain pass rate; ``None`` without sessions.
        interval: The two one-sided bounds at alpha each, so at ``1 - 2 alpha``; ``None`` without
            sessions.
    """

    kind: ThresholdKind
    passes: int
    n: int
    threshold: float
    rate: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class MeanThreshold:
    """Whether a mean lies at or beyond a threshold, and how sure that is.

    Attributes:
        kind: ``pass``, ``fail``, or ``not_enough_data``.
        n: Rounds.
        threshold: Mean asked for.
        mean: Plain mean; ``None`` without rounds.
        interval: The two one-sided bounds at alpha each, so at ``1 - 2 alpha``; ``None`` without
            an estimate of the spread.
    """

    kind: ThresholdKind
    n: int
    threshold: float
    mean: float | None
    interval: Interval | None


def mean_threshold(
    scores: npt.ArrayLike,
    threshold: float,
    alpha: float = 0.05,
    *,
    higher_is_better: bool = True,
) -> MeanThreshold:
    """Verdict from one look at a mean over scenarios, by one-sided bounds of `own_mean`.

    PASS: the mean is shown to reach the threshold (or, where lower is better, not to exceed it).
    FAIL: it is shown not to. Below ten rounds nothing is shown; ten and more without any spread
    are taken at their word (`matrix.stats.gates.gate.all_alike`).

    Args:
        scores: Shape [rounds, scenarios], or [rounds] of one; NaN where there is none. Scenarios
            weigh equally.
        threshold: Mean asked for, in units of the score.
        alpha: One-sided error rate of each bound, below 0.5.
        higher_is_better: Direction of the score.
    """
    _check_alpha_and(threshold, alpha)
    table = np.asarray(scores, dtype=np.float64)
    known = own_mean(table[:, None] if table.ndim == 1 else table, 2 * alpha)
    interval = known.interval
    kind: ThresholdKind = "not_enough_data"
    if known.se is None:
        enough = known.fewest >= MIN_ROUNDS
        interval = all_alike(known.mean, known.n_rounds, alpha) if enough else None
    if interval is not None and known.n_rounds >= MIN_ROUNDS:
        kind = _side(interval, threshold, higher_is_better=higher_is_better)
    return MeanThreshold(kind, known.n_rounds, threshold, known.mean, interval)


def fixed_threshold(passes: int, n: int, threshold: float, alpha: float = 0.05) -> ThresholdVerdict:
    """Verdict from one look at a number of sessions fixed beforehand, by Clopper-Pearson bounds.

    Without any failure it takes 14, 29, 59 or 299 sessions to pass .8, .9, .95 or .99. The chance
    of a wrong PASS is at most ``alpha``, that of a wrong FAIL too.

    Args:
        passes: Sessions that passed, 0 to ``n``.
        n: Sessions that passed or failed.
        threshold: Rate asked for, strictly between 0 and 1.
        alpha: One-sided error rate of each bound, below 0.5.
    """
    _check(threshold, alpha)
    if n == 0 and passes == 0:
        return ThresholdVerdict("not_enough_data", 0, 0, threshold, None, None)
    low = clopper_pearson_lower(passes, n, alpha)
    high = clopper_pearson_upper(passes, n, alpha)
    kind: ThresholdKind = "not_enough_data"
    if low >= threshold:
        kind = "pass"
    elif high < threshold:
        kind = "fail"
    interval = Interval(low, high, 1.0 - 2 * alpha)
    return ThresholdVerdict(kind, passes, n, threshold, passes / n, interval)


def clustered_threshold(
    passes: npt.ArrayLike, threshold: float, alpha: float = 0.05, *, higher_is_better: bool = True
) -> MeanThreshold:
    """Verdict from one look at a pass rate over units whose sessions are no independent ones.

    Ten answers to one question may be one answer ten times over, so bounds are those of the unit:
    Clopper's and Pearson's, of as many independent sessions as would leave as much doubt
    (`own_mean`). With differing units nothing is shown below ten of them.

    Args:
        passes: Shape [units, sessions of each]; 1 for yes, 0 for no, NaN where there is none.
        threshold: Rate asked for, strictly between 0 and 1.
        alpha: One-sided error rate of each bound, below 0.5.
        higher_is_better: Whether yes is good.
    """
    _check(threshold, alpha)
    known = own_mean(passes, 2 * alpha)
    kind: ThresholdKind = "not_enough_data"
    if known.interval is not None and (known.se is None or known.n_rounds >= MIN_ROUNDS):
        kind = _side(known.interval, threshold, higher_is_better=higher_is_better)
    return MeanThreshold(kind, known.n_rounds, threshold, known.mean, known.interval)


def _side(interval: Interval, threshold: float, *, higher_is_better: bool) -> ThresholdKind:
    """On which side of a threshold an interval lies."""
    low, high = interval.low - threshold, interval.high - threshold
    if not higher_is_better:
        low, high = -high, -low
    if low >= 0:
        return "pass"
    return "fail" if high < 0 else "not_enough_data"


def _check_alpha_and(threshold: float, alpha: float) -> None:
    problems = [] if isfinite(threshold) else [f"a threshold is finite; got {threshold}"]
    if not 0.0 < alpha < 0.5:
        problems.append(f"alpha is an error rate below 0.5, such as 0.05; got {alpha}")
    refuse(problems)


def _check(threshold: float, alpha: float) -> None:
    problems = []
    if not 0.0 < threshold < 1.0:
        problems.append(
            "a pass threshold lies strictly between 0 and 1 (no number of sessions shows that all "
            f"others pass), such as 0.9; got {threshold}"
        )
    if not 0.0 < alpha < 0.5:
        problems.append(f"alpha is an error rate below 0.5, such as 0.05; got {alpha}")
    refuse(problems)
