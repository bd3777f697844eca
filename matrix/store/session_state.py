"""What later rows need to know of a session's earlier entries: a fold over them.

A journal only grows, so what was redone is in it twice; the later entry counts:

* a checkpoint supersedes those of the same session that are not before it (the same turn, later
  turns and the finish), with all their messages, events, scores and players;
* opening or ending a session again supersedes its earlier end;
* late usage for a presumed attempt supersedes the presumption.

Attempts are otherwise never superseded: they were paid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from matrix.model.entries import Ended, Entry, Held, Opened, Settled, Tally, TurnDone
from matrix.model.money import NanoUSD
from matrix.model.records import Phase, SessionPlan


class Totals(NamedTuple):
    """What a session has used up to some point."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: NanoUSD = 0
    clock_s: float = 0.0

    @classmethod
    def of(cls, tally: Tally) -> Totals:
        """The totals over all roles."""
        return cls(tally.calls, tally.tokens_in, tally.tokens_out, tally.cost, tally.clock_s)


class Step(NamedTuple):
    """A checkpoint as far as later rows need it; counts are of the whole session up to it."""

    rank: tuple[int, int]
    seq: int
    turn: int
    messages: int
    events: int
    totals: Totals


_BEGINNING: Final = Step((-1, 0), 0, 0, 0, 0, Totals())


def rank(phase: Phase, turn: int) -> tuple[int, int]:
    """Order of the checkpoints of one session: start, turns, finish."""
    return (1, turn) if phase == "turn" else (0, 0) if phase == "start" else (2, 0)


@dataclass(slots=True)
class SessionState:
    """What is remembered of one session: a fold over its entries."""

    plan: SessionPlan | None = None
    started_at: float | None = None
    steps: list[Step] = field(default_factory=list)
    presumed: dict[int, int] = field(default_factory=dict)
    ended_seq: int | None = None

    @property
    def last(self) -> Step:
        """The newest checkpoint."""
        return self.steps[-1] if self.steps else _BEGINNING

    @property
    def before_last(self) -> Step:
        """The checkpoint that the newest one was reached from."""
        return self.steps[-2] if len(self.steps) > 1 else _BEGINNING

    def apply(self, seq: int, entry: Entry) -> list[int]:
        """Take in the next entry; returns the ``seq`` of entries that it supersedes."""
        match entry:
            case Settled():
                if entry.disposition == "presumed":
                    self.presumed[entry.hold_id] = seq
                elif entry.hold_id in self.presumed:
                    return [self.presumed.pop(entry.hold_id)]
            case TurnDone():
                return self._step(seq, entry)
            case Opened():
                self.plan = entry.plan
                if self.started_at is None:
                    self.started_at = entry.at
                return self._end(None)
            case Ended():
                return self._end(seq)
            case Held():
                pass
        return []

    def _step(self, seq: int, entry: TurnDone) -> list[int]:
        place = rank(entry.phase, entry.turn)
        superseded = []
        while self.steps and self.steps[-1].rank >= place:
            superseded.append(self.steps.pop().seq)
        base = self.last
        self.steps.append(
            Step(
                place,
                seq,
                base.turn if entry.phase == "finish" else entry.turn,
                base.messages + len(entry.messages),
                base.events + len(entry.events),
                Totals.of(entry.tally),
            )
        )
        return superseded

    def _end(self, seq: int | None) -> list[int]:
        superseded = [] if self.ended_seq is None else [self.ended_seq]
        self.ended_seq = seq
        return superseded
