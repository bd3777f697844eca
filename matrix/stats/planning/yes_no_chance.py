"""The chance to show a difference of yes/no scores: by simulation of the verdict's own rules.

The noncentral t does not hold for them. A winner takes a number of differing pairs besides, which
binds just where a variant nearly always passes and rounds are few; and where a difference is that
of few pairs, its mean and its spread go together. The draws are the same ones every time, so equal
questions have equal answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.proportions import discordant_needed
from matrix.stats.estimates.student import t_quantile
from matrix.stats.looks.boundary import Boundary
from matrix.stats.planning.gate_chance import DRAWS, horizon_of
from matrix.stats.planning.power import PowerGoal, power_of_rounds
from matrix.stats.planning.yes_no_samples import refuse_values, smallest_shown
from matrix.stats.rounds.rules import MIN_ROUNDS

MOST_PAIRS: Final = 2048
"""A plan of more pairs of sessions, over all rivals, is not simulated: see `YesNoScores.chance`."""

Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class YesNoScores:
    """Scores of two values, and the rounds they come in.

    Attributes:
        apart: How far the two values are from each other, in units of the score.
        pairs: Pairs of sessions in a round.
        missing: Share of sessions that have no score, of each variant alike.
        opens: Rounds before which no winner is named whatever the scores, as the failure gate is
            not passed; looks before do not count.
    """

    apart: float = 1.0
    pairs: int = 1
    missing: float = 0.0
    opens: int = MIN_ROUNDS

    def __post_init__(self) -> None:
        """Raise ``ValueError`` that names every mistake."""
        refuse_values(self.apart, self.pairs, self.missing)

    def chance(self, n: int, effect: float, sd: float, goal: PowerGoal) -> float:
        """Chance that ``n`` rounds show ``effect`` over every rival, in enough differing pairs.

        Pairs of a round are taken to tell nothing of each other, as far as so large a spread can
        come from such pairs. Beyond `MOST_PAIRS` it is the lesser of what the noncentral t says
        and the chance that enough pairs differ.

        Args:
            n: Rounds.
            effect: True difference to each rival, in units of the score; its sign does not matter.
            sd: Standard deviation of the difference from round to round. A difference of so much
                in yes/no scores may need a larger one, which is then taken.
            goal: Error rate, variants and engine.
        """
        if n < max(MIN_ROUNDS, self.opens) or self.missing == 1.0:
            return 0.0
        world, rivals = self._world(abs(effect) / self.apart, sd / self.apart), goal.n_variants - 1
        horizon = horizon_of(n)
        if horizon * world.pairs * rivals > MOST_PAIRS:
            return self._by_formula(n, effect, world, goal)
        shown = _shown(world, rivals, horizon, n, goal, max(MIN_ROUNDS, self.opens))
        return float(shown.mean())

    def smallest_effect(self, n: int, sd: float, goal: PowerGoal) -> float | None:
        """Smallest difference that ``n`` rounds show with the power wanted, to one in fifty.

        Returns:
            The difference, below the distance of the two values; ``None`` if there is none.
        """
        return smallest_shown(self, n, sd, goal)

    def _world(self, effect: float, sd: float) -> _World:
        """Scores with this difference and spread, both in distances of the two values."""
        effect = min(effect, 1.0)
        seen = (1.0 - self.missing) ** 2
        for pairs in range(self.pairs, 0, -1):
            # fewer pairs where those of a round go together so much that they are worth no more
            differ = sd**2 * _pairs_scored(pairs, seen) + effect**2
            if differ <= 1.0:
                break
        return _World(effect, min(1.0, max(effect, differ)), pairs, self.missing)

    def _by_formula(self, n: int, effect: float, world: _World, goal: PowerGoal) -> float:
        from scipy.special import bdtrc

        seen = (1.0 - self.missing) ** 2
        needed, pairs = discordant_needed(goal.alpha), n * world.pairs
        enough = float(bdtrc(needed - 1, pairs, min(1.0, world.differ * seen)))
        spread = sqrt(max(world.differ - world.effect**2, 0.0) / _pairs_scored(world.pairs, seen))
        least = max(spread, 1e-9) * self.apart
        return min(power_of_rounds(n, effect, least, goal), enough ** (goal.n_variants - 1))


@dataclass(frozen=True, slots=True)
class _World:
    """What scores are drawn from: a difference, the share of pairs that differ, pairs, missing."""

    effect: float
    differ: float
    pairs: int
    missing: float

    @property
    def winner_rate(self) -> float:
        """Rate of the better variant if all are independent, the upper of two; else in between.

        Of two variants it changes nothing; of more, it is what makes the differences to two rivals
        correlate by one half, as `PowerGoal` has it.
        """
        e, q = self.effect, self.differ
        return (1 + e + sqrt(max(0.0, (1 + e) ** 2 - 2 * (q + e)))) / 2


def _pairs_scored(pairs: int, seen: float) -> float:
    """Pairs of a round that has any, as its spread counts them: the harmonic mean."""
    if pairs == 1 or seen == 1.0:
        return float(pairs)
    if seen == 0.0:
        return 1.0
    from scipy.special import comb

    counts = np.arange(1, pairs + 1)
    weights = comb(pairs, counts) * seen**counts * (1.0 - seen) ** (pairs - counts)
    return float(weights.sum() / (weights / counts).sum())


def _shown(
    world: _World, rivals: int, horizon: int, n: int, goal: PowerGoal, first: int
) -> npt.NDArray[np.bool_]:
    """Whether each draw shows the difference to all rivals at one look up to round n, [draws]."""
    looks = np.arange(n, n + 1) if goal.engine == "fixed" else np.arange(first, n + 1)
    needed, hits = discordant_needed(goal.alpha), np.ones((DRAWS, looks.size), np.bool_)
    for path in _paths(world, rivals, horizon):
        rounds, mean, se, differ = (one[:, looks - 1] for one in path)
        hits &= (rounds >= MIN_ROUNDS) & (differ >= needed)
        df = np.maximum(rounds.mean(axis=0, dtype=np.float64) - 1.0, 1.0)
        if goal.engine == "fixed":  # without any spread it goes by the rates, which are far apart
            hits &= (mean > 0.0) & (mean > t_quantile(1.0 - goal.alpha / 2, float(df[0])) * se)
        else:
            boundary = Boundary(goal.engine, goal.alpha, n)
            hits &= mean > boundary.half_widths(
                looks, df, mean=mean, se=se, rounds=rounds, span=1.0
            )
    return np.asarray(hits.any(axis=1))


@lru_cache(maxsize=4)
def _paths(world: _World, rivals: int, horizon: int) -> tuple[tuple[Values, ...], ...]:
    """Of each rival, after each round: rounds with a pair, mean, its error, differing pairs."""
    rng, shape = np.random.default_rng(0), (DRAWS, horizon, world.pairs)
    rate = world.winner_rate
    up, down = (world.differ + world.effect) / 2, (world.differ - world.effect) / 2
    fails_if_yes = min(1.0, up / rate)
    passes_if_no = min(1.0, down / (1.0 - rate)) if rate < 1.0 else 0.0
    best, scored = rng.random(shape) < rate, rng.random(shape) >= world.missing
    paths = []
    for _ in range(rivals):
        changed = rng.random(shape) < np.where(best, fails_if_yes, passes_if_no)
        both = scored & (rng.random(shape) >= world.missing)
        changed &= both
        count = both.sum(axis=2)
        lead = np.where(best, changed, -changed.astype(np.int8)).sum(axis=2)
        value = lead / np.maximum(count, 1)
        rounds = np.cumsum(count > 0, axis=1)
        total, squares = np.cumsum(value, axis=1), np.cumsum(value**2, axis=1)
        mean = total / np.maximum(rounds, 1)
        spread = np.maximum(squares - total * mean, 0.0) / np.maximum(rounds - 1, 1)
        se = np.sqrt(np.where(spread < 1e-12, 0.0, spread) / np.maximum(rounds, 1))
        differ = np.cumsum(changed.sum(axis=2), axis=1)
        small = (np.int32, np.float32, np.float32, np.int32)
        path = zip((rounds, mean, se, differ), small, strict=True)
        paths.append(tuple(one.astype(kind) for one, kind in path))
    return tuple(paths)
