"""Choosing moments of a run's sessions by a condition on its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from matrix.model.documents.conditions import Condition, ConditionTerm, comparisons, holds
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.store.reading.checkpoints import PARENTS
from matrix.store.reading.reader import RunTables
from matrix.store.run.schema import Column
from matrix.store.tables.tables import TABLES, columns_of

SESSIONS = "sessions"


class Chosen(NamedTuple):
    """A session and the turn before what was looked for."""

    session_id: str
    turn: int


def moments_before(tables: RunTables, condition: Condition, source: str) -> list[Chosen]:
    """The moment before each row that meets a condition, each once, in launch order.

    A condition is on rows of one table that have a turn (events, scores, messages, calls, turns),
    and may ask for columns of their session as well. Sessions that were cut short are passed
    over, and so is what happened before a session's first turn.

    Raises:
        BadInput: Tables or columns that are not there, values that do not compare, or no such row.
    """
    _check(tables, condition, source)
    asked: dict[str, list[str]] = {}
    for part in comparisons(condition):
        asked.setdefault(part.table, []).append(part.column)
    (name,) = asked.keys() - {SESSIONS}
    sessions = {
        row["session_id"]: row
        for row in _rows(tables, SESSIONS, ["launch_order", "outcome", *asked.get(SESSIONS, [])])
        if row["outcome"] in PARENTS
    }
    found: set[tuple[int, Chosen]] = set()
    for row in _rows(tables, name, ["turn", *asked[name]]):
        session = sessions.get(row["session_id"])
        if session is None or not row["turn"]:
            continue
        joined = {(name, column): value for column, value in row.items()}
        joined |= {(SESSIONS, column): value for column, value in session.items()}
        if holds(condition, joined):
            found.add((session["launch_order"], Chosen(row["session_id"], row["turn"] - 1)))
    if not found:
        message = (
            f"no row of {name} in the {len(sessions):,} sessions that were not cut short is so"
        )
        raise BadInput([Mistake(source, None, "", message)])
    return [chosen for _, chosen in sorted(found)]


def _rows(tables: RunTables, name: str, columns: list[str]) -> Iterator[Mapping[str, Any]]:
    requested = list(dict.fromkeys(["session_id", *columns]))
    for batch in tables.table(name, requested).to_batches():
        yield from batch.to_pylist()


def _check(tables: RunTables, condition: Condition, source: str) -> None:
    parts = list(comparisons(condition))
    mistakes = [
        Mistake(source, None, f"character {part.at}", words)
        for part in parts
        if (words := _wrong(tables, part))
    ]
    turned = {part.table for part in parts} - {SESSIONS}
    if not mistakes and len(turned) != 1:
        found = " and ".join(sorted(turned)) or "only sessions"
        words = f"asks for {found}; one table whose rows have a turn is needed: {_turned()}"
        mistakes.append(Mistake(source, None, "", words))
    if mistakes:
        raise BadInput(mistakes)


def _turned() -> str:
    """Tables whose rows belong to a turn."""
    return ", ".join(
        sorted(name for name, table in TABLES.items() if "turn" in {c.name for c in table.columns})
    )


def _wrong(tables: RunTables, part: ConditionTerm) -> str:
    """What is wrong with one comparison, if anything is."""
    known = {name: table for name, table in TABLES.items() if name in _turned() or name == SESSIONS}
    table = next((table for name, table in known.items() if name == part.table), None)
    if table is None:
        names = sorted(known)
        hint = did_you_mean(part.table, names)
        return f"no table {part.table!r} to choose by; there are: {', '.join(names)}{hint}"
    columns = {column.name: column for column in columns_of(table, tables.run.info.factors)}
    column = columns.get(part.column)
    if column is None:
        hint = did_you_mean(part.column, list(columns))
        return f"{part.table} has no column {part.column!r}; it has: {', '.join(columns)}{hint}"
    return _incomparable(column, part)


def _incomparable(column: Column, part: ConditionTerm) -> str:
    requested = {"text": "a text", "id": "a text", "integer": "a number", "number": "a number"}
    kind = requested.get(column.type, "true or false" if column.type == "flag" else "")
    found = (
        "true or false"
        if isinstance(part.value, bool)
        else "a text"
        if isinstance(part.value, str)
        else "a number"
    )
    if not kind:
        return f"{part.table}.{part.column} is a time, which cannot be chosen by"
    if kind == found:
        return ""
    return f"found {part.value!r}; {part.table}.{part.column} is {kind}, so compare it with one"
