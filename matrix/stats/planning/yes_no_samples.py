"""The chance to show a difference of rates that nothing pairs: exact, by the verdict's own rule.

The noncentral t promises too much of few rows, as a winner has to stand by Newcombe's interval and
by Fisher's mid-p (`matrix.stats.estimates.unpaired_rates`), which ask for more than t does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.samples import refuse
from matrix.stats.estimates.unpaired_rates import Count, fisher_mid_p, newcombe_unpaired
from matrix.stats.planning.paired_rounds import wrong_sizes
from matrix.stats.planning.power import PowerGoal, power_of_rounds, smallest_effect
from matrix.stats.rounds.rules import MIN_ROUNDS

STEP: Final = 1.02
"""Ratio of neighbouring differences that are tried for the smallest one that is shown."""
MOST_SCORES: Final = 500
"""Scores of each variant beyond which the noncentral t is near enough, and is taken."""


@dataclass(frozen=True, slots=True)
class YesNoSamples:
    """Scores of two values of variants that share nothing.

    Attributes:
        apart: How far the two values are from each other, in units of the score.
        missing: Share of rows that have no score, of each variant alike.
        opens: Rows of each variant before which no winner is named whatever the scores.
    """

    apart: float = 1.0
    missing: float = 0.0
    opens: int = MIN_ROUNDS

    def __post_init__(self) -> None:
        """Raise ``ValueError`` that names every mistake."""
        refuse_values(self.apart, 1, self.missing)

    def chance(self, n: int, effect: float, sd: float, goal: PowerGoal) -> float:
        """Chance that ``n`` rows of each variant show ``effect`` over every rival.

        The rates are those that lie so far apart and have this spread, the nearer to one half where
        no such rates are. Of looks before the end, and beyond `MOST_SCORES`, it is what the
        noncentral t says.

        Args:
            n: Rows of each variant.
            effect: True difference to each rival, in units of the score; its sign does not matter.
            sd: Root of the sum of the variances of two variants, in units of the score.
            goal: Error rate, variants and engine.
        """
        scored = round(n * (1.0 - self.missing))
        if n < max(MIN_ROUNDS, self.opens) or scored < MIN_ROUNDS:
            return 0.0
        apart = min(abs(effect) / self.apart, 1.0)
        winner, loser = _rates(apart, sd / self.apart)
        if goal.engine != "fixed" or scored > MOST_SCORES:
            least = sqrt(winner * (1 - winner) + loser * (1 - loser)) * self.apart
            return power_of_rounds(scored, abs(effect), max(least, 1e-9 * self.apart), goal)
        from scipy.special import bdtr

        most = _most_of_loser(scored, goal.alpha)
        below = np.where(most >= 0, bdtr(np.maximum(most, 0), scored, loser), 0.0)
        return float((_chances(scored, winner) * below ** (goal.n_variants - 1)).sum())

    def smallest_effect(self, n: int, sd: float, goal: PowerGoal) -> float | None:
        """Smallest difference that ``n`` rows of each show with the power wanted, to one in fifty.

        Returns:
            The difference, below the distance of the two values; ``None`` if there is none.
        """
        return smallest_shown(self, n, sd, goal)


class _OfTwoValues(Protocol):
    @property
    def apart(self) -> float: ...
    @property
    def opens(self) -> int: ...
    def chance(self, n: int, effect: float, sd: float, goal: PowerGoal) -> float: ...


def refuse_values(apart: float, pairs: int, missing: float) -> None:
    """Refuse scores of two values that cannot be.

    Raises:
        ValueError: Every mistake in them.
    """
    problems = []
    if not apart > 0.0:
        problems.append(f"two values are more than 0 apart; got {apart}")
    refuse(problems + wrong_sizes(pairs, missing))


def smallest_shown(scores: _OfTwoValues, n: int, sd: float, goal: PowerGoal) -> float | None:
    """Smallest difference of scores of two values that is shown, to one in fifty.

    Returns:
        The difference, below the distance of the two values; ``None`` if there is none.
    """
    start = smallest_effect(n, sd, goal)
    if start is None or n < scores.opens:
        return None
    effect = min(start, scores.apart) / STEP
    while effect > start / 2 and scores.chance(n, effect, sd, goal) >= goal.power:
        effect /= STEP
    while (effect := effect * STEP) < scores.apart:
        if scores.chance(n, effect, sd, goal) >= goal.power:
            return effect
    return None


def _rates(apart: float, sd: float) -> tuple[float, float]:
    """Two rates that lie so far apart, with variances of this sum as far as there are such.

    Of the two such pairs, mirrored at one half, the upper: of two variants it changes nothing.

    Of a mean m and a distance e that sum is ``2 m (1 - m) - e^2 / 2``. The better one is the upper.
    """
    product = min(0.25, (sd**2 + apart**2 / 2) / 2)
    mean = min(0.5 + sqrt(0.25 - product), 1.0 - apart / 2)
    return mean + apart / 2, mean - apart / 2


def _chances(n: int, rate: float) -> npt.NDArray[np.float64]:
    """Chance of each number of successes, from 0 to ``n``."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(n + 1), n, rate))


@lru_cache(maxsize=256)
def _most_of_loser(n: int, alpha: float) -> npt.NDArray[np.int64]:
    """Of each number of the winner's successes, the most of a rival's that it beats; -1 for none.

    One more success of the winner never takes less to beat, so both are gone through once.
    """
    found, most = np.full(n + 1, -1), -1
    for own in range(n + 1):
        while most + 1 < own and _beats(own, most + 1, n, alpha):
            most += 1
        found[own] = most
    return found


def _beats(own: int, other: int, n: int, alpha: float) -> bool:
    first, second = Count(float(other), float(n)), Count(float(own), float(n))
    interval = newcombe_unpaired([first], [second], alpha)
    return interval is not None and interval.low > 0.0 and fisher_mid_p(first, second) <= alpha
