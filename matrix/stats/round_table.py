"""The complete prefix of rounds, with every denominator: what all comparisons read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

OUTCOMES = ("completed", "timeout", "failed", "errored", "censored")
"""Names of outcomes; an outcome's code is its place here."""
COMPLETED, TIMEOUT, FAILED, ERRORED, CENSORED = range(len(OUTCOMES))
OPEN = len(OUTCOMES)
"""Column of ``outcome_counts`` for planned sessions that have no row yet."""

PrefixEnd = Literal["plan complete", "censored session", "open session", "missing score"]
"""Why the prefix ends where it does; with several reasons in one round, the first of these."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundTable:
    """The complete prefix of rounds, with every denominator.

    R planned rounds, S scenarios, k variants, P rounds in the prefix, n of them with at least one
    scored pair. Arrays are read-only.

    Attributes:
        n_rounds_planned: R.
        n_scenarios: S.
        n_variants: k.
        prefix_length: P.
        prefix_end: Why round P is not in the prefix.
        rounds: Numbers of the rounds used, ascending, shape [n].
        means: Mean score over the round's scored pairs, shape [n, k]. Differences of two columns
            are the independent observations of every comparison.
        scores: Scores in the prefix, shape [P, S, k]; NaN where a session has none. Sessions in
            pairs that another variant's error or failure removed keep theirs.
        failed: Product failures in the prefix, shape [P, S, k].
        errored: Pairs lost to infrastructure, shape [P, S].
        scored: Pairs where every variant has a score and none errored, shape [P, S].
        outcome_counts: Sessions of the whole plan by variant (row) and outcome (column, in the
            order of `OUTCOMES`, then open), shape [k, 6]. Each row adds up to R x S.
    """

    n_rounds_planned: int
    n_scenarios: int
    n_variants: int
    prefix_length: int
    prefix_end: PrefixEnd
    rounds: npt.NDArray[np.int64]
    means: FloatArray
    scores: FloatArray
    failed: BoolArray
    errored: BoolArray
    scored: BoolArray
    outcome_counts: npt.NDArray[np.int64]

    @property
    def n_rounds(self) -> int:
        """Rounds used, n."""
        return int(self.rounds.size)

    @property
    def rounds_dropped(self) -> int:
        """Rounds of the prefix without any scored pair."""
        return self.prefix_length - self.n_rounds

    @property
    def pairs_scored(self) -> int:
        """Pairs behind ``means``; with errored and unscored ones they add up to P x S."""
        return int(self.scored.sum())

    @property
    def pairs_errored(self) -> int:
        """Pairs of the prefix lost to infrastructure."""
        return int(self.errored.sum())

    @property
    def pairs_unscored(self) -> int:
        """Pairs of the prefix without a score mean because a variant failed; kept for failures."""
        return self.prefix_length * self.n_scenarios - self.pairs_scored - self.pairs_errored

    @property
    def sessions(self) -> int:
        """Sessions of each variant at risk of failure: pairs of the prefix that did not error."""
        return self.pairs_scored + self.pairs_unscored

    @property
    def failures(self) -> npt.NDArray[np.int64]:
        """Product failures among ``sessions``, by variant, shape [k]."""
        return np.asarray((self.failed & ~self.errored[:, :, None]).sum(axis=(0, 1)), np.int64)

    @property
    def open_sessions(self) -> int:
        """Planned sessions that have no outcome yet, over all variants; 0 when the plan is over."""
        return int(self.outcome_counts[:, OPEN].sum())
