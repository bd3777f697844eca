"""The complete prefix of rounds, with every denominator: what all comparisons read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from matrix.stats.rounds.balancing import BoolArray as BoolArray
from matrix.stats.rounds.balancing import FloatArray as FloatArray
from matrix.stats.rounds.balancing import balanced

OUTCOMES = ("completed", "timeout", "failed", "errored", "censored", "dropped")
"""Names of outcomes; an outcome's code is its place here. ``dropped``: planned, but a look decided
not to launch it, because its variant was beaten or the whole run was settled."""
COMPLETED, TIMEOUT, FAILED, ERRORED, CENSORED, DROPPED = range(len(OUTCOMES))
OPEN = len(OUTCOMES)
"""Column of ``outcome_counts`` for planned sessions that have no row yet."""

PrefixEnd = Literal["plan complete", "stopped", "censored session", "open session"]
"""Why the prefix ends where it does; with several reasons in one round, the first of these.
``stopped``: every variant is dropped from there on."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundTable:
    """The complete prefix of rounds, with every denominator.

    R planned rounds, S scenarios, k variants, P rounds in the prefix. A round is complete when all
    its sessions have ended, however they ended. A variant is live in every round until it is
    dropped. A pair is one scenario of one round with the sessions of two variants. Arrays are
    read-only.

    Attributes:
        n_rounds_planned: R.
        n_scenarios: S.
        n_variants: k.
        prefix_length: P.
        prefix_end: Why round P is not in the prefix.
        live: Variants that take part in each round of the prefix, shape [P, k]. Never false, then
            true again.
        scores: Scores in the prefix, shape [P, S, k]; NaN where a session has none.
        failed: Product failures in the prefix, shape [P, S, k]: failed, or stopped by a limit.
        errored: Sessions lost to infrastructure, shape [P, S, k].
        outcome_counts: Sessions of the whole plan by variant (row) and outcome (column, in the
            order of `OUTCOMES`, then open), shape [k, 7]. Each row adds up to R x S.
        never: Places in the prefix that only fill it up, as no session was ever meant to be there,
            shape [P, S, k]: given as ``errored``, or as sessions whose score counts elsewhere, but
            nothing is missing there. ``None`` for none.
        lacking: Whether what is there as errored, and was meant to be, is what a file of results
            lacks: nobody knows why, and it may have failed.
        alike: Number from 0 of what each scenario is a repeat of, shape [S], where results were
            repeated and are no pairs of their own: they count as one. ``None`` for none.
    """

    n_rounds_planned: int
    n_scenarios: int
    n_variants: int
    prefix_length: int
    prefix_end: PrefixEnd
    live: BoolArray
    scores: FloatArray
    failed: BoolArray
    errored: BoolArray
    outcome_counts: npt.NDArray[np.int64]
    never: BoolArray | None = None
    alike: tuple[int, ...] | None = None
    lacking: bool = False

    @property
    def pairs_per_round(self) -> int:
        """Pairs of two variants in a round: scenarios, of which repeats are one."""
        return self.n_scenarios if self.alike is None else len(set(self.alike))

    @property
    def sessions(self) -> npt.NDArray[np.int64]:
        """Sessions of each variant at risk of failure, shape [k]: those that did not error."""
        return np.asarray(self.not_errored.sum(axis=(0, 1)), dtype=np.int64)

    @property
    def failures(self) -> npt.NDArray[np.int64]:
        """Product failures among ``sessions``, by variant, shape [k]."""
        return np.asarray((self.failed & self.not_errored).sum(axis=(0, 1)), np.int64)

    @property
    def unscored(self) -> npt.NDArray[np.int64]:
        """Sessions among ``sessions`` that have no score, by variant, shape [k]."""
        lost = np.isnan(self.scores) & self.not_errored
        if self.never is not None:
            lost &= ~self.never
        return np.asarray(lost.sum(axis=(0, 1)), np.int64)

    @property
    def not_errored(self) -> BoolArray:
        """Sessions of live variants that did not error, shape [P, S, k]."""
        return np.asarray(~self.errored & self.live[:, None, :])

    @property
    def open_sessions(self) -> int:
        """Planned sessions that have no outcome yet, over all variants; 0 when the plan is over."""
        return int(self.outcome_counts[:, OPEN].sum())

    def both_live(self, a: int, b: int) -> BoolArray:
        """Rounds of the prefix in which both variants take part, shape [P]."""
        return self.live[:, a] & self.live[:, b]

    def scored(self, a: int, b: int) -> BoolArray:
        """Pairs in which both variants have a score, shape [P, S]."""
        known = ~np.isnan(self.scores[:, :, a]) & ~np.isnan(self.scores[:, :, b])
        return np.asarray(known & self.both_live(a, b)[:, None])

    def at_risk(self, a: int, b: int) -> BoolArray:
        """Pairs of live variants of which neither was lost to infrastructure, shape [P, S]."""
        lost = self.errored[:, :, a] | self.errored[:, :, b]
        return np.asarray(~lost & self.both_live(a, b)[:, None])

    def shares(self, marked: BoolArray, of: BoolArray) -> FloatArray:
        """Which of the pairs ``of`` are ``marked``, shape [P, ``pairs_per_round``], each 0 to 1.

        Repeats are one pair, which is marked as far as they are: who gives each result twice has
        seen nothing more.

        Args:
            marked: Sessions of two variants, shape [P, S].
            of: Those that count, shape [P, S].
        """
        found = (marked & of).astype(np.float64)
        if self.alike is None:
            return found
        mine = np.equal.outer(np.unique(self.alike), self.alike).astype(np.float64)
        return np.asarray((found @ mine.T) / np.maximum(of @ mine.T, 1.0))

    def sides(self, a: int, b: int) -> FloatArray:
        """Scores of both variants by round, over their scored pairs, shape [P, 2].

        NaN in rounds without one. Scenarios weigh equally, whichever pairs are missing
        (`matrix.stats.rounds.balancing`); where none is, these are the round's means. The
        difference of the two columns is the independent observation of every comparison.
        """
        return balanced(self.scores[:, :, [a, b]], self.scored(a, b))

    def together(self, variants: Sequence[int]) -> FloatArray:
        """As `sides`, of any variants where all of them are scored, shape [P, v]."""
        chosen = list(variants)
        scores = self.scores[:, :, chosen]
        live = np.asarray(self.live[:, chosen].all(axis=1))
        return balanced(scores, np.asarray(~np.isnan(scores).any(axis=2) & live[:, None]))

    def paired(self, a: int, b: int) -> FloatArray:
        """The rows of `sides` in rounds that have a scored pair, shape [n, 2]."""
        sides = self.sides(a, b)
        return sides[~np.isnan(sides[:, 0])]

    def up_to(self, length: int) -> RoundTable:
        """The same table as it stood when its prefix had ``length`` rounds, at most P.

        ``outcome_counts`` stay those of the whole plan, and ``prefix_end`` becomes ``open session``
        if rounds were left out.
        """
        if length >= self.prefix_length:
            return self
        return replace(
            self,
            prefix_length=length,
            prefix_end="open session",
            live=self.live[:length],
            scores=self.scores[:length],
            failed=self.failed[:length],
            errored=self.errored[:length],
            never=None if self.never is None else self.never[:length],
        )

    def without_score(self, variant: int) -> BoolArray:
        """Places of a live variant that should have a score and have none, shape [P, S]."""
        lost = np.isnan(self.scores[:, :, variant]) & self.live[:, variant][:, None]
        return np.asarray(lost if self.never is None else lost & ~self.never[:, :, variant])
