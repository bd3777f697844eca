"""Rounds that have anything to compare, where sessions fail or have no score.

A round without a pair of scores is none to a verdict, which takes ten that have one. With one pair
in a round and a quarter of the sessions without a score, ten rounds hardly ever are ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.samples import refuse
from matrix.stats.planning.gate_chance import DRAWS
from matrix.stats.planning.power import PowerGoal, power_of_rounds, smallest_effect
from matrix.stats.rounds.rules import MIN_ROUNDS

STEP = 1.005
"""Ratio to which the smallest difference that is shown is known."""


def wrong_sizes(pairs: int, missing: float) -> list[str]:
    """What is wrong with pairs in a round and a share of sessions without a score."""
    problems = []
    if pairs < 1:
        problems.append(f"a round has at least one pair of sessions; got {pairs}")
    if not 0.0 <= missing <= 1.0:
        problems.append(f"a share of sessions lies between 0 and 1; got {missing}")
    return problems


@dataclass(frozen=True, slots=True)
class PairedRounds:
    """Scores of many values, of which some are missing.

    Attributes:
        pairs: Pairs of sessions in a round.
        missing: Share of sessions that have no score, of each variant alike.
    """

    pairs: int = 1
    missing: float = 0.0

    def __post_init__(self) -> None:
        """Raise ``ValueError`` that names every mistake."""
        refuse(wrong_sizes(self.pairs, self.missing))

    def chance(self, n: int, effect: float, sd: float, goal: PowerGoal) -> float:
        """Chance that ``n`` rounds show ``effect`` over every rival.

        It is the mean of `matrix.stats.planning.power.power_of_rounds` over how many of the rounds
        have a pair with each rival: as many as with the rival that has fewest.

        Args:
            n: Rounds.
            effect: True difference to each rival, in units of the score; its sign does not matter.
            sd: Standard deviation of the difference from round to round, of rounds that have one.
            goal: Error rate, variants and engine.
        """
        if not self.missing:
            return power_of_rounds(n, effect, sd, goal)
        if n < MIN_ROUNDS:
            return 0.0
        counts, draws = np.unique(
            _fewest_paired(n, self.pairs, self.missing, goal.n_variants - 1), return_counts=True
        )
        shown = [power_of_rounds(int(count), effect, sd, goal) for count in counts]
        return float(draws @ shown) / DRAWS

    def smallest_effect(self, n: int, sd: float, goal: PowerGoal) -> float | None:
        """Smallest difference that ``n`` rounds show with the power wanted; ``None`` if none is."""
        if not self.missing:
            return smallest_effect(n, sd, goal)
        most = 1e6 * sd  # shown for sure by rounds that are enough at all
        if self.chance(n, most, sd, goal) < goal.power:
            return None
        low, high = 0.0, smallest_effect(n, sd, goal) or sd
        while self.chance(n, high, sd, goal) < goal.power:
            low, high = high, 2 * high
        while high > STEP * low:
            middle = (low + high) / 2
            enough = self.chance(n, middle, sd, goal) >= goal.power
            low, high = (low, middle) if enough else (middle, high)
        return high


@lru_cache(maxsize=256)
def _fewest_paired(n: int, pairs: int, missing: float, rivals: int) -> npt.NDArray[np.int64]:
    """Of each draw, rounds that have a pair with the rival with fewest of them, [draws].

    A round has one with a rival if that has a score where the best variant has: if ``s`` of its
    sessions have, with the chance ``1 - missing^s``. The draws are the same ones every time.
    """
    rng = np.random.default_rng(0)
    scored = np.arange(pairs + 1)
    best = rng.multinomial(n, _binomial(pairs, 1.0 - missing), size=DRAWS)
    has_pair = 1.0 - missing**scored
    found = [rng.binomial(best, has_pair).sum(axis=1) for _ in range(rivals)]
    return np.asarray(np.min(found, axis=0))


def _binomial(n: int, rate: float) -> npt.NDArray[np.float64]:
    """Chances of 0 to n successes."""
    from scipy.special import bdtr

    up_to = np.asarray(bdtr(np.arange(n + 1), n, rate))
    return np.clip(np.diff(up_to, prepend=0.0), 0.0, 1.0)
