"""Which column of tables says what rows belong together: by its name, and by what it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from matrix.model.lines import in_line
from matrix.store.foreign.results import LONGEST_NAME, fewest_units, groups
from matrix.store.foreign.tabular.doubts import sorted_doubt
from matrix.store.foreign.tabular.finder import ColumnFinder
from matrix.store.foreign.tabular.names import COUNTERS, UNIT, is_person, is_whose, plain
from matrix.store.foreign.tabular.numbers import number_of
from matrix.store.foreign.tabular.table import ForeignTable, cell_text, is_metric
from matrix.store.foreign.tabular.units import UnitCell, counts_rows, numbers_scores, pairs

ReadsCells: TypeAlias = Callable[[int], Sequence[UnitCell]]
"""What all tables have for units in the column of a place."""

_FEWEST: Final = 8
"""Values from which on what several variants have is taken for whose rows they are."""


class FoundUnit(NamedTuple):
    """The column of units, and the one whose values a unit has several of; -1 for none."""

    place: int
    within: int = -1


class _Owner(NamedTuple):
    """A column of who has several units, how that is told, and whether they are in all variants.

    ``fewest`` is how many the variant with the fewest has.
    """

    place: int
    column: str
    told: str
    crossing: bool
    fewest: int


def usual_unit(
    finder: ColumnFinder, cells: ReadsCells, why_left: dict[int, str], notes: list[str]
) -> FoundUnit:
    """The first column of a usual name that pairs rows, or else groups them, or else at all.

    None that only counts rows: those of one number would be pairs by accident. Where nothing of a
    usual name pairs them, what says whose rows they are does, and of several that group rows the
    one of fewest values: rows of one user are no independent ones, in however many sessions. Nor
    are the pairs of one owner, and those of people that are others in each variant.
    """
    headers = finder.table.headers
    tried = list[int]()

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
        return _over(finder, cells, unit, notes)
    tried.clear()
    unit = finder.usual(UNIT, groups_rows)
    owner = _owner(finder, cells, unit)
    if owner >= 0:
        _set_aside(finder, tried, why_left)
        finder.taken.add(owner)
        return FoundUnit(owner)
    if unit < 0:
        return FoundUnit(finder.usual(UNIT))
    _set_aside(finder, tried[:-1], why_left)
    return FoundUnit(unit)


def doubts_of_unit(finder: ColumnFinder, cells: ReadsCells, unit: int) -> list[str]:
    """What makes pairs by a unit that the user has named doubtful, in sentences."""
    told = []
    name, found = in_line(finder.table.headers[unit][:LONGEST_NAME]), cells(unit)
    if numbers_scores(found):
        told.append(
            f"{name} numbers the rows in the order of their scores, in every variant: pairs by it "
            "are of the best with the best and the worst with the worst, so what they show of a "
            "difference proves nothing; leave --unit out unless it says what was asked."
        )
    elif doubt := sorted_doubt(name, found):
        told.append(doubt)
    if pairs((one.unit, one.variant) for one in found):
        told += [
            f"{owner.told}: what is said here is about these {owner.column} alone."
            for owner in _owners_of(finder, cells, unit)
        ]
    return told


def _over(finder: ColumnFinder, cells: ReadsCells, unit: int, notes: list[str]) -> FoundUnit:
    """The unit, or who has several of them and is the independent one."""
    name = in_line(finder.table.headers[unit][:LONGEST_NAME])
    for owner in _owners_of(finder, cells, unit):
        told, column = owner.told, owner.column
        if owner.crossing and owner.fewest < _ENOUGH:
            alone = f"what is said here is about these {column} alone."
            notes.append(f"{told}, of {owner.fewest}: {alone}")
        elif owner.fewest < _TWO:
            notes.append(f"{told}: what is of the variants and what of these nobody can tell.")
        else:
            finder.taken.add(owner.place)
            notes.append(
                f"{told}, so each {column} counts once; --unit {name} is for a verdict about these "
                f"{column} alone."
            )
            return FoundUnit(owner.place, unit)
    if doubt := sorted_doubt(name, cells(unit)):
        notes.append(doubt)
    return FoundUnit(unit)


_ENOUGH: Final = 10
"""Owners from which on they can be a sample: as many as a verdict takes."""
_TWO: Final = 2


def _owners_of(finder: ColumnFinder, cells: ReadsCells, unit: int) -> list[_Owner]:
    """Columns of who has several units, the one of fewest values first.

    Where one has them all, nothing can be told of others, and nobody takes it for a sample.
    """
    found = []
    units, name = cells(unit), in_line(finder.table.headers[unit][:LONGEST_NAME])
    for place, header in enumerate(finder.table.headers):
        if place in finder.taken or not is_whose(header) or plain(header) in _TOPICS:
            continue
        own, column = cells(place), in_line(header[:LONGEST_NAME])
        rows = [(one.unit, one.variant) for one in own]
        if len(own) != len(units) or not all(owner for owner, _ in rows):
            continue
        if len({owner for owner, _ in rows}) < _TWO:
            continue
        if _several(own, units) * 2 < len(set(rows)):
            continue
        crossing = pairs(rows)
        if crossing and _is_within(own, units):
            told = f"Each {name} is of one {column}"
        elif is_person(header) and not crossing:
            told = f"Each {column} is in one variant, with rows of several {name}"
        else:
            continue
        owner = _Owner(place, column, told, crossing, fewest_units(rows))
        found.append((len(set(rows)), owner))
    return [owner for _, owner in sorted(found)]


_TOPICS: Final = frozenset({"subject"})
"""Also what questions are about, as often as who answered them."""


def _several(own: Sequence[UnitCell], units: Sequence[UnitCell]) -> int:
    """How many owners of a variant have rows of several units."""
    found = defaultdict[tuple[str, tuple[str, ...]], set[str]](set)
    for one, of_unit in zip(own, units, strict=True):
        found[one.unit, one.variant].add(of_unit.unit)
    return sum(len(had) > 1 for had in found.values())


def _is_within(own: Sequence[UnitCell], units: Sequence[UnitCell]) -> bool:
    """Whether each unit has one owner, in all variants."""
    owner_of = dict[str, str]()
    return all(
        owner_of.setdefault(of_unit.unit, one.unit) == one.unit
        for one, of_unit in zip(own, units, strict=True)
    )


def _set_aside(finder: ColumnFinder, places: Iterable[int], why_left: dict[int, str]) -> None:
    for place in places:
        if is_metric(finder.cells(place)):
            finder.taken.add(place)  # a number of a row is none
        why_left[place] = " (no value of it is in two variants)"


def _owner(finder: ColumnFinder, cells: ReadsCells, unit: int) -> int:
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
    """Whether rows of one value are one's own: a few, in several variants, may be of anything."""
    if not crossing:
        return groups(rows)
    return is_whose(header) and fewest_units(rows) >= _FEWEST


def unit_cells(
    tables: Sequence[ForeignTable],
    table: ForeignTable,
    variants: Sequence[int],
    score: int,
    place: int,
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
