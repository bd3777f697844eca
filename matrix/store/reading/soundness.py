"""Whether a table holds what only a run of matrix writes: it may be somebody else's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from matrix.model.metrics import MOST_NUMBER
from matrix.model.records import OUTCOMES

_MOST_ROUNDS: Final = 10_000_000
"""No run has as many; what reads rounds makes room for every one."""
_MAY_BE_NAN: Final = frozenset(["score", "value"])
"""What other programs write NaN into for what is absent; it is read as that."""


def unsound(name: str, table: pa.Table, levels: Mapping[str, Sequence[str]]) -> str:
    """What no run writes of the columns that were read, in words; empty if there is nothing.

    Args:
        name: The table.
        table: Rows of it.
        levels: Column -> what it may hold, of columns of which that is known.
    """
    if odd := unsound_numbers(table):
        return odd
    if name != "sessions":
        return ""
    there = set(table.schema.names)
    if "session_id" in there and pc.count_distinct(table["session_id"]).as_py() < table.num_rows:
        return "it has two rows of one session"
    if "round" in there:
        for round_ in (pc.min(table["round"]).as_py(), pc.max(table["round"]).as_py()):
            if round_ is not None and not 0 <= round_ < _MOST_ROUNDS:
                return f"it has the round {round_}"
    for column, known in {"outcome": OUTCOMES, **levels}.items():
        if column in there:
            found = map(str, pc.unique(table[column].drop_null()).to_pylist())
            if others := sorted(set(found) - set(known)):
                return f"it has {others[0]!r} as {column}, which this run does not have"
    return ""


def unsound_numbers(table: pa.Table) -> str:
    """A number that nothing can be made of, in words; empty if there is none."""
    for field in table.schema:
        if pa.types.is_floating(field.type):
            numbers = table[field.name]
            wild = pc.greater_equal(pc.abs(numbers), pa.scalar(MOST_NUMBER))
            if field.name not in _MAY_BE_NAN:
                wild = pc.or_(wild, pc.is_nan(numbers))
            odd = numbers.filter(wild)
            if len(odd):
                return f"it has {odd[0].as_py():g} as {field.name}, which nothing can be made of"
    return ""
