"""Bets on who fails: the failure gate of a run that is looked at after every round.

Bet against a hypothesis with money that it says is fairly priced. If it is true, the chance that
one's capital ever grows by 1 / alpha is at most alpha; capital is therefore evidence. Bets may only
depend on what came before.

Source: Waudby-Smith & Ramdas (2024), JRSS B 86:1.
"""

from __future__ import annotations

from functools import lru_cache
from math import log

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import check_alpha
from matrix.stats.rounds.round_table import FloatArray

GATE_BETS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of the largest allowed bet that the gate spreads its capital over, in equal parts."""


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
