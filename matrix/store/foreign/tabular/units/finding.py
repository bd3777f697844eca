"""Which column of tables says what rows belong together: by its name, and by what it does."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from matrix.model.lines import in_line
from matrix.store.foreign.results import LONGEST_NAME, NONE, groups, in_several, shown
from matrix.store.foreign.tabular.doubts import sorted_doubt
from matrix.store.foreign.tabular.names import (
    COUNTERS,
    REQUESTS,
    UNIT,
    is_whose,
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
from matrix.store.foreign.tabular.units.belonging import (
    UnitCell,
    counts_rows,
    numbers_scores,
    pairs,
    spelt_otherwise,
)
from matrix.store.foreign.tabular.units.going_together import (
    ENOUGH,
    beside_units,
    repeats_go_together,
    rows_go_together,
)
from matrix.store.foreign.tabular.units.owners import (
    TWO,
    ReadsCells,
    is_divided,
    is_number,
    may_group_by,
    owner_beside,
    owners_of,
    unshown,
)


class FoundUnit(NamedTuple):
    """The column of units, and the one whose values a unit has several of; -1 for none.

    ``alone`` is what a verdict is about alone, such as the units; empty where it is about others
    like them, too.
    """

    place: int
    within: int = -1
    alone: str = ""


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
        unit = _finer(finder, cells, unit)
        _ask_where_disputed(finder, cells, unit)
        return _over(finder, cells, unit, notes, why_left)
    if (asked := finder.usual(REQUESTS, lambda place: _are_asked_all(cells(place)))) >= 0:
        _set_aside(finder, tried, why_left)
        return _over(finder, cells, asked, notes, why_left)
    tried.clear()
    unit = finder.usual(UNIT, groups_rows)
    owner = owner_beside(finder, cells, unit)
    _set_aside(finder, tried if owner >= 0 else tried[:-1], why_left)
    if owner >= 0:
        finder.taken.add(owner)
        unit = owner
    group = _group(finder, cells, unit, why_left)
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
        owners = owners_of(finder, cells, unit)
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


def _over(
    finder: ColumnFinder,
    cells: ReadsCells,
    unit: int,
    notes: list[str],
    why_left: dict[int, str],
) -> FoundUnit:
    """The unit, or who has several of them and is the independent one."""
    name, alone = in_line(finder.table.headers[unit][:LONGEST_NAME]), ""
    for owner in owners_of(finder, cells, unit, why_left):
        if not owner.sample:
            alone = f"{owner.column}s"
            notes.append(f"{owner.told}: what is said here is about these {alone} alone.")
            continue
        if not owner.crossing and owner.fewest < TWO:
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


def _group(finder: ColumnFinder, cells: ReadsCells, unit: int, why_left: dict[int, str]) -> int:
    """Which free column rows, or units, of one variant go together by; -1 for none.

    It has some for each variant. Where its values are in several variants it is what these differ
    by that goes together. Of several columns it is the one of fewest values.
    """
    found = dict[int, int]()
    for place in range(len(finder.table.headers)):
        if place in finder.taken or not may_group_by(finder, place):
            continue
        own = cells(place)
        if not all(one.unit for one in own):
            continue
        rows = [(one.unit, one.variant) for one in own]
        if pairs(rows) and is_number(finder, place) and not is_divided(rows):
            continue
        if len(set(rows)) * 2 > len(rows):
            continue
        if rows_go_together(own, cells(unit) if unit >= 0 else ()):
            found[place] = len(set(rows))
        elif len({value for value, _ in rows}) >= TWO:
            why_left.setdefault(place, unshown(finder, place))
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


_ASKED: Final = frozenset({*UNIT, *REQUESTS})


def _finer(finder: ColumnFinder, cells: ReadsCells, unit: int) -> int:
    """What was asked, in place of a unit that has several of it: kinds of tasks, with their texts.

    It has one row of each variant, and most of it is in several variants.
    """
    own = [(one.unit, one.variant) for one in cells(unit)]
    if len(set(own)) == len(own):
        return unit
    for place, header in enumerate(finder.table.headers):
        if place in finder.taken or plain(header) not in _ASKED:
            continue
        rows = [(one.unit, one.variant) for one in cells(place)]
        if len(rows) == len(own) == len(set(rows)) and _are_asked_all(cells(place)):
            finder.taken.discard(unit)
            finder.taken.add(place)
            return place
    return unit


def _ask_where_disputed(finder: ColumnFinder, cells: ReadsCells, unit: int) -> None:
    """That texts pair rows otherwise than numbers do, which may only count them: a mistake.

    Where each variant has one text for a number and one number for a text, and most of both are in
    several variants, but most numbers have other texts in each.
    """
    own = cells(unit)
    if not all(one.unit.isdecimal() for one in own):
        return
    for place, header in enumerate(finder.table.headers):
        if place in finder.taken or not header or is_number(finder, place):
            continue
        texts = cells(place)
        if len(texts) != len(own) or not all(one.unit for one in texts):
            continue
        places = {
            (number.unit, text.unit, number.variant)
            for number, text in zip(own, texts, strict=True)
        }
        by_text = [(text, variant) for _, text, variant in places]
        by_number = [(number, variant) for number, _, variant in places]
        if len({*by_text}) < len(places) or len({*by_number}) < len(places):
            continue
        several, every = in_several(by_text)
        texts_of = defaultdict[str, set[str]](set)
        for number, text, _ in sorted(places):
            texts_of[number].add(text)
        unlike = {number: found for number, found in texts_of.items() if len(found) > 1}
        if several * 2 < every or len(unlike) * 2 < in_several(by_number)[0] or not unlike:
            continue
        number, (first, second, *_) = next((key, sorted(found)) for key, found in unlike.items())
        name, column = (in_line(one[:LONGEST_NAME]) for one in (finder.table.headers[unit], header))
        finder.say(
            None,
            finder.table.headers[unit],
            f"{shown(number)} has the {column} {shown(first)} in one variant and {shown(second)} "
            f"in another, and most others are like that; say --unit {column}, or --unit {name} if "
            "that says which rows belong together",
        )


_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:")
_DAY: Final = 10
_FIVE: Final = 5
"""Times rarer by chance than a column that is taken, as somebody has to be asked."""


def _are_asked_all(own: Sequence[UnitCell]) -> bool:
    """Whether most of what was asked was asked of several variants."""
    several, requests = in_several((one.unit, one.variant) for one in own)
    return all(one.unit for one in own) and several * 2 >= requests and several > 0


def _set_aside(finder: ColumnFinder, places: Iterable[int], why_left: dict[int, str]) -> None:
    for place in places:
        if is_metric(finder.cells(place)):
            finder.taken.add(place)  # a number of a row is none
        why_left[place] = " (no value of it is in two variants)"


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
