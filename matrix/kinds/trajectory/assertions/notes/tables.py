"""Evidence in a table: a row is an item with all its cells, whichever cell says its direction.

A direction comes from a column that is one by its head, else from a column whose cells are nearly
all directions, else from a column for each way; where none is, from the heading above. Words of a
sentence are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.kinds.trajectory.assertions.notes.directions import (
    AGAINST_SIGNS,
    HeadWay,
    Way,
    of_cell,
    of_head,
    stated,
)
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import STRUCK, bare, cells_of, is_rule
from matrix.kinds.trajectory.assertions.notes.nothing import says_nothing


class TableRow(NamedTuple):
    """A row of a table: its cells without marks, and which way it speaks; or that none says it."""

    cells: tuple[str, ...]
    against: bool | None


_TICK: Final = re.compile(
    r"[\u2713\u2714\u2611\u2705\U0001f44d\u2022\u25cf+xXyY]|yes|true|\[[xX]\]", re.IGNORECASE
)
_CROSS: Final = re.compile(r"[\u2717\u2718\u274c\u2612nN]|no|false", re.IGNORECASE)
_TOTAL: Final = re.compile(r"(?:sub)?totals?|sum|counts?|overall|in all|average|mean|net")
_OF_WHOM: Final = frozenset(
    ["who", "name", "person", "people", "stakeholder", "role", "team", "voter"]
)
_BESIDE: Final = _OF_WHOM | frozenset(
    [
        *("date", "when", "day", "week", "month", "added", "updated", "source", "sources", "link"),
        *("links", "where from", "from", "ref", "reference", "file", "id", "#", "", "no", "nr"),
        *("provenance", "weight", "confidence", "strength", "quality", "type", "kind", "owner"),
        *("by", "interview", "status", "origin", "where", "nr.", "no."),
    ]
)
"""Heads of columns that are no words of a row's own."""
_MOST: Final = 0.75
"""Share of cells from which on a column is one of directions."""


class _Columns(NamedTuple):
    """What the columns of a table are for.

    Attributes:
        each: The one whose cells say the direction; ``None`` if there is none.
        sided: Those whose direction is their head's.
        content: Those of a row's own words.
        signs: Whether ``each`` has signs in it.
    """

    each: int | None
    sided: Mapping[int, bool]
    content: tuple[int, ...]
    signs: bool


def rows_of(
    lines: Sequence[str], way: Way, layout: Layout, leads: Callable[[str], bool]
) -> Iterator[TableRow]:
    """The rows of a table that are evidence, and those of which no direction can be read.

    Args:
        lines: The table's lines.
        way: What the heading above it says.
        layout: Words of the notebook.
        leads: Whether a cell names a source.
    """
    if way == "neither":
        return
    table = [[cell.strip() for cell in cells_of(line)] for line in lines]
    ruled = len(table) > 1 and is_rule(table[1])
    heads, body = table[0], table[2:] if ruled else table[1:]
    named = [of_head(head, layout) for head in heads]
    columns = _columns(heads, named, body, way, layout)
    if columns is None or _is_of_people(heads, columns, body):
        return
    for cells in body:
        sourced = any(map(leads, cells))
        if columns.sided:
            yield from _sided(cells, heads, columns, sourced, layout)
        elif (row := _row(cells, columns, way, sourced, layout)) is not None:
            yield row


def _columns(
    heads: Sequence[str],
    named: Sequence[HeadWay],
    body: Sequence[Sequence[str]],
    way: bool | None,
    layout: Layout,
) -> _Columns | None:
    """What columns are for; ``None`` if they are of evidence that would be some."""
    sided = {at: one for at, one in enumerate(named) if isinstance(one, bool)}
    each = next((at for at, one in enumerate(named) if one == "each"), None)
    if each is None and not (sided and (way is None or len(set(sided.values())) > 1)):
        if way is None and "neither" in named:
            return None
        each = next((at for at in range(len(heads)) if _is_of_ways(at, body, layout)), None)
        sided = {}
    elif each is not None:
        sided = {}
    signs = each is not None and (
        "+" in heads[each] or "\u00b1" in heads[each] or any("+" in _at(r, each) for r in body)
    )
    own = [at for at in range(len(heads)) if at != each and at not in sided]
    content = [at for at in own if bare(heads[at]) not in _BESIDE]
    return _Columns(each, sided, tuple(content or own), signs)


def _is_of_ways(at: int, body: Sequence[Sequence[str]], layout: Layout) -> bool:
    """Whether nearly all cells of a column are directions."""
    said = [cell for cells in body if (cell := _at(cells, at)).strip(" -\u2013\u2014")]
    plus = any(_bare_mark(cell) in ("+", "++") for cell in said)
    plus = plus or any(_bare_mark(cell) in AGAINST_SIGNS for cell in said)
    ways = [of_cell(cell, layout, signs=plus) for cell in said if plus or not _is_mark(cell)]
    told = [one for one in ways if one is not None]
    return any(isinstance(one, bool) for one in told) and len(told) >= _MOST * len(said)


