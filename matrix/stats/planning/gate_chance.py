"""The chance to pass the failure gate where sessions fail: by simulation of the gate's own rule.

No formula holds for it: the gate's bounds jump with every failure, those of all rivals share the
failures of the winner, and a gate that is looked at after every round may be passed at any of them.
The draws are the same ones every time, so equal questions have equal answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.proportions import newcombe_paired
from matrix.stats.estimates.samples import refuse
from matrix.stats.looks.betting import log_gate_capital

DRAWS: Final = 2000
"""Simulated plans: a chance of 80 % is then known to .009 (one standard error)."""

MOST_LOOKS: Final = 256
"""A longer plan is looked at so often, evenly spread, in place of after every round."""

MOST_ROUNDS: Final = 100_000
"""A plan that takes more rounds than this counts as out of reach."""

Counts = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class FailureGate:
    """The gate of a plan: the winner must be shown to fail at most a margin more than each rival.

    Attributes:
        margin: Fraction above 0 and at most 1.
        rate: Share of sessions that fail, from 0 to 1. They fail independently of each other;
            what the gate allows for beyond that is ``per_effective``.
        pairs: Pairs of sessions in a round.
        rivals: Variants that the winner is held against.
        alpha: One-sided error rate, below 0.5.
        per_effective: Pairs that are worth one independent pair, at least 1.
        sequential: Whether the gate is looked at after every round, or once at the end.
        of_rivals: Share of each rival's sessions that fail; empty where it is ``rate``, too.
    """

    margin: float
    rate: float
    pairs: int
    rivals: int = 1
    alpha: float = 0.05
    per_effective: float = 1.0
    sequential: bool = False
    of_rivals: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``ValueError`` that names every mistake."""
        problems = []
        if not 0.0 < self.margin <= 1.0:
            problems.append(f"a failure margin is above 0 and at most 1; got {self.margin}")
        if not 0.0 <= self.rate <= 1.0:
            problems.append(f"a failure rate lies between 0 and 1; got {self.rate}")
        if min(self.pairs, self.rivals) < 1:
            problems.append(f"a round has a pair and a rival; got {self.pairs}, {self.rivals}")
        if not 0.0 < self.alpha < 0.5:
            problems.append(f"alpha is an error rate below 0.5, such as 0.05; got {self.alpha}")
        if not self.per_effective >= 1.0:
            problems.append(f"an effective pair is one or more pairs; got {self.per_effective}")
        if self.of_rivals and len(self.of_rivals) != self.rivals:
            problems.append(f"each of {self.rivals} rivals has a rate; got {self.of_rivals}")
        if not all(0.0 <= one <= 1.0 for one in self.of_rivals):
            problems.append(f"failure rates lie between 0 and 1; got {self.of_rivals}")
        refuse(problems)

    def chance(self, rounds: int) -> float:
        """Chance to have passed against every rival when so many rounds have ended."""
        if rounds < 1:
            return 0.0
        if not self.sequential:
            return _passed_at_once(self, rounds)
        return float((_first_passes(self, horizon_of(rounds)) <= rounds).mean())


def horizon_of(rounds: int) -> int:
    """Rounds that are drawn for so many: a power of two, so that draws are used again."""
    return 1 << (rounds - 1).bit_length()


@lru_cache(maxsize=512)
def _passed_at_once(gate: FailureGate, rounds: int) -> float:
    """Share of the draws that pass at the one look at the end."""
    rng, n, shape = np.random.default_rng(0), rounds * gate.pairs, (DRAWS, gate.rivals)
    mine = np.broadcast_to(rng.binomial(n, gate.rate, (DRAWS, 1)), shape)
    rate = np.array(gate.of_rivals) if gate.of_rivals else gate.rate
    both, theirs = rng.binomial(mine, rate), rng.binomial(n - mine, rate)
    cells = np.stack([mine - both, theirs, both], axis=-1)
    kinds, which = np.unique(cells.reshape(-1, 3), axis=0, return_inverse=True)
    passes = np.array([_newcombe_passes(gate, n, *map(float, kind)) for kind in kinds])
    return float(passes[which.reshape(both.shape)].all(axis=1).mean())


def _newcombe_passes(
    gate: FailureGate, n: int, only_mine: float, only_theirs: float, both: float
) -> bool:
    rest = n - only_mine - only_theirs - both
    a, b, c, d = (count / gate.per_effective for count in (both, only_mine, only_theirs, rest))
    bounds = newcombe_paired(a, b, c, d, 2 * gate.alpha)
    return bounds is not None and bounds.high < gate.margin


@lru_cache(maxsize=64)
def _first_passes(gate: FailureGate, horizon: int) -> Counts:
    """Round at which each draw has passed against every rival, [draws]; infinite if never."""
    rng = np.random.default_rng(0)
    looks = np.unique(np.linspace(1, horizon, min(horizon, MOST_LOOKS)).round().astype(int))
    steps = np.diff(looks, prepend=0) * gate.pairs
    mine = rng.binomial(steps, gate.rate, (DRAWS, len(steps)))
    passed = np.zeros(DRAWS)
    for rate in gate.of_rivals or (gate.rate,) * gate.rivals:
        both = rng.binomial(mine, rate)
        theirs = rng.binomial(steps - mine, rate)
        only_mine, only_theirs = (np.cumsum(one, axis=1) for one in (mine - both, theirs))
        enough = _bet_passes(gate, looks * gate.pairs, only_mine, only_theirs)
        first = np.where(enough.any(axis=1), looks[enough.argmax(axis=1)], np.inf)
        passed = np.maximum(passed, first)
    return passed


def _bet_passes(gate: FailureGate, n: Counts, only_mine: Counts, only_theirs: Counts) -> Counts:
    """Whether each draw passes at each look, [draws, looks]; each kind of count is asked once."""
    width = int(max(only_mine.max(), only_theirs.max())) + 1
    keys = (np.arange(len(n)) * width + only_mine) * width + only_theirs
    kinds, which = np.unique(keys, return_inverse=True)
    look, mine, theirs = kinds // width**2, kinds // width % width, kinds % width
    rest = n[look] - mine - theirs
    only_a, only_b, others = (count / gate.per_effective for count in (theirs, mine, rest))
    passes = log_gate_capital(only_a, only_b, others, gate.margin) >= log(1.0 / gate.alpha)
    return np.asarray(passes[which.reshape(keys.shape)])
