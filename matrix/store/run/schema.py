"""What a table and a column are, and what the tables need to know of their run.

A *deterministic* column is the same in every run of the same spec on simulated models whose cap
does not bind, whatever died on the way. A *volatile* one depends on when and where the run
happened. Schema changes are additive: columns are added before ``seq``, which stays the last, and
never renamed or retyped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from matrix.model.spec.aliases import StandIns

SCHEMA_VERSION: Final = 1
"""Version of the declared tables; written into the footer of every Parquet file."""

TableName = Literal[
    "calls", "turns", "messages", "events", "effects", "scores", "players", "sessions"
]
ColumnType = Literal["text", "id", "integer", "number", "flag", "time"]
Mark = Literal["deterministic", "volatile"]
Row: TypeAlias = tuple[object, ...]
"""One row of a table, in the order of its columns, without the leading ``run_id``."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: Its name in the Parquet file.
        type: ``text`` and ``id`` are strings, ``id`` dictionary-encoded because it repeats;
            ``integer`` is int64, ``number`` float64, ``flag`` bool, ``time`` UTC microseconds.
        description: What it says, in one sentence.
        mark: Whether it is the same in every run of the same spec (see the module).
        optional: Whether a row may have no value (null) here.
    """

    name: str
    type: ColumnType
    description: str
    mark: Mark = "deterministic"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        sort: Columns that its files are sorted by.
        key: Deterministic columns that two runs are matched on.
        compared: Name of a flag column that selects the rows two runs have in common; ``None``
            for every row.
    """

    name: TableName
    description: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...]
    key: tuple[str, ...]
    compared: str | None = None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What the tables need to know of their run: it goes into rows, columns and footers."""

    run_id: str
    spec_hash: str
    prices_hash: str
    factors: tuple[str, ...]
    stand_ins: StandIns | None = None


def volatile(name: str, kind: ColumnType, description: str, *, optional: bool = False) -> Column:
    """A column that depends on when and where the run happened."""
    return Column(name, kind, description, "volatile", optional)
