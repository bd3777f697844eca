"""What a continued session has from its parent: log, state, clock, group, copied into its run.

The copy makes the new run whole by itself. It is the parent's checkpoints under the new session's
id; the money and calls behind them stay the parent's, so that costs of runs add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from matrix.model.entries import Ended, Entry, Opened, Tally, TurnDone
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.plan import Plan
from matrix.model.records import Message, Player, SessionPlan

BATCH = 500
"""Entries, about, that are written at once."""


@dataclass(frozen=True, slots=True)
class Forked:
    """What a change makes of a checkpoint: another state, messages added, players said anew."""

    state: bytes
    messages: tuple[Message, ...] = ()
    players: tuple[Player, ...] = ()


def inherited(
    plan: Plan, moments: Sequence[Checkpoint], forks: Sequence[Forked], at: float
) -> Iterator[list[Entry]]:
    """The journal entries that a run of continuations begins with, in batches.

    Args:
        plan: Its plan; each round goes on from the moment of that number.
        moments: Where its rounds start.
        forks: For each cell, what its change makes of its moment.
        at: UTC seconds, for entries that no parent has.
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
