"""Reading tables back in the shape that tests compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matrix.store.reading.reader import RunTables
from matrix.store.tables.tables import TABLES
from tests.store.journals import COMPARED


def shown(run_dir: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The compared columns of every table, sorted."""
    tables = RunTables(run_dir)
    return {
        name: sorted(
            zip(
                *(column.to_pylist() for column in tables.table(name, columns).columns), strict=True
            ),
            key=repr,
        )
        for name, columns in COMPARED.items()
    }


def everything(run_dir: Path) -> dict[str, list[dict[str, Any]]]:
    """Every column of every table, sorted."""
    tables = RunTables(run_dir)
    return {name: sorted(tables.table(name).to_pylist(), key=repr) for name in TABLES}
