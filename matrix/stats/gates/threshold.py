"""Does one variant pass often enough, or score high enough? Thresholds for a rate and for a mean.

A pass threshold p0 can be looked at once or after every session; a mean is looked at once.
"28 of 30 passed, the threshold is .9, so it passes" is a figure about those 30 sessions. A verdict
is about the next ones: PASS needs a lower bound of the pass rate at p0 or above, FAIL an upper
bound below it, and everything between is not enough data. Both figures are given, side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log
from typing import Literal

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.proportions import clopper_pearson_lower, clopper_pearson_upper
from matrix.stats.estimates.samples import refuse
from matrix.stats.gates.gate import all_alike
from matrix.stats.rounds.own_mean import own_mean
from matrix.stats.rounds.rules import MIN_ROUNDS

ThresholdKind = Literal["pass", "fail", "not_enough_data"]

PRIOR = 0.5
"""Both parameters of the beta mixture of the sequence: Jeffreys' choice, good for rates near 1."""


@dataclass(frozen=True, slots=True)
class ThresholdVerdict:
    """Whether a pass rate lies at or above a threshold, and how sure that is.

    Attributes:
        kind: ``pass``, ``fail``, or ``not_enough_data``.
        passes: Sessions that passed.
        n: Sessions that passed or failed; those lost to infrastructure are not among them.
        threshold: Rate asked for, p0.
        rate: Plain pass rate; ``None`` without sessions.
        rate_meets: The plain rule, ``rate >= threshold``, which says nothing about chance.
        interval: For one look, the two one-sided bounds at alpha each, so at ``1 - 2 alpha``; for
            looks after every session, the confidence sequence at ``1 - alpha``. ``None`` without
            sessions.
        decided_after: Sessions after which a sequential verdict first held; ``None`` for one look
            and while nothing is decided.
    """

    kind: ThresholdKind
    passes: int
    n: int
    threshold: float
    rate: float | None
    rate_meets: bool | None
    interval: Interval | None
    decided_after: int | None = None


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
    if known.se is None and known.fewest >= MIN_ROUNDS:
        interval = all_alike(known.mean, known.n_rounds, alpha)
    if interval is not None and known.n_rounds >= MIN_ROUNDS:
        low, high = interval.low - threshold, interval.high - threshold
        if not higher_is_better:
            low, high = -high, -low
        if low >= 0:
            kind = "pass"
        elif high < 0:
            kind = "fail"
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
        return _verdict("not_enough_data", 0, 0, threshold, None)
    low = clopper_pearson_lower(passes, n, alpha)
    high = clopper_pearson_upper(passes, n, alpha)
    kind: ThresholdKind = "not_enough_data"
    if low >= threshold:
        kind = "pass"
    elif high < threshold:
        kind = "fail"
    return _verdict(kind, passes, n, threshold, Interval(low, high, 1.0 - 2 * alpha))


def sequential_threshold(
    outcomes: npt.ArrayLike, threshold: float, alpha: float = 0.05
) -> ThresholdVerdict:
    """Verdict that may be looked at after every session, with one error rate for all looks.

    The first look at which the confidence sequence leaves the threshold decides, and stays. Without
    any failure it takes 24, 53 or 116 sessions to pass .8, .9 or .95.

    Args:
        outcomes: True for a pass, in launch order, shape [n]; only a complete prefix of them.
        threshold: Rate asked for, strictly between 0 and 1.
        alpha: Chance that a wrong verdict is ever given, below 0.5.
    """
    _check(threshold, alpha)
    passed = np.asarray(outcomes)
    if passed.ndim != 1 or not np.isin(passed, (0, 1)).all():
        raise ValueError("outcomes are one row of true and false (or 1 and 0), in launch order")
    n = int(passed.size)
    if n == 0:
        return _verdict("not_enough_data", 0, 0, threshold, None)
    so_far, looks = np.cumsum(passed.astype(np.int64)), np.arange(1, n + 1)
    left = beta_binomial_log_e(so_far, looks, threshold) >= log(1 / alpha)
    kind: ThresholdKind = "not_enough_data"
    first = int(left.argmax())
    if left[first]:
        kind = "pass" if so_far[first] / looks[first] > threshold else "fail"
    passes = int(so_far[-1])
    interval = beta_binomial_sequence(passes, n, alpha)
    after = first + 1 if left[first] else None
    return _verdict(kind, passes, n, threshold, interval, after)


def beta_binomial_log_e(
    successes: npt.ArrayLike, n: npt.ArrayLike, rate: float, prior: float = PRIOR
) -> npt.NDArray[np.float64]:
    """Log evidence against a true rate, valid however often it is looked at.

    ``ln B(a + s, a + n - s) - ln B(a, a) - s ln p - (n - s) ln(1 - p)``; its exponential exceeds
    ``1 / alpha`` at any time with chance at most ``alpha`` if the rate is true.
    Source: Robbins (1970), Ann Math Stat 41:1397.

    Args:
        successes: Counts s, any shape.
        n: Numbers of trials, same shape.
        rate: Rate p under test, strictly between 0 and 1.
        prior: Both parameters a of the mixing beta distribution.
    """
    from scipy.special import betaln

    s = np.asarray(successes, dtype=np.float64)
    f = np.asarray(n, dtype=np.float64) - s
    mixed = betaln(prior + s, prior + f) - betaln(prior, prior)
    return np.asarray(mixed - s * np.log(rate) - f * np.log1p(-rate), dtype=np.float64)


def beta_binomial_sequence(
    successes: int, n: int, alpha: float = 0.05, prior: float = PRIOR
) -> Interval | None:
    """Confidence sequence for one rate: it holds at all looks together with ``1 - alpha``.

    Args:
        successes: Number of successes, 0 to ``n``.
        n: Number of trials; 0 gives ``None``.
        alpha: Two-sided error rate over all looks.
        prior: Both parameters of the mixing beta distribution.
    """
    check_alpha(alpha)
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n; got {successes} of {n}")
    if n == 0:
        return None
    limit, seen = log(1 / alpha), successes / n

    def end(outside: float) -> float:
        inside = seen
        for _ in range(60):
            middle = (inside + outside) / 2
            if beta_binomial_log_e(successes, n, middle, prior) >= limit:
                outside = middle
            else:
                inside = middle
        return inside

    low = 0.0 if successes == 0 else end(0.0)
    return Interval(low, 1.0 if successes == n else end(1.0), 1.0 - alpha)


def _verdict(
    kind: ThresholdKind,
    passes: int,
    n: int,
    threshold: float,
    interval: Interval | None,
    decided_after: int | None = None,
) -> ThresholdVerdict:
    rate = passes / n if n else None
    meets = None if rate is None else rate >= threshold
    return ThresholdVerdict(kind, passes, n, threshold, rate, meets, interval, decided_after)


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
