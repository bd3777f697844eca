"""What counts of a session's entries, and what was superseded: the one fold over them.

A journal only grows, so what was redone is in it twice. Whoever reads it asks this module which
entries count; nobody else decides it:

* a checkpoint supersedes those of the same session that are not before it (the same turn, later
  turns and the finish), with all their messages, events, scores and players;
* opening or ending a session again supersedes its earlier end;
* a later settlement of an attempt (late usage for a presumed one) supersedes the earlier;
* beginning a turn anew supersedes its answers and effects: they are not given again, but were paid.

Attempts are otherwise never superseded: they were paid.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from matrix.model.entries import (
    Acted,
    Ended,
    Entry,
    Held,
    Lent,
    Opened,
    Settled,
    Tally,
    TurnDone,
    session_of,
)
from matrix.model.money import NanoUSD
from matrix.model.records import CallKey, Message, Phase, SessionPlan


class Placed(NamedTuple):
    """A settlement and its place in the journal."""

    seq: int
    settled: Settled


class SessionTotals(NamedTuple):
    """What a session has used up to some point."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: NanoUSD = 0
    clock_s: float = 0.0

    @classmethod
    def of(cls, tally: Tally) -> SessionTotals:
        """The totals over all roles."""
        return cls(tally.calls, tally.tokens_in, tally.tokens_out, tally.cost, tally.clock_s)


class CheckpointStep(NamedTuple):
    """A checkpoint as far as later rows need it; counts are of the whole session up to it."""

    rank: tuple[int, int]
    seq: int
    turn: int
    messages: int
    events: int
    totals: SessionTotals


_BEGINNING: Final = CheckpointStep((-1, 0), 0, 0, 0, 0, SessionTotals())


def rank(phase: Phase, turn: int) -> tuple[int, int]:
    """Order of the checkpoints of one session: start, turns, finish."""
    return (1, turn) if phase == "turn" else (0, 0) if phase == "start" else (2, 0)


class Attempts:
    """Holds that nobody has settled, and attempts whose cost may still become known.

    Only an attempt that brought no answer is ever settled twice: what it cost was presumed, and its
    usage may come late.

    Attributes:
        open: Hold id -> hold.
        presumed: Hold id -> place and settlement of an attempt without answer that was presumed.
    """

    def __init__(self) -> None:
        self.open: dict[int, Held] = {}
        self.presumed: dict[int, Placed] = {}

    def hold(self, held: Held) -> None:
        """An attempt was granted."""
        self.open[held.hold_id] = held

    def settle(self, seq: int, settled: Settled) -> Placed | None:
        """An attempt is over; returns what was said of it before, which counts no more."""
        self.open.pop(settled.hold_id, None)
        before = self.presumed.pop(settled.hold_id, None)
        if settled.disposition == "presumed" and settled.answer is None:
            self.presumed[settled.hold_id] = Placed(seq, settled)
        return before


