"""Whether two runs came out the same: the law of determinism, checked on their tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from matrix.store.reading.reader import RunTables
from matrix.store.run.schema import Table, TableName
from matrix.store.tables.tables import TABLES, table_named

_Key: TypeAlias = tuple[object, ...]
_Rows: TypeAlias = dict[_Key, list[_Key]]


def compare_tables(
    run_a: Path, run_b: Path, names: Iterable[TableName] = tuple(TABLES)
) -> list[str]:
    """Differences between two runs in their deterministic columns, one sentence each.

    Rows are matched by the key of their table and compared exactly; volatile columns, and rows of
    attempts that did not end a call, are left out. An empty list says that the runs are equal.
    """
    a, b = RunTables(run_a), RunTables(run_b)
    return [
        f"{name}: {difference}"
        for name in names
        for difference in _differences(table_named(name), a.table(name), b.table(name))
    ]


def _differences(declared: Table, a: pa.Table, b: pa.Table) -> list[str]:
    volatile = {column.name for column in declared.columns if column.mark == "volatile"}
    columns_a, columns_b = ([n for n in t.column_names if n not in volatile] for t in (a, b))
    if columns_a != columns_b:
        return [f"the columns differ: {_list(columns_a)} against {_list(columns_b)}"]
    rest = [name for name in columns_a if name not in declared.key]
    rows_a, rows_b = (_rows(declared, table, rest) for table in (a, b))
    found = []
    for label, mine, other in (("first", rows_a, rows_b), ("second", rows_b, rows_a)):
        alone = [key for key in mine if key not in other]
        if alone:
            found.append(
                f"{len(alone)} rows are in the {label} run only, e.g. {_show(declared, alone[0])}"
            )
    both = [key for key in rows_a if key in rows_b]
    counts = [key for key in both if len(rows_a[key]) != len(rows_b[key])]
    if counts:
        key = counts[0]
        found.append(
            f"{len(counts)} keys have another number of rows, e.g. {_show(declared, key)}: "
            f"{len(rows_a[key])} against {len(rows_b[key])}"
        )
    same = [key for key in both if len(rows_a[key]) == len(rows_b[key])]
    for place, column in enumerate(rest):
        unequal = [
            (key, one[place], two[place])
            for key in same
            for one, two in zip(rows_a[key], rows_b[key], strict=True)
            if not _equal(one[place], two[place])
        ]
        if unequal:
            key, one, two = unequal[0]
            found.append(
                f"{column} differs in {len(unequal)} rows, e.g. {_show(declared, key)}: "
                f"{one!r} against {two!r}"
            )
    return found


def _rows(declared: Table, table: pa.Table, rest: list[str]) -> _Rows:
    if declared.compared is not None:
        table = table.filter(table[declared.compared])
    columns = [table[name].to_pylist() for name in (*declared.key, *rest)]
    width = len(declared.key)
    rows: _Rows = {}
    for row in zip(*columns, strict=True):
        rows.setdefault(row[:width], []).append(row[width:])
    for several in rows.values():
        several.sort(key=repr)
    return rows


def _equal(one: object, two: object) -> bool:
    return one == two or (one != one and two != two)


def _show(declared: Table, key: _Key) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(declared.key, key, strict=True))


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
