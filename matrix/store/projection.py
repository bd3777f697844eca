"""From journal entries to rows of the tables. Pure: nothing here touches a file.

What a row needs beyond its own entry (the session's plan, how long its log was) is folded from
the session's earlier entries and kept while the session is open. A session that is not in memory,
because this process started later, is folded again from the journal.

**Superseding.** A journal only grows, so what was redone is in it twice; the later entry counts:

* a checkpoint supersedes those of the same session that are not before it (the same turn, later
  turns and the finish), with all their messages, events, scores and players;
* opening or ending a session again supersedes its earlier end;
* late usage for a presumed attempt supersedes the presumption.

Attempts are otherwise never superseded: they were paid. Every row ends with the ``seq`` of its
entry; :attr:`Projection.superseded` says, by table, the rows of which entries must go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from matrix.model.entries import Ended, Entry, Held, Opened, Settled, Tally, TurnDone, session_of
from matrix.model.errors import StoreError
from matrix.model.money import NanoUSD, to_usd
from matrix.model.records import Outcome, Phase, SessionPlan
from matrix.store.codec import ENDED, OPENED, SETTLED, TURN_DONE
from matrix.store.journal import Row as JournalRow
from matrix.store.tables import TABLES, Row, TableName

PROJECTED: Final = (OPENED, SETTLED, TURN_DONE, ENDED)
"""Kinds of journal entries that rows are made from; holds alone make none."""

LookBack: TypeAlias = Callable[[str, int], Iterable[JournalRow]]
"""``(session_id, seq)`` -> that session's entries before ``seq``, in order."""

_ROW_BYTES: Final = 1000
"""A row's size in memory as Python objects, without its long text, roughly, in bytes."""

_ROWS_OF: Final[Mapping[type[Entry], tuple[TableName, ...]]] = {
    Settled: ("calls",),
    TurnDone: ("turns", "messages", "events", "scores", "players"),
    Opened: ("sessions",),
    Ended: ("sessions",),
}
"""Tables with the rows that a later entry of this type can supersede."""

_SCORED: Final[frozenset[Outcome]] = frozenset({"completed", "timeout"})


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


class Projection:
    """Rows of all tables for a stretch of the journal."""

    def __init__(self, factors: Sequence[str], look_back: LookBack) -> None:
        """Start with no rows; ``factors`` gives the factor columns of ``sessions``."""
        self._factors = tuple(factors)
        self._look_back = look_back
        self._open: dict[str, SessionState] = {}
        self.rows: dict[TableName, list[Row]] = {name: [] for name in TABLES}
        self.superseded: dict[TableName, set[int]] = {name: set() for name in TABLES}
        self.size = 0
        """Bytes that the rows take, roughly."""

    @property
    def open_sessions(self) -> int:
        """Sessions that are held in memory."""
        return len(self._open)

    def add(self, seq: int, entry: Entry) -> None:
        """Make the rows of one entry; entries come in the order of the journal.

        Raises:
            StoreError: The journal says that a session ended that was never opened.
        """
        session_id = session_of(entry)
        state = self._open.get(session_id) or self.recall(session_id, seq)
        if isinstance(entry, Ended) and state.plan is None:
            raise StoreError(
                f"session {session_id} ends in the journal (entry {seq}) but was never opened; "
                "the journal is damaged"
            )
        if superseded := state.apply(seq, entry):
            for name in _ROWS_OF[type(entry)]:
                self.superseded[name].update(superseded)
        match entry:
            case Settled():
                self._add("calls", _call_row(seq, entry))
            case TurnDone():
                self._add_turn(seq, entry, state)
            case Ended() if state.plan is not None and state.plan.part == "play":
                self._add("sessions", self._session_row(seq, entry, state, state.plan))
        if state.ended_seq is None:
            self._open[session_id] = state
        else:
            self._open.pop(session_id, None)

    def recall(self, session_id: str, before: int) -> SessionState:
        """The state of a session that is not in memory, from the journal."""
        state = SessionState()
        for seq, entry in self._look_back(session_id, before):
            state.apply(seq, entry)
        return state

    @property
    def anything(self) -> bool:
        """Whether there is something to publish."""
        return self.size > 0 or any(self.superseded.values())

    def live_rows(self, name: TableName) -> list[Row]:
        """The gathered rows of one table, without those that were superseded since."""
        superseded = self.superseded[name]
        if not superseded:
            return self.rows[name]
        return [row for row in self.rows[name] if row[-1] not in superseded]

    def clear(self) -> None:
        """Forget the gathered rows: they are published."""
        for name in TABLES:
            self.rows[name].clear()
            self.superseded[name].clear()
        self.size = 0

    def unfinished_row(self, plan: SessionPlan, reason: str, before: int) -> Row:
        """A provisional ``sessions`` row for a planned session that has not ended."""
        state = self._open.get(plan.session_id) or self.recall(plan.session_id, before)
        started = state.started_at is not None
        words = f"cut short after turn {state.last.turn}" if started else "never started"
        return _session_row(
            plan,
            self._factors,
            "censored",
            reason,
            state.last.turn,
            state.last.totals,
            None,
            words,
            state.started_at,
            None,
            None,
        )

    def _session_row(self, seq: int, entry: Ended, state: SessionState, plan: SessionPlan) -> Row:
        return _session_row(
            plan,
            self._factors,
            entry.outcome,
            entry.error_class,
            entry.turns,
            Totals.of(entry.tally),
            entry.score,
            entry.reason,
            state.started_at,
            entry.at,
            seq,
        )

    def _add_turn(self, seq: int, entry: TurnDone, state: SessionState) -> None:
        session_id = entry.session_id
        base, step = state.before_last, state.last
        self._add("turns", _turn_row(seq, entry, base.totals, step.totals))
        for position, said in enumerate(entry.messages, start=base.messages):
            self.size += len(said.text)
            self._add(
                "messages",
                (
                    session_id,
                    position,
                    said.turn,
                    said.channel,
                    said.speaker,
                    said.label or None,
                    said.text,
                    seq,
                ),
            )
        for position, event in enumerate(entry.events, start=base.events):
            self._add(
                "events",
                (
                    session_id,
                    event.turn,
                    event.kind,
                    event.subject or None,
                    event.detail or None,
                    event.value,
                    event.severity or None,
                    position,
                    seq,
                ),
            )
        for score in entry.scores:
            self._add(
                "scores",
                (
                    session_id,
                    score.turn,
                    score.name,
                    score.value,
                    score.label or None,
                    score.reason or None,
                    score.judge_model or None,
                    score.rubric_hash or None,
                    seq,
                ),
            )
        for player in entry.players:
            self._add("players", (session_id, *player, seq))

    def _add(self, name: TableName, row: Row) -> None:
        self.rows[name].append(row)
        self.size += _ROW_BYTES