@dataclass(slots=True)
class SessionState:
    """One session: apply its entries in the order of the journal.

    Attributes:
        plan: As it was last opened.
        started_at: When it was first opened, in seconds since 1970.
        steps: Its checkpoints in order.
        checkpoint: The newest of them, whole.
        turns: All of them, whole; only with ``keep_turns``.
        attempts: Its holds, and attempts whose cost may still become known.
        spent_by_role: What its attempts have cost, settled or presumed; without those roles that
            have made none.
        saved: What its answers from the response cache had cost when they were bought; without
            those of its parent, which any session like it has.
        answers: Answers of calls since the checkpoint, or since its turn was begun anew.
        tries: Call since the checkpoint -> the number of its newest attempt.
        acted: Effects since the checkpoint, or since its turn was begun anew.
        lent: Answers of its parent's that are given where the very same is asked.
        used: The checkpoint's tally, with superseded answers since then: they were paid.
        redone: Whether the turn in flight was begun anew.
        ended: Its end, unless it was opened again.
    """

    keep_turns: bool = False
    plan: SessionPlan | None = None
    started_at: float | None = None
    steps: list[CheckpointStep] = field(default_factory=list)
    checkpoint: TurnDone | None = None
    turns: list[TurnDone] = field(default_factory=list)
    attempts: Attempts = field(default_factory=Attempts)
    spent_by_role: dict[str, NanoUSD] = field(default_factory=dict)
    saved: NanoUSD = 0
    answers: dict[CallKey, Settled] = field(default_factory=dict)
    tries: dict[CallKey, int] = field(default_factory=dict)
    acted: dict[CallKey, Acted] = field(default_factory=dict)
    lent: dict[CallKey, Lent] = field(default_factory=dict)
    used: Tally = field(default_factory=Tally)
    redone: bool = False
    ended: Ended | None = None
    ended_seq: int | None = None

    @property
    def spent(self) -> NanoUSD:
        """What its attempts have cost, of all roles."""
        return sum(self.spent_by_role.values())

    @property
    def last(self) -> CheckpointStep:
        """The newest checkpoint."""
        return self.steps[-1] if self.steps else _BEGINNING

    @property
    def before_last(self) -> CheckpointStep:
        """The checkpoint that the newest one was reached from."""
        return self.steps[-2] if len(self.steps) > 1 else _BEGINNING

    @property
    def log(self) -> tuple[Message, ...]:
        """All messages up to the checkpoint; only with ``keep_turns``."""
        return tuple(message for done in self.turns for message in done.messages)

    @property
    def used_so_far(self) -> Tally:
        """What it has used, with the answers since its checkpoint."""
        return _with_answers(self.used, self.answers.values())

    def apply(self, seq: int, entry: Entry) -> list[int]:
        """Take in the next entry; returns the ``seq`` of entries that it supersedes."""
        match entry:
            case Opened():
                return self._open(entry)
            case Held():
                self.attempts.hold(entry)
                self.tries[entry.key] = max(self.tries.get(entry.key, 0), entry.attempt)
            case Settled():
                return self._settle(seq, entry)
            case Acted():
                self.acted[entry.key] = entry
            case Lent():
                self.lent[entry.key] = entry
            case TurnDone():
                return self._step(seq, entry)
            case Ended():
                return self._end(seq, entry)
        return []

    def _open(self, entry: Opened) -> list[int]:
        self.plan = entry.plan
        if self.started_at is None:
            self.started_at = entry.at
        if entry.redo:
            self.used = self.used_so_far
            self.answers, self.acted, self.redone = {}, {}, True
        return self._end(None, None)

    def _settle(self, seq: int, entry: Settled) -> list[int]:
        before = self.attempts.settle(seq, entry)
        lent = self.lent.get(entry.key)
        self.saved += 0 if lent is not None and lent.digest == entry.digest else entry.saved
        self._spend(entry.role, entry.cost)
        if entry.answer is not None:
            self.answers[entry.key] = entry
        if before is None:
            return []
        self.saved -= before.settled.saved
        self._spend(before.settled.role, -before.settled.cost)
        return [before.seq]

    def _spend(self, role: str, amount: NanoUSD) -> None:
        self.spent_by_role[role] = self.spent_by_role.get(role, 0) + amount

    def _step(self, seq: int, entry: TurnDone) -> list[int]:
        place = rank(entry.phase, entry.turn)
        superseded = []
        while self.steps and self.steps[-1].rank >= place:
            superseded.append(self.steps.pop().seq)
        base = self.last
        self.steps.append(
            CheckpointStep(
                place,
                seq,
                base.turn if entry.phase == "finish" else entry.turn,
                base.messages + len(entry.messages),
                base.events + len(entry.events),
                SessionTotals.of(entry.tally),
            )
        )
        if self.keep_turns:
            self.turns[len(self.steps) - 1 :] = [entry]
        self.checkpoint, self.used, self.redone = entry, entry.tally, False
        done = (entry.phase, entry.turn)
        # answers of the next turn may have overtaken the checkpoint: they count
        self.answers = {k: v for k, v in self.answers.items() if (k.phase, k.turn) != done}
        self.tries = {k: v for k, v in self.tries.items() if (k.phase, k.turn) != done}
        self.acted = {k: v for k, v in self.acted.items() if (k.phase, k.turn) != done}
        return superseded

    def _end(self, seq: int | None, entry: Ended | None) -> list[int]:
        superseded = [] if self.ended_seq is None else [self.ended_seq]
        self.ended_seq, self.ended = seq, entry
        return superseded


def fold(entries: Iterable[Entry], *, keep_turns: bool = True) -> SessionState:
    """One session, from all its entries in the order of the journal."""
    state = SessionState(keep_turns)
    for seq, entry in enumerate(entries):
        state.apply(seq, entry)
    return state


def fold_all(entries: Iterable[Entry]) -> dict[str, SessionState]:
    """Every session that the entries are of; only the newest checkpoint of each is kept whole."""
    states: dict[str, SessionState] = {}
    for seq, entry in enumerate(entries):
        states.setdefault(session_of(entry), SessionState()).apply(seq, entry)
    return states


def _with_answers(used: Tally, answers: Iterable[Settled]) -> Tally:
    for settled in answers:
        if settled.answer is not None:
            used = used.plus(settled.role, settled.answer)
    return used
