"""What a continued session has from its parent: log, state, clock, group, copied into its run.

The copy makes the new run whole by itself. It is the parent's checkpoints under the new session's
id; the money and calls behind them stay the parent's, so that costs of runs add up.

A session that is judged again has more: what was answered when it was over. Whoever is asked the
very same again is not asked, and not paid, a second time; and no other run's answer comes between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from matrix.engine.calls.caching import worth_keeping
from matrix.model.entries import Ended, Entry, Lent, Opened, Tally, TurnDone
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.plan import Plan
from matrix.model.records import Answer, Message, Player, SessionPlan
from matrix.store.upkeep.sweeping import tree_of

BATCH = 500
"""Entries, about, that are written at once."""


@dataclass(frozen=True, slots=True)
class Forked:
    """What a change makes of a checkpoint: another state, messages added, players said anew."""

    state: bytes
    messages: tuple[Message, ...] = ()
    players: tuple[Player, ...] = ()


@dataclass(frozen=True, slots=True)
class LentAnswers:
    """Which answers of a session's end are at hand where it is judged again.

    Those of all who do not judge are: they are part of what was played, whole or not.

    Attributes:
        judges: Roles that judge.
        judgements: Whether their answers are at hand, too; if so, those that are whole.
        agents: Names of agents: what stands behind one may have changed, so that it judges anew.
    """

    judges: Collection[str]
    judgements: bool
    agents: Collection[str]

    def of(self, moment: Checkpoint, session_id: str) -> Iterator[Lent]:
        """A parent's answers, for the session that is judged again under this id."""
        for settled in moment.answers:
            answer = settled.answer
            if answer is None or tree_of(settled):  # a folder as it was left is not there any more
                continue
            if settled.role in self.judges and not self._stands(settled.model, answer):
                continue
            key = settled.key._replace(session_id=session_id)
            said = answer._replace(effect="")  # what was done was done in the parent
            yield Lent(key, settled.digest, said, settled.saved or answer.cost)

    def judged(self, moment: Checkpoint) -> set[str]:
        """The judges of a parent whose answers are at hand."""
        return {
            one.role
            for one in moment.answers
            if one.role in self.judges
            and one.answer is not None
            and self._stands(one.model, one.answer)
        }

    def _stands(self, model: str, answer: Answer) -> bool:
        """Whether a judge's answer is given again."""
        return self.judgements and model not in self.agents and worth_keeping(answer)


def inherited(
    plan: Plan,
    moments: Sequence[Checkpoint],
    forks: Sequence[Forked],
    at: float,
    lent: LentAnswers | None = None,
) -> Iterator[list[Entry]]:
    """The journal entries that a run of continuations begins with, in batches.

    Args:
        plan: Its plan; each round goes on from the moment of that number.
        moments: Where its rounds start.
        forks: For each cell, what its change makes of its moment.
        at: UTC seconds, for entries that no parent has.
        lent: Which answers of their ends are at hand; ``None`` where they are played on.
    """
    prepared: set[str] = set()
    batch: list[Entry] = []
    for planned in plan.all_rounds():
        moment = moments[planned.number]
        shared = moment.plan.prelude_id
        if shared is not None and shared not in prepared:
            prepared.add(shared)
            batch += _prelude(moment, shared, at)
        for session in planned.sessions:
            batch += _turns(session, moment, forks[plan.cell_index(session.order)])
            batch += [] if lent is None else lent.of(moment, session.session_id)
            if len(batch) >= BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


def _prelude(moment: Checkpoint, session_id: str, at: float) -> list[Entry]:
    """What the parent's round shared, as if it had been made in this run, at no cost."""
    plan = replace(moment.plan, session_id=session_id, part="prelude", levels={}, prelude_id=None)
    end = Ended(session_id, "completed", "", "", 0, None, Tally(), at, moment.prelude)
    return [Opened(plan, at), end]


def _turns(session: SessionPlan, moment: Checkpoint, forked: Forked) -> Iterator[TurnDone]:
    anew = {player.name: player for player in forked.players}
    last = len(moment.turns) - 1
    for index, done in enumerate(moment.turns):
        yield replace(
            done,
            session_id=session.session_id,
            state=forked.state if index == last else done.state,
            messages=done.messages + (forked.messages if index == last else ()),
            players=tuple(anew.get(player.name, player) for player in done.players),
            tally=Tally(done.tally.clock_s),
        )
