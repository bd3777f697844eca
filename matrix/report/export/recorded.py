"""Whole sessions out of a run's tables, some at a time: what logs for other viewers are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from matrix.kinds.protocol import is_said
from matrix.model.records import Message
from matrix.store.reading.reader import RunTables

_AT_ONCE: Final = 500
"""Sessions whose words are in memory together."""
_PARTS: Final = {
    "turns": ("turn", "clock_s"),
    "messages": ("position", "turn", "channel", "speaker", "label", "text"),
    "events": ("position", "turn", "kind", "subject", "detail", "severity"),
    "scores": ("turn", "name", "value", "label", "reason"),
    "calls": (
        "role", "agent", "model", "tokens_in", "tokens_out", "cost_usd", "answered",
    ),
}  # fmt: skip
"""Table -> the columns that are read of it."""


@dataclass(slots=True)
class RecordedSession:
    """What the tables have of one session; rows are mappings of column to value.

    Attributes:
        row: Its row of ``sessions``.
        turns: Its checkpoints.
        messages: What was said.
        events: What happened.
        scores: What it scored.
        calls: Attempts of calls.
    """

    row: dict[str, Any]
    turns: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)


def recorded(tables: RunTables, rows: Sequence[dict[str, Any]]) -> Iterator[RecordedSession]:
    """Sessions with all that they consist of, in the order of their rows.

    Raises:
        StoreError: A table cannot be read.
    """
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        ids = {str(row["session_id"]) for row in part}
        found = {name: _by_session(tables, name, ids) for name in _PARTS}
        for row in part:
            yield RecordedSession(
                row, **{name: rows_of[str(row["session_id"])] for name, rows_of in found.items()}
            )


def _by_session(
    tables: RunTables, name: str, ids: set[str]
) -> defaultdict[str, list[dict[str, Any]]]:
    found = defaultdict[str, list[dict[str, Any]]](list)
    for row in tables.of_sessions(name, _PARTS[name], ids):
        if name != "messages" or is_said(_message(row)):
            found[str(row["session_id"])].append(row)
    for rows in found.values():
        if "position" in _PARTS[name]:
            rows.sort(key=lambda row: int(row["position"]))
    return found


def _message(row: dict[str, Any]) -> Message:
    return Message(str(row["channel"]), str(row["speaker"]), "", int(row["turn"]))
