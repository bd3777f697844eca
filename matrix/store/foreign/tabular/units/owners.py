"""Whose rows, or units, those of a table are: by names of columns, or by what goes together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from matrix.model.lines import in_line
from matrix.model.metrics import less_is_better
from matrix.store.foreign.results import LONGEST_NAME, fewest_units, groups
from matrix.store.foreign.tabular.names import is_person, is_whose, may_group, plain
from matrix.store.foreign.tabular.table import ColumnFinder, cell_text, is_metric, unit_text
from matrix.store.foreign.tabular.units.belonging import UnitCell, pairs
from matrix.store.foreign.tabular.units.going_together import (
    ENOUGH,
    FEWEST_GROUPS,
    beside_units,
    pairs_go_together,
    rows_go_together,
)

ReadsCells: TypeAlias = Callable[[int], Sequence[UnitCell]]
"""What all tables have for units in the column of a place."""

_FEWEST: Final = 8
"""Values from which on what several variants have is taken for whose rows they are."""


class Owner(NamedTuple):
    """A column of who has several units, how that is told, and whether they are in all variants.

    ``fewest`` is how many the variant with the fewest has; ``sample`` whether they may stand for
    others like them, as fewer than a verdict takes do not whose name does not say whose they are.
    """

    place: int
    column: str
    told: str
    crossing: bool
    fewest: int
    sample: bool = True


TWO: Final = 2


def owners_of(
    finder: ColumnFinder, cells: ReadsCells, unit: int, why_left: dict[int, str] | None = None
) -> list[Owner]:
    """Columns of who has several units, the one of fewest values first.

    Where one has them all, nothing can be told of others, and nobody takes it for a sample. Of
    columns that may be such, and are not shown to be, ``why_left`` then says so.
    """
    found = []
    of_all, name = cells(unit), in_line(finder.table.headers[unit][:LONGEST_NAME])
    for place, header in enumerate(finder.table.headers):
        if place in finder.taken or not header:
            continue
        whose = is_whose(header) and plain(header) not in _TOPICS
        if not whose and not may_group_by(finder, place):
            continue
        column, every = in_line(header[:LONGEST_NAME]), cells(place)
        known = [at for at, one in enumerate(every) if one.unit]
        if len(every) != len(of_all) or not known:
            continue
        own, units = [every[at] for at in known], [of_all[at] for at in known]
        rows = [(one.unit, one.variant) for one in own]
        if len({owner for owner, _ in rows}) < TWO:
            continue
        if _several(own, units) * 2 < len(set(rows)):
            continue
        crossing = pairs(rows)
        if crossing and _is_within(own, units):
            told = f"Each {name} is of one {column}"
        elif not crossing and (is_person(header) or not whose):
            told = f"Each {column} is in one variant, with rows of several {name}"
        else:
            continue
        fewest = fewest_units(rows)
        if not whose and crossing:
            if fewest < FEWEST_GROUPS:
                continue
            if not pairs_go_together(own, units):
                if why_left is not None:
                    why_left.setdefault(place, unshown(finder, place))
                continue
            told += ", and differences of one go together by more than chance"
        elif not whose:
            if not rows_go_together(beside_units(own, units), ()):
                continue
            told += ", and these go together by more than chance"
        if _has_blanks(finder, every, place, told=whose):
            continue
        sample = whose or not crossing or fewest >= ENOUGH
        found.append((len(set(rows)), Owner(place, column, told, crossing, fewest, sample)))
    return [owner for _, owner in sorted(found)]


def unshown(finder: ColumnFinder, place: int) -> str:
    """Why a column that may say what goes together is left out: that this is not shown."""
    name = in_line(finder.table.headers[place][:LONGEST_NAME])
    return f" (what is of one is not shown to go together; --unit {name} counts each once)"


def may_group_by(finder: ColumnFinder, place: int) -> bool:
    """Whether a column of no usual name can say what goes together: words, ids, or a numbering."""
    header = finder.table.headers[place]
    if not header or not may_group(header):
        return False
    if not is_number(finder, place):
        return True
    return not less_is_better(header) and _numbers_groups(
        [unit_text(cell) for cell in finder.cells(place)]
    )


def is_number(finder: ColumnFinder, place: int) -> bool:
    """Whether a column has numbers, and no ids by its name."""
    header = plain(finder.table.headers[place])
    return not header.endswith("_id") and is_metric(finder.cells(place))


def _numbers_groups(texts: Sequence[str]) -> bool:
    """Whether whole numbers may be those of groups: a few, each of which is there again."""
    values = set(texts)
    return FEWEST_GROUPS <= len(values) <= len(texts) / TWO and all(
        text.isdecimal() and len(text) <= _DIGITS for text in values
    )


_DIGITS: Final = 8


def is_divided(rows: Sequence[tuple[str, tuple[str, ...]]]) -> bool:
    """Whether all values have about as many rows of each variant, as a design divides them.

    What is measured does not come out like that; it may be alike in what scores are alike in.
    """
    counts = Counter(rows)
    values, variants = {value for value, _ in rows}, {variant for _, variant in rows}
    whole = len(counts) == len(values) * len(variants)
    return whole and max(counts.values()) <= _EVENLY * min(counts.values())


_EVENLY: Final = 1.5


def _has_blanks(finder: ColumnFinder, own: Sequence[UnitCell], place: int, *, told: bool) -> bool:
    """Whether some rows do not say whose they are; that is a mistake where most do."""
    blank = sum(not one.unit for one in own)
    if told and 0 < blank <= len(own) // 2:
        for line, cells in finder.table.rows:
            if not cell_text(cells[place]):
                finder.say(
                    line,
                    finder.table.headers[place],
                    "is empty, and says whose the other rows are; write whose this is or take the "
                    "row out, or name what else belongs together: --unit COLUMN (none for rows of "
                    "their own)",
                )
    return blank > 0


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


def owner_beside(finder: ColumnFinder, cells: ReadsCells, unit: int) -> int:
    """Which free column says whose rows they are, better than ``unit`` does; -1 for none.

    One that is in several variants before others, and then the one of fewest values.
    """
    found = dict[int, tuple[bool, int]]()
    for place, header in enumerate(finder.table.headers):
        if place != unit and (place in finder.taken or not _may_own(header)):
            continue
        own = cells(place)
        rows = [(one.unit, one.variant) for one in own if one.unit]
        crossing = pairs(rows)
        if place != unit:
            if not rows or not _owns(header, rows, crossing):
                continue
            if _has_blanks(finder, own, place, told=is_whose(header)):
                continue
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
