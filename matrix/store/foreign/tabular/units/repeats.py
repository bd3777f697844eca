"""Rows of one unit and variant as its repeats, or what tells them apart and nobody has said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final, Literal

from matrix.model.errors import BadInput
from matrix.model.lines import in_line
from matrix.store.foreign.results import (
    LONGEST_NAME,
    ForeignRow,
    RowFaults,
    pairs_something,
    shown,
)
from matrix.store.foreign.tabular.columns import Columns
from matrix.store.foreign.tabular.currencies import Cell
from matrix.store.foreign.tabular.measures import one_of_each
from matrix.store.foreign.tabular.names import MAY_MEASURE, MEASURES, is_whose, plain
from matrix.store.foreign.tabular.table import ForeignTable, cell_text
from matrix.store.foreign.tabular.units.belonging import Key

Telling = Literal["column", "in part", "its end", "what it has several of", "file", "nothing"]
"""What tells rows apart: a column, one that leaves some alike in each unit, one that says how
results ended, one of which the unit is known to have several, or their files."""


_FEWEST_GROUPS: Final = 3


def lines_of(tables: Sequence[ForeignTable]) -> dict[str, Sequence[Cell]]:
    """Where a row stands, as results say it -> its cells."""
    return {f"{table.source}:{line}": cells for table in tables for line, cells in table.rows}


def as_repeats(
    rows: list[ForeignRow],
    tables: Sequence[ForeignTable],
    roles: Sequence[Columns],
) -> tuple[list[ForeignRow], list[str]]:
    """Rows of one unit and variant as repeats, where no column is there that numbers them.

    Raises:
        BadInput: A column tells them apart, and nobody has said what it is.
    """
    if any(one.repeat >= 0 for one in roles) or any(one.unit < 0 for one in roles):
        return rows, []
    lines = lines_of(tables)
    first, own = tables[0], roles[0]
    used = {own.unit, own.within, own.score, own.cost, own.scenario, *own.variants}
    ended = {own.status, own.error, *own.flags}

    def values(header: str, groups: Sequence[Sequence[int]]) -> list[list[str]]:
        """What a column has in the rows of each group; empty where not all tables have it."""
        if not header or any(header not in one.headers for one in tables):
            return []
        at_of = {one.source: one.headers.index(header) for one in tables}

        def value(at: int) -> str:
            where = rows[at].where
            return cell_text(lines[where][at_of[where.rpartition(":")[0]]])

        return [list(map(value, group)) for group in groups]

    def tells(header: str, groups: Sequence[Sequence[int]]) -> bool:
        """Whether all rows of each group have other values of a column."""
        found = values(header, groups)
        return bool(found) and all(len(set(one) - {""}) == len(one) for one in found)

    def crosses(header: str, groups: Sequence[Sequence[int]]) -> bool:
        """Whether each group has the same few values of a column, each as often as others."""
        found = [Counter(one) for one in values(header, groups)]
        return (
            len(found) >= _FEWEST_GROUPS
            and len(found[0]) > 1
            and "" not in found[0]
            and all(one.keys() == found[0].keys() for one in found)
            and all(max(one.values()) == min(one.values()) for one in found)
        )

    def few(header: str, most: int) -> bool:
        """Whether a column has so many values at most."""
        places = [(one, one.headers.index(header)) for one in tables if header in one.headers]
        values = {cell_text(cells[at]) for one, at in places for _, cells in one.rows}
        return len(values - {""}) <= most

    def telling(groups: Sequence[Sequence[int]]) -> tuple[str, Telling]:
        most = max(map(len, groups))
        free = [
            (place, header)
            for place, header in enumerate(first.headers)
            if place not in used and few(header, most)
        ]
        for place, header in free:
            if tells(header, groups):
                how: Telling = "its end" if place in ended else "column"
                return in_line(header[:LONGEST_NAME]), how
        for place, header in free:
            if place not in ended and crosses(header, groups):
                return in_line(header[:LONGEST_NAME]), "in part"
        within = first.headers[own.within] if own.within >= 0 else ""
        if tells(within, groups):
            return in_line(within[:LONGEST_NAME]), "what it has several of"
        files = [len({rows[at].where.rpartition(":")[0] for at in group}) for group in groups]
        return "", "file" if files == list(map(len, groups)) else "nothing"

    unit = in_line(first.headers[own.unit][:LONGEST_NAME])
    found, told, wrong = numbered(rows, unit, telling)
    if wrong:
        faults = RowFaults(tables[0].source)
        faults.say(None, "", wrong)
        raise BadInput(faults.mistakes)
    return found, [told] if told else []


def numbered(
    rows: Sequence[ForeignRow],
    unit: str,
    telling: Callable[[Sequence[Sequence[int]]], tuple[str, Telling]],
) -> tuple[list[ForeignRow], str, str]:
    """Rows of one unit and variant as its repeats, in the order of the file.

    Args:
        rows: The results, none with a repeat.
        unit: What units are called.
        telling: Which column tells apart the rows of each group of places, empty for none, and
            what it is that does.

    Returns:
        The rows, what there is to say of it, and what is a mistake about it; one of them is empty.
    """
    groups = defaultdict[Key, list[int]](list)
    for place, row in enumerate(rows):
        groups[row.scenario, row.unit, row.levels].append(place)
    several = {key: own for key, own in groups.items() if len(own) > 1}
    one_variant = len({row.levels for row in rows}) < 2
    if not several or not (pairs_something(rows) or one_variant):
        return list(rows), "", ""
    units = len({(scenario, unit) for scenario, unit, _ in several})
    column, how = telling(list(several.values()))
    apart = {"file": "only their files tell"}.get(how, "no column tells")
    if how == "what it has several of":
        apart = f"{column} tells"
    elif column:
        own = next(iter(several.values()))
        return list(rows), "", _not_said(rows, own, units, (unit, column), how)
    found = list(rows)
    for own in several.values():
        for number, place in enumerate(own, 1):
            found[place] = rows[place]._replace(repeat=str(number))
    total = len({(row.scenario, row.unit) for row in rows})
    most = max(map(len, several.values()))
    told = (
        f"{units:,} of {total:,} units have several rows for a variant (up to {most:,}), and "
        f"{apart} them apart: they are taken as repeats of the unit in the order of the file, "
        "which are averaged and never counted as units."
    )
    return found, told, ""


def _not_said(
    rows: Sequence[ForeignRow],
    own: Sequence[int],
    units: int,
    columns: tuple[str, str],
    how: Telling,
) -> str:
    """That a column tells rows of a unit apart, and what of it nobody has said."""
    unit, column = columns
    first, second = rows[own[0]], rows[own[1]]
    more = f" ({units:,} units are)" if units > 1 else ""
    twice = (
        f"the unit {shown(first.unit)} is there twice for {', '.join(first.levels)}: at "
        f"{first.where} and {second.where}{more}; {column} "
        + ("differs among such rows" if how == "in part" else "tells these rows apart")
    )
    if how == "its end":
        return (
            f"{twice}, and how they ended: where later rows are further tries, keep the last of "
            "each (pandas: drop_duplicates([...], keep='last'))"
        )
    if is_whose(column) or plain(column) in _PLAYED:
        return (
            f"{twice}, and whose they are: --unit {column} --repeat {unit} is for a verdict about "
            f"such a {column}, each of which counts once, --repeat {column} for one about these "
            "alone"
        )
    if plain(column) in MEASURES | MAY_MEASURE:
        return f"{twice}, and what was measured: {one_of_each(column)}"
    return (
        f"{twice}: say --repeat "
        f"{column} where they are repeats, or --variant {column}, beside the others, where it was "
        "compared"
    )


_PLAYED: Final = frozenset({"run", "run_id", "run_name", "seed", "checkpoint", "fold"})
"""What a column is called that says in which of several runs a result came to be."""