def _micros(at: float | None) -> int | None:
    return None if at is None else round(at * 1e6)


def _session_row(
    plan: SessionPlan,
    factors: tuple[str, ...],
    outcome: Outcome,
    error_class: str,
    turns: int,
    totals: Totals,
    score: float | None,
    reason: str,
    started_at: float | None,
    ended_at: float | None,
    seq: int | None,
) -> Row:
    return (
        plan.session_id,
        plan.round,
        plan.seed,
        plan.scenario,
        plan.kind,
        *(plan.levels.get(factor) for factor in factors),
        outcome,
        error_class or None,
        turns,
        totals.calls,
        to_usd(totals.cost),
        totals.tokens_in,
        totals.tokens_out,
        totals.clock_s,
        score if outcome in _SCORED else None,
        any(model.startswith("sim/") for model in plan.roles.values()),
        plan.parent_session_id,
        plan.parent_turn,
        totals.cost,
        reason or None,
        plan.order,
        plan.prelude_id,
        _micros(started_at),
        _micros(ended_at),
        seq,
    )


def _turn_row(seq: int, entry: TurnDone, before: Totals, after: Totals) -> Row:
    cost = after.cost - before.cost
    return (
        entry.session_id,
        entry.turn,
        entry.phase,
        len(entry.messages),
        len(entry.events),
        len(entry.scores),
        after.calls - before.calls,
        after.tokens_in - before.tokens_in,
        after.tokens_out - before.tokens_out,
        to_usd(cost),
        cost,
        after.clock_s - before.clock_s,
        after.clock_s,
        to_usd(after.cost),
        after.cost,
        _micros(entry.at),
        seq,
    )


def _call_row(seq: int, entry: Settled) -> Row:
    session_id, phase, turn, slot = entry.key
    usage, answer = entry.usage, entry.answer
    return (
        session_id,
        phase,
        turn,
        slot,
        entry.attempt,
        entry.role,
        entry.model,
        entry.disposition,
        entry.error_class or None,
        usage.input,
        usage.output,
        usage.cached,
        usage.cache_write,
        usage.reasoning,
        to_usd(entry.held),
        entry.held,
        to_usd(entry.cost),
        entry.cost,
        entry.waited_s,
        entry.took_s,
        None if answer is None else answer.duration_s,
        None if answer is None else answer.finish_reason,
        entry.digest,
        answer is not None,
        _micros(entry.at - entry.took_s),
        _micros(entry.at),
        entry.hold_id,
        seq,
    )
