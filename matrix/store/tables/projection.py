"""From journal entries to rows of the tables. Pure: nothing here touches a file.

What a row needs beyond its own entry (the session's plan, how long its log was) is folded from
the session's earlier entries and kept while the session is open. A session that is not in memory,
because this process started later, is folded again from the journal.

What was redone is in the journal twice, and the later entry counts (the rules are in
:mod:`matrix.store.journal.session_state`). Every row ends with the ``seq`` of its entry;
:attr:`Projection.superseded` says, by table, the rows of which entries must go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from matrix.model.entries import Acted, Ended, Entry, Looked, Opened, Settled, TurnDone, session_of
from matrix.model.errors import StoreError
from matrix.model.records import SessionPlan
from matrix.store.journal.codec import ACTED, ENDED, OPENED, SETTLED, TURN_DONE
from matrix.store.journal.journal import JournalRow as JournalRow
from matrix.store.journal.session_state import SessionState, SessionTotals
from matrix.store.run.schema import Row, RunInfo, TableName
from matrix.store.tables.rows import (
    Cells,
    call_row,
    effect_row,
    event_rows,
    message_rows,
    player_rows,
    score_rows,
    session_row,
    turn_effects,
    turn_row,
)
from matrix.store.tables.tables import TABLES, columns_of

PROJECTED: Final = (OPENED, SETTLED, TURN_DONE, ENDED, ACTED)
"""Kinds of journal entries that rows are made from; holds alone make none."""

LookBack: TypeAlias = Callable[[str, int], Iterable[JournalRow]]
"""``(session_id, seq)`` -> that session's entries before ``seq``, in order."""

_WHY_NOT: Final = {"decided": "the run was decided", "dropped": "its variant is beaten"}

_ROW_BYTES: Final = 1000
"""A row's size in memory as Python objects, without its long text, roughly, in bytes."""

_ROWS_OF: Final[Mapping[type[Entry], tuple[TableName, ...]]] = {
    Settled: ("calls", "effects"),
    TurnDone: ("turns", "messages", "events", "scores", "players"),
    Opened: ("sessions",),
    Ended: ("sessions",),
}
"""Tables with the rows that a later entry of this type can supersede."""


class ProjectedRows:
    """Rows of all tables for a stretch of the journal."""

    def __init__(self, info: RunInfo, look_back: LookBack) -> None:
        """Start with no rows; ``info`` says what rows of ``sessions`` have of their run."""
        self._info = info
        self._look_back = look_back
        self._order = {
            name: tuple(c.name for c in columns_of(table, info.factors) if c.name != "run_id")
            for name, table in TABLES.items()
        }
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
                self._add("calls", [call_row(seq, entry)])
                self._add("effects", turn_effects(seq, entry))
            case Acted():
                self._add("effects", [effect_row(seq, entry)])
            case TurnDone():
                self._add_turn(seq, entry, state)
            case Ended() if state.plan is not None and state.plan.part == "play":
                self._add("sessions", [self._ended_row(seq, entry, state, state.plan)])
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

    def unfinished_row(
        self, plan: SessionPlan, reason: str, before: int, look: Looked | None = None
    ) -> Row:
        """A provisional ``sessions`` row for a planned session that has not ended.

        ``look`` is the newest look at the scores, which may be why it was not launched.
        """
        state = self._open.get(plan.session_id) or self.recall(plan.session_id, before)
        started = state.started_at is not None
        how = f"cut short after turn {state.last.turn}" if started else "not begun"
        words = f"by {reason}, {how}"  # as the summary counts them
        if look is not None and not started and (why := look.unlaunched(plan)):
            reason, words = why, f"not launched: {_WHY_NOT[why]}"
        cells = session_row(
            plan,
            self._info,
            outcome="censored",
            error_class=reason,
            turns=state.last.turn,
            totals=state.last.totals,
            score=None,
            reason=words,
            started_at=state.started_at,
            ended_at=None,
            seq=None,
        )
        return self._in_order("sessions", cells)

    def _ended_row(self, seq: int, entry: Ended, state: SessionState, plan: SessionPlan) -> Cells:
        return session_row(
            plan,
            self._info,
            outcome=entry.outcome,
            error_class=entry.error_class,
            turns=entry.turns,
            totals=SessionTotals.of(entry.tally),
            score=entry.score,
            reason=entry.reason,
            started_at=state.started_at,
            ended_at=entry.at,
            seq=seq,
        )

    def _add_turn(self, seq: int, entry: TurnDone, state: SessionState) -> None:
        base = state.before_last
        self.size += sum(len(message.text) for message in entry.messages)
        self._add("turns", [turn_row(seq, entry, base.totals, state.last.totals)])
        self._add("messages", message_rows(seq, entry, base.messages))
        self._add("events", event_rows(seq, entry, base.events))
        self._add("scores", score_rows(seq, entry))
        self._add("players", player_rows(seq, entry))

    def _add(self, name: TableName, rows: Sequence[Cells]) -> None:
        self.rows[name].extend(self._in_order(name, cells) for cells in rows)
        self.size += _ROW_BYTES * len(rows)

    def _in_order(self, name: TableName, cells: Cells) -> Row:
        """A row as its table declares it.

        Raises:
            KeyError: A column is not in the row.
            ValueError: The row has one that is not declared.
        """
        order = self._order[name]
        if len(cells) != len(order):
            more = ", ".join(sorted(cells.keys() - set(order))) or "too few columns"
            raise ValueError(f"a row of {name} does not fit its declaration: {more}")
        return tuple(cells[column] for column in order)
