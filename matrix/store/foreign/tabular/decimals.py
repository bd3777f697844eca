"""Decimal commas, as spreadsheets of many countries write them: 0,5 for 0.5."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from matrix.store.foreign.tabular.currencies import TEXTS, Cell, amount_of
from matrix.store.foreign.tabular.names import MISSING, plain
from matrix.store.foreign.tabular.numbers import number_of

_COMMA: Final = re.compile(r"([^\d.,]{0,8}\d{1,40}),(\d{1,40}[^.,]{0,12})")
_THOUSANDS: Final = re.compile(r"[^\d.,]{0,8}[1-9]\d{0,2},\d{3}[^\d.,]{0,8}")
"""What may as well have a comma between thousands: 1,250."""
_POINTS: Final = re.compile(r"[^\d.,]{0,8}[1-9]\d{0,2}(?:\.\d{3}){1,12}[^\d.,]{0,8}")
"""What has points between thousands where decimals have commas: 1.250."""


def take_commas(
    headers: Sequence[str], rows: Sequence[tuple[int, list[Cell]]]
) -> tuple[tuple[int, ...], Sequence[tuple[int, str]]]:
    """Write points where all numbers of a column that have a comma have one, and none a point.

    Nothing is done where all that have one may be thousands.

    Args:
        headers: Names of the columns.
        rows: Line of each row and its cells, which are changed.

    Returns:
        Places of such columns; and of columns that then may have points between thousands, each
        with a cell that has.
    """
    found = {
        place: column
        for place, header in enumerate(headers)
        if plain(header) not in TEXTS
        if (column := _with_commas(rows, place))
    }
    if all(_THOUSANDS.fullmatch(cell) for column in found.values() for _, cell in column):
        return (), ()
    for place, column in found.items():
        for at, cell in column:
            rows[at][1][place] = _pointed(cell)
    return tuple(found), tuple(_of_thousands(headers, rows, found))


def _with_commas(rows: Sequence[tuple[int, list[Cell]]], place: int) -> list[tuple[int, str]]:
    """Numbers of a column with a comma, and in which rows; none where one is no such number."""
    column = [(at, str(cells[place]).strip()) for at, (_, cells) in enumerate(rows)]
    commas = [(at, cell) for at, cell in column if "," in cell]
    if not commas or not all(_is_number(_pointed(cell)) for _, cell in commas):
        return []
    others = [cell for _, cell in column if "," not in cell and cell.casefold() not in MISSING]
    plain_ones = [cell for cell in others if _is_number(cell)]
    if any("." in cell for cell in plain_ones) or len(column) < 2 * (len(others) - len(plain_ones)):
        return []
    return commas


def mixed_thousands(
    headers: Sequence[str], rows: Sequence[tuple[int, list[Cell]]]
) -> Iterator[tuple[int, str]]:
    """Places of columns of whole numbers among which 1.250 may be as large as 1250, and a cell.

    All that have a point have three digits after it, and most others have three of their own.
    """
    for place, cell in _of_thousands(headers, rows, {}):
        column = (str(cells[place]).strip() for _, cells in rows)
        whole = [one for one in column if one.casefold() not in MISSING and "." not in one]
        large = [one for one in whole if sum(map(str.isdecimal, one)) >= _THREE]
        if whole and 2 * len(large) > len(whole):
            yield place, cell


_THREE: Final = 3


def _of_thousands(
    headers: Sequence[str], rows: Sequence[tuple[int, list[Cell]]], commas: dict[int, Any]
) -> Iterator[tuple[int, str]]:
    for place, header in enumerate(headers):
        if place in commas or plain(header) in TEXTS:
            continue
        column = [str(cells[place]).strip() for _, cells in rows]
        numbers = [cell for cell in column if cell.casefold() not in MISSING]
        points = [cell for cell in numbers if "." in cell]
        if points and all(map(_is_number, numbers)) and all(map(_POINTS.fullmatch, points)):
            yield place, points[0]


def _pointed(cell: str) -> str:
    found = _COMMA.fullmatch(cell)
    return cell if found is None else f"{found[1]}.{found[2]}"


def _is_number(cell: str) -> bool:
    return isinstance(number_of(cell, percent=True), float) or amount_of(cell) is not None
