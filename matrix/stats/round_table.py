"""The complete prefix of rounds, with every denominator: what all comparisons read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

OUTCOMES = ("completed", "timeout", "failed", "errored", "censored", "dropped")
"""Names of outcomes; an outcome's code is its place here. ``dropped``: planned, but a look decided
not to launch it, because its variant was beaten or the whole run was settled."""
COMPLETED, TIMEOUT, FAILED, ERRORED, CENSORED, DROPPED = range(len(OUTCOMES))
OPEN = len(OUTCOMES)
"""Column of ``outcome_counts`` for planned sessions that have no row yet."""

PrefixEnd = Literal["plan complete", "stopped", "censored session", "open session", "missing score"]
"""Why the prefix ends where it does; with several reasons in one round, the first of these.
``stopped``: every variant is dropped from there on."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundTable:
    """The complete prefix of rounds, with every denominator.

    R planned rounds, S scenarios, k variants, P rounds in the prefix, n of them with at least one
    scored pair. A variant is live in every round until it is dropped. A pair is one scenario of one
    round with the sessions of all variants live in it. Arrays are read-only.

    Attributes:
        n_rounds_planned: R.
        n_scenarios: S.
        n_variants: k.
        prefix_length: P.
        prefix_end: Why round P is not in the prefix.
        rounds: Numbers of the rounds used, ascending, shape [n].
        live: Variants that take part in each round of the prefix, shape [P, k]. Never false, then
            true again.
        means: Mean score over the round's scored pairs, shape [n, k]; NaN for a variant that is
            not live in the round. Differences of two columns, over the rounds in which both are
            live, are the independent observations of every comparison.
        scores: Scores in the prefix, shape [P, S, k]; NaN where a session has none. Sessions in
            pairs that another variant's error or failure removed keep theirs.
        failed: Product failures in the prefix, shape [P, S, k]: failed, or stopped by a limit.
        errored: Pairs lost to infrastructure, shape [P, S].
        scored: Pairs where every live variant has a score and none errored, shape [P, S].
        outcome_counts: Sessions of the whole plan by variant (row) and outcome (column, in the
            order of `OUTCOMES`, then open), shape [k, 7]. Each row adds up to R x S.
    """

    n_rounds_planned: int
    n_scenarios: int
    n_variants: int
    prefix_length: int
    prefix_end: PrefixEnd
    rounds: npt.NDArray[np.int64]
    live: BoolArray
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
        """Pairs without a score mean, as a variant failed without a score; kept for failures."""
        return self.prefix_length * self.n_scenarios - self.pairs_scored - self.pairs_errored

    @property
    def sessions(self) -> npt.NDArray[np.int64]:
        """Sessions of each variant at risk of failure, shape [k]: its pairs that did not error."""
        return np.asarray((~self.errored).sum(axis=1) @ self.live, dtype=np.int64)

    @property
    def failures(self) -> npt.NDArray[np.int64]:
        """Product failures among ``sessions``, by variant, shape [k]."""
        return np.asarray((self.failed & ~self.errored[:, :, None]).sum(axis=(0, 1)), np.int64)

    @property
    def open_sessions(self) -> int:
        """Planned sessions that have no outcome yet, over all variants; 0 when the plan is over."""
        return int(self.outcome_counts[:, OPEN].sum())

    def both_live(self, a: int, b: int) -> BoolArray:
        """Rounds of the prefix in which both variants take part, shape [P]."""
        return self.live[:, a] & self.live[:, b]

    def compared(self, a: int, b: int) -> BoolArray:
        """Rows of ``means`` in which both variants have one, shape [n]."""
        return np.asarray(self.live[self.rounds][:, [a, b]].all(axis=1))

    def up_to(self, length: int) -> RoundTable:
        """The same table as it stood when its prefix had ``length`` rounds, at most P.

        ``outcome_counts`` stay those of the whole plan, and ``prefix_end`` becomes ``open session``
        if rounds were left out.
        """
        if length >= self.prefix_length:
            return self
        used = int(np.searchsorted(self.rounds, length))
        return replace(
            self,
            prefix_length=length,
            prefix_end="open session",
            rounds=self.rounds[:used],
            live=self.live[:length],
            means=self.means[:used],
            scores=self.scores[:length],
            failed=self.failed[:length],
            errored=self.errored[:length],
            scored=self.scored[:length],
        )
