"""Which column of tables says what rows belong together: by its name, and by what it does."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from matrix.model.lines import in_line
from matrix.model.metrics import less_is_better
from matrix.store.foreign.results import LONGEST_NAME, NONE, fewest_units, groups, in_several
from matrix.store.foreign.tabular.doubts import sorted_doubt
from matrix.store.foreign.tabular.going_together import (
    ENOUGH,
    FEWEST_GROUPS,
    beside_units,
    pairs_go_together,
    repeats_go_together,
    rows_go_together,
)
from matrix.store.foreign.tabular.names import (
    COUNTERS,
    REQUESTS,
    UNIT,
    is_person,
    is_whose,
    may_group,
    plain,
)
from matrix.store.foreign.tabular.numbers import number_of
from matrix.store.foreign.tabular.table import (
    ColumnFinder,
    ForeignTable,
    cell_text,
    is_metric,
    unit_text,
)
from matrix.store.foreign.tabular.units import (
    UnitCell,
    counts_rows,
    numbers_scores,
    pairs,
    spelt_otherwise,
)

ReadsCells: TypeAlias = Callable[[int], Sequence[UnitCell]]
"""What all tables have for units in the column of a place."""

_FEWEST: Final = 8
"""Values from which on what several variants have is taken for whose rows they are."""


class FoundUnit(NamedTuple):
    """The column of units, and the one whose values a unit has several of; -1 for none.

    ``alone`` is what a verdict is about alone, such as the units; empty where it is about others
    like them, too.
    """

    place: int
    within: int = -1
    alone: str = ""


class _Owner(NamedTuple):
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
    if unit < 0:
        for place in tried:
            if told := spelt_otherwise((one.unit, one.variant) for one in cells(place)):
                finder.say(None, headers[place], told)
    if unit >= 0:
        _set_aside(finder, tried[:-1], why_left)
        return _over(finder, cells, unit, notes)
    if (asked := finder.usual(REQUESTS, lambda place: _are_asked_all(cells(place)))) >= 0:
        _set_aside(finder, tried, why_left)
        return _over(finder, cells, asked, notes)
    tried.clear()
    unit = finder.usual(UNIT, groups_rows)
    owner = _owner(finder, cells, unit)
    _set_aside(finder, tried if owner >= 0 else tried[:-1], why_left)
    if owner >= 0:
        finder.taken.add(owner)
        unit = owner
    group = _group(finder, cells, unit)
    if group < 0:
        return FoundUnit(unit if unit >= 0 else finder.usual(UNIT))
    finder.taken.add(group)
    name = in_line(finder.table.headers[group][:LONGEST_NAME])
    own = in_line(finder.table.headers[unit][:LONGEST_NAME]) if unit >= 0 else NONE
    notes.append(
        f"what is of one {name} goes together by more than chance, so each {name} counts once; "
        f"--unit {own} is for {'rows' if unit < 0 else own} that owe nothing to their {name}."
    )
    return FoundUnit(group, unit)


def named_unit(finder: ColumnFinder, cells: ReadsCells, unit: int, notes: list[str]) -> FoundUnit:
    """The unit that the user has named, with what makes pairs by it doubtful."""
    name, found = in_line(finder.table.headers[unit][:LONGEST_NAME]), cells(unit)
    if numbers_scores(found):
        notes.append(
            f"{name} numbers the rows in the order of their scores, in every variant: pairs by it "
            "are of the best with the best and the worst with the worst, so what they show of a "
            "difference proves nothing; leave --unit out unless it says what was asked."
        )
    elif doubt := sorted_doubt(name, found):
        notes.append(doubt)
    owners = []
    if pairs((one.unit, one.variant) for one in found):
        owners = _owners_of(finder, cells, unit)
    notes += [f"{one.told}: what is said here is about these {name}s alone." for one in owners]
    return FoundUnit(unit, alone="units" if owners else "")


def over_repeats(
    finder: ColumnFinder,
    cells: ReadsCells,
    unit: FoundUnit,
    repeat: int,
    notes: list[str],
    *,
    said: bool,
) -> FoundUnit:
    """The unit, or its repeats where what variants differ by goes together by these.

    Then each repeat counts once, with all units; where the user has said what is what (``said``),
    or people rate them, it is told that nothing is said of other repeats.
    """
    header = finder.table.headers[repeat]
    name, own = in_line(header[:LONGEST_NAME]), cells(repeat)
    together = repeats_go_together(own, cells(unit.place))
    if together and not said:
        kept = in_line(finder.table.headers[unit.place][:LONGEST_NAME])
        notes.append(
            f"what variants differ by goes together by more than chance in each {name}, so each "
            f"{name} counts once; --unit {kept} is for a verdict about these {name}s alone."
        )
        return FoundUnit(repeat, unit.place)
    if together or is_whose(header) or rows_go_together(beside_units(own, cells(unit.place)), ()):
        notes.append(f"what is said here is about these {name}s alone.")
        return unit._replace(alone=f"{name}s")
    return unit


def _over(finder: ColumnFinder, cells: ReadsCells, unit: int, notes: list[str]) -> FoundUnit:
    """The unit, or who has several of them and is the independent one."""
    name, alone = in_line(finder.table.headers[unit][:LONGEST_NAME]), ""
    for owner in _owners_of(finder, cells, unit):
        if not owner.sample:
            alone = f"{owner.column}s"
            notes.append(f"{owner.told}: what is said here is about these {alone} alone.")
            continue
        if not owner.crossing and owner.fewest < _TWO:
            notes.append(
                f"{owner.told}: what is of the variants and what of these nobody can tell."
            )
            continue
        finder.taken.add(owner.place)
        few = f"; there are {owner.fewest}, too few for a verdict about such" * (
            owner.fewest < ENOUGH
        )
        notes.append(
            f"{owner.told}, so each {owner.column} counts once{few}; --unit {name} is for a "
            f"verdict about these {name}s alone."
        )
        return FoundUnit(owner.place, unit)
    if doubt := sorted_doubt(name, cells(unit)):
        notes.append(doubt)
    return FoundUnit(unit, alone=alone)


_TWO: Final = 2


def _owners_of(finder: ColumnFinder, cells: ReadsCells, unit: int) -> list[_Owner]:
    """Columns of who has several units, the one of fewest values first.

    Where one has them all, nothing can be told of others, and nobody takes it for a sample.
    """
    found = []
    of_all, name = cells(unit), in_line(finder.table.headers[unit][:LONGEST_NAME])
    for place, header in enumerate(finder.table.headers):
        if place in finder.taken or not header:
            continue
        whose = is_whose(header) and plain(header) not in _TOPICS
        if not whose and not _may_group(finder, place):
            continue
        column, every = in_line(header[:LONGEST_NAME]), cells(place)
        known = [at for at, one in enumerate(every) if one.unit]
        if len(every) != len(of_all) or not known:
            continue
        own, units = [every[at] for at in known], [of_all[at] for at in known]
        rows = [(one.unit, one.variant) for one in own]
        if len({owner for owner, _ in rows}) < _TWO:
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
            if fewest < FEWEST_GROUPS or not pairs_go_together(own, units):
                continue
            told += ", and differences of one go together by more than chance"
        elif not whose:
            if not rows_go_together(beside_units(own, units), ()):
                continue
            told += ", and these go together by more than chance"
        if _has_blanks(finder, every, place, told=whose):
            continue
        sample = whose or not crossing or fewest >= ENOUGH
        found.append((len(set(rows)), _Owner(place, column, told, crossing, fewest, sample)))
    return [owner for _, owner in sorted(found)]


def _may_group(finder: ColumnFinder, place: int) -> bool:
    """Whether a column of no usual name can say what goes together: words, ids, or a numbering."""
    header = finder.table.headers[place]
    if not header or not may_group(header):
        return False
    if not _is_number(finder, place):
        return True
    return not less_is_better(header) and _numbers_groups(
        [unit_text(cell) for cell in finder.cells(place)]
    )


def _is_number(finder: ColumnFinder, place: int) -> bool:
    """Whether a column has numbers, and no ids by its name."""
    header = plain(finder.table.headers[place])
    return not header.endswith("_id") and is_metric(finder.cells(place))


def _numbers_groups(texts: Sequence[str]) -> bool:
    """Whether whole numbers may be those of groups: a few, each of which is there again."""
    values = set(texts)
    return FEWEST_GROUPS <= len(values) <= len(texts) / _TWO and all(
        text.isdecimal() and len(text) <= _DIGITS for text in values
    )


_DIGITS: Final = 8


def _is_divided(rows: Sequence[tuple[str, tuple[str, ...]]]) -> bool:
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


def _group(finder: ColumnFinder, cells: ReadsCells, unit: int) -> int:
    """Which free column rows, or units, of one variant go together by; -1 for none.

    It has some for each variant. Where its values are in several variants it is what these differ
    by that goes together. Of several columns it is the one of fewest values.
    """
    found = dict[int, int]()
    for place in range(len(finder.table.headers)):
        if place in finder.taken or not _may_group(finder, place):
            continue
        own = cells(place)
        if not all(one.unit for one in own):
            continue
        rows = [(one.unit, one.variant) for one in own]
        if pairs(rows) and _is_number(finder, place) and not _is_divided(rows):
            continue
        if len(set(rows)) * 2 <= len(rows) and rows_go_together(
            own, cells(unit) if unit >= 0 else ()
        ):
            found[place] = len(set(rows))
    if not found:
        _ask_for_days(finder, cells, unit)
    return min(found, key=lambda place: found[place], default=-1)


def _ask_for_days(finder: ColumnFinder, cells: ReadsCells, unit: int) -> None:
    """That rows of one day go together where moments are all there is of it: a mistake."""
    for place, header in enumerate(finder.table.headers):
        if place in finder.taken:
            continue
        own = cells(place)
        if not own or not all(_MOMENT.match(one.unit) for one in own):
            continue
        days = [one._replace(unit=one.unit[:_DAY]) for one in own]
        if rows_go_together(days, cells(unit) if unit >= 0 else (), tests=_FIVE):
            finder.say(
                None,
                header,
                "rows of one day go together by more than chance; make a column of the day (its "
                f"first {_DAY} characters), which then counts once for each, or say --unit none "
                "where rows of one day owe each other nothing",
            )


_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:")
_DAY: Final = 10
_FIVE: Final = 5
"""Times rarer by chance than a column that is taken, as somebody has to be asked."""


def _are_asked_all(own: Sequence[UnitCell]) -> bool:
    """Whether most of what was asked was asked of several variants."""
    several, requests = in_several((one.unit, one.variant) for one in own)
    return all(one.unit for one in own) and several * 2 >= requests and several > 0


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
                    unit_text(cells[at]),
                    value if isinstance(value, float) else None,
                )
            )
    return found


def _has_score(one: ForeignTable, table: ForeignTable, score: int) -> bool:
    return score >= 0 and table.headers[score] in one.headers
