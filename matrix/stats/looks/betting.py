"""Bets on bounded values: error rates that hold at every look, whatever the values' shape.

Bet against a hypothesis with money that it says is fairly priced. If it is true, the chance that
one's capital ever grows by 1 / alpha is at most alpha; capital is therefore evidence. Bets may only
depend on what came before.

Source: Waudby-Smith & Ramdas (2024), JRSS B 86:1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import log

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.rounds.round_table import FloatArray

GATE_BETS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of the largest allowed bet that the gate spreads its capital over, in equal parts."""

LARGEST_SHARE = 0.5
"""Share of its capital that a bet on a mean may lose at once."""


def log_gate_capital(
    only_a: npt.ArrayLike,
    only_b: npt.ArrayLike,
    neither_or_both: npt.ArrayLike,
    margin: npt.ArrayLike,
) -> FloatArray:
    """Logarithm of the capital of a bet against "b fails at least ``margin`` more often than a".

    Each pair pays ``1 + u (margin - d) / (1 - margin)`` with d = (b failed) - (a failed), which is
    worth at most 1 on average while the hypothesis holds; the capital is the mean over the bets u
    of `GATE_BETS`. Bets stay the same throughout, so only the counts matter, not their order. With
    failure rates that differ between scenarios it holds for their mean, scenarios weighing equally,
    as the product over a round is worth at most the power of the mean.

    Args:
        only_a: Pairs so far where only a failed; all arguments are broadcast.
        only_b: Pairs where only b failed.
        neither_or_both: All other pairs. Counts may be fractional, for projections.
        margin: Fractions from -1 to 1.

    Returns:
        Logarithms of capital, 0 without pairs.
    """
    against = np.asarray(margin, dtype=np.float64)
    counts = [np.asarray(count, dtype=np.float64) for count in (only_a, only_b, neither_or_both)]
    logs = []
    for bet in GATE_BETS:
        stake = bet / np.maximum(1.0 - against, 1e-9)
        # Staking everything loses everything at the first pair where only b fails; a floor instead
        # of 0 keeps 0 x log 0 at 0.
        factors = [np.maximum(1.0 + stake * (against - d), 1e-300) for d in (-1.0, 1.0, 0.0)]
        logs.append(sum(n * np.log(factor) for n, factor in zip(counts, factors, strict=True)))
    return np.asarray(np.logaddexp.reduce(np.stack(logs)) - log(len(GATE_BETS)))


@lru_cache(maxsize=4096)
def gate_bound(only_a: float, only_b: float, neither_or_both: float, alpha: float) -> float:
    """Upper bound on rate of b minus rate of a, at ``1 - alpha`` one-sided; 1 without evidence.

    The least margin that the gate's bet has refuted, to 1e-8. It holds at every look; no earlier,
    tighter bound is carried along.
    """
    threshold = log(1.0 / check_alpha(alpha))
    low, high = -1.0, 1.0
    for _ in range(5):  # each pass narrows the place fortyfold; capital rises with the margin
        margins = np.linspace(low, high, 41)
        refuted = log_gate_capital(only_a, only_b, neither_or_both, margins[1:-1]) >= threshold
        place = int(refuted.argmax()) if refuted.any() else refuted.size
        low, high = float(margins[place]), float(margins[place + 1])
    return high


def betting_capital(
    values: npt.ArrayLike, mean: float, alpha: float = 0.05
) -> tuple[FloatArray, FloatArray]:
    """Capital of two bets on values from 0 to 1: that their mean is above ``mean``, and below.

    Each starts with one half. Bets follow the predictable plug-in rule, with estimates that have
    seen one imaginary value of 1/2 and variance 1/4, and never stake more than half of what could
    be lost.

    Args:
        values: Values in order, from 0 to 1, shape [n].
        mean: Hypothetical mean, strictly between 0 and 1.
        alpha: Error rate that the bets are made for.

    Returns:
        Capital after each value of the bet on more and of the bet on less, shape [n] each.

    Raises:
        ValueError: If a value lies outside 0 to 1.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not ((found >= 0.0) & (found <= 1.0)).all():
        raise ValueError("bets are on one row of values from 0 to 1; scale them first")
    bets = _plug_in_bets(found, alpha)
    gain = found - mean
    more = np.cumprod(1.0 + np.minimum(bets, LARGEST_SHARE / mean) * gain)
    less = np.cumprod(1.0 - np.minimum(bets, LARGEST_SHARE / (1.0 - mean)) * gain)
    return np.asarray(more / 2.0), np.asarray(less / 2.0)


def betting_interval(
    values: npt.ArrayLike, alpha: float = 0.05, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval | None:
    """The means that neither bet has refuted: an interval that holds at every look.

    For scores that t intervals cannot be trusted with, such as those that count a crash as 0.

    Args:
        values: Values in order, within ``bounds``, shape [n].
        alpha: Two-sided error rate over all looks together.
        bounds: Least and greatest possible value.

    Returns:
        The interval, in the units of the values; ``None`` without values.

    Raises:
        ValueError: If a value lies outside ``bounds``.
    """
    low, high = bounds
    scaled = (np.asarray(values, dtype=np.float64) - low) / (high - low)
    if not scaled.size:
        return None
    threshold = 1.0 / check_alpha(alpha)

    def refuted(mean: float, side: int) -> bool:
        return bool(betting_capital(scaled, mean, alpha)[side][-1] >= threshold)

    ends = (
        _turning(lambda mean: not refuted(mean, 0)),
        1.0 - _turning(lambda mean: not refuted(1.0 - mean, 1)),
    )
    return Interval(low + ends[0] * (high - low), low + ends[1] * (high - low), 1.0 - alpha)


def _plug_in_bets(values: FloatArray, alpha: float) -> FloatArray:
    t = np.arange(1, values.size + 1)
    mean = (0.5 + np.cumsum(values)) / (t + 1)
    variance = (0.25 + np.cumsum(np.square(values - mean))) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    return np.asarray(np.sqrt(2.0 * log(2.0 / check_alpha(alpha)) / (t * np.log1p(t) * before)))


def _turning(holds: Callable[[float], bool]) -> float:
    """Where a condition on (0, 1) that fails below some point and holds above begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


def discordant_e(only_a: float, only_b: float, a: float = 1.0) -> float:
    """E-value against "either variant is as likely to be the one", from pairs that disagree.

    ``B(a + b, a + c) / B(a, a) 2^(b + c)``: the bet is spread over all splits by a beta(a, a).
    Exact at every look if each disagreement is 50 : 50 under the hypothesis, as for one scenario;
    for a mean over scenarios that differ, use the betting sequence on rounds.

    Args:
        only_a: Pairs where only the first is a yes.
        only_b: Pairs where only the second is.
        a: Shape of the beta distribution, above 0; 1 for a uniform one.
    """
    from scipy.special import betaln

    if min(only_a, only_b) < 0 or a <= 0.0:
        raise ValueError(f"counts are at least 0 and a above 0; got {(only_a, only_b, a)}")
    spread = betaln(a + only_a, a + only_b) - betaln(a, a)
    return float(np.exp(spread + (only_a + only_b) * log(2.0)))
