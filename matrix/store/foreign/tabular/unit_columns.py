"""Which column of tables says what rows belong together: by its name, and by what it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from matrix.model.lines import in_line
from matrix.store.foreign.results import LONGEST_NAME, groups
from matrix.store.foreign.tabular.finder import Finder
from matrix.store.foreign.tabular.names import COUNTERS, UNIT, is_whose, plain
from matrix.store.foreign.tabular.numbers import number_of
from matrix.store.foreign.tabular.table import ForeignTable, cell_text, is_metric
from matrix.store.foreign.tabular.units import UnitCell, counts_rows, numbers_scores, pairs

_FEWEST: Final = 8
"""Values in each variant from which on a column of any other id is taken for who rows are of."""


def usual_unit(
    finder: Finder,
    tables: Sequence[ForeignTable],
    variants: Sequence[int],
    score: int,
    why_left: dict[int, str],
    notes: list[str],
) -> int:
    """The first column of a usual name that pairs rows, or else groups them, or else at all.

    None that only counts rows: those of one number would be pairs by accident. Where nothing of a
    usual name pairs them, what says whose rows they are does, and of several that group rows the
    one of fewest values: rows of one user are no independent ones, in however many sessions.
    """
    headers = finder.table.headers
    tried = list[int]()

    @cache
    def cells(place: int) -> list[UnitCell]:
        return unit_cells(tables, finder.table, place, variants, score)

    def pairs_rows(place: int) -> bool:
        tried.append(place)
        return pairs((one.unit, one.variant) for one in cells(place))

    def groups_rows(place: int) -> bool:
        tried.append(place)
        return groups([(one.unit, one.variant) for one in cells(place)])

    def leave(place: int, what: str) -> None:
        name = in_line(headers[place][:LONGEST_NAME])
        finder.taken.add(place)  # a number of a row is no metric
        why_left[place] = f" ({what})"
        notes.append(
            f"{name} {what}, so it is taken for no unit: rows of one number need not belong "
            f"together. Say --unit {name} if they do."
        )

    for place, header in enumerate(headers):
        if place in finder.taken:
            continue
        if plain(header) in COUNTERS and counts_rows(found := cells(place)):
            why_left[place] = " (counts the rows)"
            finder.taken.add(place)
            if plain(header) in UNIT and pairs((one.unit, one.variant) for one in found):
                leave(place, "only counts the rows")
        elif (plain(header) in UNIT or is_whose(header)) and numbers_scores(cells(place)):
            leave(place, "numbers the rows in the order of their scores")
    unit = finder.usual(UNIT, pairs_rows)
    if unit >= 0:
        _set_aside(finder, tried[:-1], why_left)
        return unit
    tried.clear()
    unit = finder.usual(UNIT, groups_rows)
    owner = _owner(finder, cells, unit)
    if owner >= 0:
        _set_aside(finder, tried, why_left)
        finder.taken.add(owner)
        return owner
    if unit < 0:
        return finder.usual(UNIT)
    _set_aside(finder, tried[:-1], why_left)
    return unit


def _set_aside(finder: Finder, places: Iterable[int], why_left: dict[int, str]) -> None:
    for place in places:
        if is_metric(finder.cells(place)):
            finder.taken.add(place)  # a number of a row is none
        why_left[place] = " (no value of it is in two variants)"


def _owner(finder: Finder, cells: Callable[[int], Sequence[UnitCell]], unit: int) -> int:
    """Which free column says whose rows they are, better than ``unit`` does; -1 for none.

    One that is in several variants before others, and then the one of fewest values.
    """
    found = dict[int, tuple[bool, int]]()
    for place, header in enumerate(finder.table.headers):
        if place != unit and (place in finder.taken or not _may_own(header)):
            continue
        rows = [(one.unit, one.variant) for one in cells(place)]
        crossing = pairs(rows)
        if place == unit or (all(name for name, _ in rows) and _owns(header, rows, crossing)):
            found[place] = (not crossing, len(set(rows)))
    best = min(found, key=lambda place: found[place], default=-1)
    return -1 if best == unit else best


def _may_own(header: str) -> bool:
    return is_whose(header) or plain(header).endswith("_id")


def _owns(header: str, rows: Sequence[tuple[str, tuple[str, ...]]], crossing: bool) -> bool:
    """Whether rows of one value are one's own.

    Of a value in several variants, and of an id of any name, a few values may be those of anything
    else, such as a region or a batch.
    """
    fewest = min(Counter(variant for _, variant in set(rows)).values())
    if crossing:
        return is_whose(header) and fewest >= _FEWEST
    return groups(rows) and (is_whose(header) or fewest >= _FEWEST)


def unit_cells(
    tables: Sequence[ForeignTable],
    table: ForeignTable,
    place: int,
    variants: Sequence[int],
    score: int,
) -> list[UnitCell]:
    """What all tables have for units in the column that one of them has in this place."""
    header, kept = table.headers[place], [table.headers[one] for one in variants if one >= 0]
    found = list[UnitCell]()
    for one in tables:
        if header not in one.headers:
            continue
        at = one.headers.index(header)
        own = [one.headers.index(name) for name in kept if name in one.headers]
        of = one.headers.index(table.headers[score]) if _has_score(one, table, score) else -1
        for _, cells in one.rows:
            value = number_of(cells[of], words=True, percent=True) if of >= 0 else None
            found.append(
                UnitCell(
                    one.source,
                    tuple(cell_text(cells[level]) for level in own) or (one.source,),
                    cell_text(cells[at]),
                    value if isinstance(value, float) else None,
                )
            )
    return found


def _has_score(one: ForeignTable, table: ForeignTable, score: int) -> bool:
    return score >= 0 and table.headers[score] in one.headers
