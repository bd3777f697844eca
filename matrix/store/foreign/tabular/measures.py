"""Tables with a row for each score: what was measured is in a column, and no mean is over all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from matrix.model.lines import in_line
from matrix.store.foreign.tabular.columns import Columns
from matrix.store.foreign.tabular.names import MAY_MEASURE, MEASURES, plain
from matrix.store.foreign.tabular.table import ForeignTable, cell_text, listed


def measures_told(tables: Sequence[ForeignTable], roles: Sequence[Columns]) -> str:
    """That rows are scores of several kinds, which a column names, in words; empty where none are.

    A mean over all of them is of nothing. Of a name that may be of anything, only where rows of a
    variant, and of a unit if there is one, have several of its values in most cases.
    """
    for table, own in zip(tables, roles, strict=True):
        used = {own.unit, own.within, own.score, own.scenario, own.repeat, *own.variants}
        for place, header in enumerate(table.headers):
            name = plain(header)
            if place in used or name not in MEASURES | MAY_MEASURE:
                continue
            found = dict.fromkeys(cell_text(cells[place]) for _, cells in table.rows)
            if not 1 < len(found) <= _MOST_MEASURES:
                continue
            if name in MAY_MEASURE and not _is_of_each(table, own, place):
                continue
            shortly = listed(list(found)[:_TOLD]) + " ..." * (len(found) > _TOLD)
            return (
                f"{in_line(header)} says what was measured ({shortly}), and a mean over several "
                f"measures is of nothing: {one_of_each(header)}; "
                f"--scenario {in_line(header)} is for measures on one scale"
            )
    return ""


def one_of_each(header: str) -> str:
    """What becomes of rows that a column says the measure of."""
    return (
        "keep the rows of one, or make a column of each "
        f"(pandas: pivot_table(index=[...], columns={header!r}, values=...).reset_index())"
    )


_MOST_MEASURES: Final = 50
_TOLD: Final = 3


def _is_of_each(table: ForeignTable, own: Columns, place: int) -> bool:
    """Whether rows that belong together have several values of a column, in most cases."""
    groups = defaultdict[tuple[str, ...], list[str]](list)
    by = [*own.variants, *([own.unit] if own.unit >= 0 else [])]
    for _, cells in table.rows:
        groups[tuple(cell_text(cells[one]) for one in by)].append(cell_text(cells[place]))
    several = sum(len(set(one)) > 1 for one in groups.values())
    return several * 2 > len(groups)