def has_ways(lines: Sequence[str], layout: Layout) -> str:
    """A row whose cell says a direction, in a table of which no column is read as one; or empty.

    Args:
        lines: The table's lines.
        layout: Words of the notebook.
    """
    table = [[cell.strip() for cell in cells_of(line)] for line in lines]
    body = table[2:] if len(table) > 1 and is_rule(table[1]) else table[1:]
    for at in range(1, len(table[0])):
        told = [row for row in body if isinstance(of_cell(_at(row, at), layout, signs=False), bool)]
        if 2 * len(told) >= len(body):
            return " | ".join(_told(told[0], ()))
    return ""


def _is_of_people(heads: Sequence[str], columns: _Columns, body: Sequence[Sequence[str]]) -> bool:
    """Whether rows say who stands where, without what was seen or where it is said."""
    names = {bare(heads[at]) for at in columns.content}
    if not names & _OF_WHOM or not names <= _BESIDE:
        return False
    said = [_at(cells, at) for cells in body for at in columns.sided]
    marked = columns.each is not None or (bool(said) and all(map(_is_mark_or_dash, said)))
    return marked and not any("](" in cell or "/" in cell for cells in body for cell in cells)


def _row(
    cells: Sequence[str], columns: _Columns, way: bool | None, sourced: bool, layout: Layout
) -> TableRow | None:
    if _is_none([_at(cells, at) for at in columns.content], sourced=sourced):
        return None
    cell = "" if columns.each is None else _at(cells, columns.each)
    said = of_cell(cell, layout, signs=columns.signs) if cell else None
    if said == "neither" or (said is None and way is None and _is_dash(cell)):
        return None
    return TableRow(_told(cells, ()), said if said is not None else way)


def _sided(
    cells: Sequence[str],
    heads: Sequence[str],
    columns: _Columns,
    sourced: bool,
    layout: Layout,
) -> Iterator[TableRow]:
    """The rows of one that has a column for each way: one for each cell that says something."""
    marks = {at: _bare_mark(_at(cells, at)) for at in columns.sided}
    ticked = any(_TICK.fullmatch(mark) for mark in marks.values())
    own = [_at(cells, at) for at in columns.content]
    owners = _owners(heads, columns)
    for at, against in columns.sided.items():
        cell = marks[at]
        told = stated(cell, layout) if cell else None
        if told == "neither" or _is_dash(cell):
            continue
        if _is_mark(cell) or told is not None:
            denied = _CROSS.fullmatch(cell) is not None and (ticked or cell.isalpha())
            if denied or _is_none(own, sourced=sourced):
                continue
        elif _is_none([cell], sourced=False):
            continue
        left = {other for other, way in columns.sided.items() if way is not against}
        left |= {place for place, owner in owners.items() if owner in left}
        yield TableRow(_told(cells, left), against if told is None else told)


def _owners(heads: Sequence[str], columns: _Columns) -> dict[int, int]:
    """Columns that there are several of by one name -> the column of a way that each follows."""
    names, owners, last = [bare(head) for head in heads], dict[int, int](), -1
    for at, name in enumerate(names):
        if at in columns.sided:
            last = at
        elif last >= 0 and names.count(name) > 1:
            owners[at] = last
    return owners


def _at(cells: Sequence[str], at: int) -> str:
    return cells[at] if at < len(cells) else ""


def _told(cells: Sequence[str], left: Collection[int]) -> tuple[str, ...]:
    """The cells that say something, without marks and without those of the other way."""
    kept = (cell for at, cell in enumerate(cells) if at not in left)
    return tuple(cell for cell in kept if cell and not _is_mark(_bare_mark(cell)))


def _is_none(own: Sequence[str], *, sourced: bool) -> bool:
    """Whether the first of a row's own cells that has words says that there is nothing."""
    said = [one for cell in own if (one := STRUCK.sub("", cell).strip()) and not _is_dash(one)]
    if not said or _TOTAL.fullmatch(bare(said[0])):
        return True
    return says_nothing(said[0]) and not sourced


def _bare_mark(cell: str) -> str:
    return cell.strip("*`_ \ufe0f")


def _is_mark(cell: str) -> bool:
    return (_TICK.fullmatch(cell) or _CROSS.fullmatch(cell)) is not None


def _is_dash(cell: str) -> bool:
    return not cell.strip("-\u2013\u2014\u2212*_` ")


def _is_mark_or_dash(cell: str) -> bool:
    return _is_dash(cell) or _is_mark(_bare_mark(cell))
