"""Bets on bounded values: error rates that hold at every look, whatever the values' shape.

Bet against a hypothesis with money that it says is fairly priced. If it is true, the chance that
one's capital ever grows by 1 / alpha is at most alpha; capital is therefore evidence. Bets may only
depend on what came before.

Source: Waudby-Smith & Ramdas (2024), JRSS B 86:1.
"""

from __future__ import annotations

from math import log

import numpy as np
import numpy.typing as npt

from matrix.stats.interval import check_alpha
from matrix.stats.round_table import FloatArray

GATE_BETS = np.arange(1, 6) / 5
"""Shares of the largest allowed bet that the gate spreads its capital over, in equal parts."""


def log_gate_capital(
    only_a: npt.ArrayLike, only_b: npt.ArrayLike, neither_or_both: npt.ArrayLike, margin: float
) -> FloatArray:
    """Logarithm of the capital of a bet against "b fails at least ``margin`` more often than a".

    Each pair pays ``1 + u (margin - d) / (1 - margin)`` with d = (b failed) - (a failed), which is
    worth at most 1 on average while the hypothesis holds; the capital is the mean over the bets u
    of `GATE_BETS`. Bets stay the same throughout, so only the counts matter, not their order. With
    failure rates that differ between scenarios it holds for their mean, scenarios weighing equally,
    as the product over a round is worth at most the power of the mean.

    Args:
        only_a: Pairs so far where only a failed; arrays are broadcast.
        only_b: Pairs where only b failed.
        neither_or_both: All other pairs. Counts may be fractional, for projections.
        margin: Fraction above -1 and below 1.

    Returns:
        Logarithms of capital, starting from 0 without pairs.
    """
    room = max(1.0 - margin, 1e-9)
    counts = (only_a, only_b, neither_or_both)
    gains = [GATE_BETS * (margin - d) / room for d in (-1.0, 1.0, 0.0)]
    # Staking everything loses everything at the first pair where only b fails: log 0, but 0 x log 0
    # is 0.
    logs = [np.log(np.maximum(1.0 + gain, 1e-300)) for gain in gains]
    total = sum(
        np.asarray(count, dtype=np.float64)[..., None] * part
        for count, part in zip(counts, logs, strict=True)
    )
    top = np.asarray(total).max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(total - top).mean(axis=-1)))


def gate_bound(only_a: float, only_b: float, neither_or_both: float, alpha: float) -> float:
    """Upper bound on rate of b minus rate of a, at ``1 - alpha`` one-sided; 1 without evidence.

    The least margin that the gate's bet has refuted. It holds at every look; no earlier, tighter
    bound is carried along.
    """
    threshold = log(1.0 / check_alpha(alpha))
    low, high = -1.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2.0
        refuted = log_gate_capital(only_a, only_b, neither_or_both, middle) >= threshold
        low, high = (low, middle) if refuted else (middle, high)
    return high


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
