"""The tables by name, and the columns that a run's factors add to them.

From the declarations come the Parquet schemas (:mod:`matrix.store.tables.parquet`), the data
dictionary in ``results/README.md`` (:mod:`matrix.store.tables.dictionary`) and the comparison of
two runs (``tests/comparer.py``), so that the three cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from matrix.model.errors import StoreError, did_you_mean
from matrix.store.run.schema import Column, Table, TableName
from matrix.store.tables.declarations import (
    CALLS,
    EFFECTS,
    EVENTS,
    MESSAGES,
    PLAYERS,
    SCORES,
    SESSIONS,
    TURNS,
)

TABLES: Final[Mapping[TableName, Table]] = {
    table.name: table
    for table in (CALLS, TURNS, MESSAGES, EVENTS, EFFECTS, SCORES, PLAYERS, SESSIONS)
}
"""Every table, in the order in which a range of the journal becomes visible: a session's own row
last, so that whoever sees it finds its turns, messages and scores as well."""

_FACTORS_AFTER: Final = "kind"


def table_named(name: str) -> Table:
    """The declaration of a table.

    Raises:
        StoreError: There is no such table.
    """
    for table in TABLES.values():
        if table.name == name:
            return table
    raise StoreError(
        f"no table {name!r}; the tables are {', '.join(sorted(TABLES))}"
        f"{did_you_mean(name, sorted(TABLES))}"
    )


def factor_columns(factors: Iterable[str]) -> dict[str, str]:
    """Factor -> its column in ``sessions``: its own name, or ``factor_<name>`` on a collision.

    Names that differ in case only collide too, because SQL engines do not tell them apart.
    """
    return dict(_factor_columns(tuple(factors)))


@lru_cache(maxsize=64)  # every row of `sessions` asks
def _factor_columns(factors: tuple[str, ...]) -> Mapping[str, str]:
    taken = {column.name for column in SESSIONS.columns}
    names: dict[str, str] = {}
    for factor in factors:
        name = factor
        while name.casefold() in taken:
            name = f"factor_{name}"
        taken.add(name.casefold())
        names[factor] = name
    return names


def columns_of(table: Table, factors: Iterable[str]) -> tuple[Column, ...]:
    """Columns of a table in a run with these factors; they are columns of ``sessions`` only."""
    if table.name != "sessions":
        return table.columns
    levels = tuple(
        Column(name, "id", f"Level of the factor `{factor}`.", optional=True)
        for factor, name in factor_columns(factors).items()
    )
    place = 1 + next(
        index for index, column in enumerate(table.columns) if column.name == _FACTORS_AFTER
    )
    return table.columns[:place] + levels + table.columns[place:]
