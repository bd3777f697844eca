"""Amounts of money with the sign of their currency: what is in dollars, and what is in another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.model.metrics import less_is_better
from matrix.store.foreign.results import shown
from matrix.store.foreign.tabular.names import (
    ANSWERED,
    ASKED,
    COST,
    CURRENCY,
    MISSING,
    UNIT,
    VARIANT,
    plain,
)

Cell = str | int | float | bool | None
DOLLARS: Final = "USD"
_BY_SIGN: Final = {
    "$": DOLLARS, "us$": DOLLARS, "usd": DOLLARS, "dollar": DOLLARS, "dollars": DOLLARS,
    "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR", "£": "GBP", "gbp": "GBP",
    "¥": "JPY", "jpy": "JPY", "chf": "CHF", "cny": "CNY", "₹": "INR", "inr": "INR",
}  # fmt: skip
_AMOUNT: Final = re.compile(
    r"(?P<before>[^\d\s.+-]{0,8})\s{0,8}"
    r"(?P<number>[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,4})?)"
    r"\s{0,8}(?P<after>[^\d\s.+-]{0,8})"
)
_LONGEST: Final = 60
_NONE: Final = "no currency"
TEXTS: Final = frozenset({*UNIT, *VARIANT, *ASKED, *ANSWERED})
"""Columns whose cells are no amounts, whatever they look like."""


class Amounts(NamedTuple):
    """Rows whose amounts are plain numbers.

    Attributes:
        rows: The rows.
        currencies: Place of a column -> what its amounts are in, by their sign or its name.
        mixed: Place of a column -> the several currencies it has; these are left as they are.
    """

    rows: Sequence[tuple[int, Sequence[Cell]]]
    currencies: Mapping[int, str]
    mixed: Mapping[int, str]


def amounts_in(headers: Sequence[str], rows: Sequence[tuple[int, Sequence[Cell]]]) -> Amounts:
    """Take the signs of currencies off amounts, and remember them."""
    currencies, mixed = dict[int, str](), dict[int, str]()
    read = dict[int, list[float | None]]()
    beside = _said_beside(headers, rows)
    for place, header in enumerate(headers):
        named = next((_BY_SIGN[one] for one in plain(header).split("_") if one in _BY_SIGN), "")
        if named:
            currencies[place] = named
        elif beside and plain(header) in COST:
            if len(beside) > 1:
                mixed[place] = " and ".join(beside)
                continue
            currencies[place] = beside[0]
        if plain(header) in TEXTS or not _has_sign(cells[place] for _, cells in rows):
            continue
        found = [amount_of(cells[place]) for _, cells in rows]
        if not less_is_better(header) and any(
            one is None and not _is_missing(cells[place])
            for one, (_, cells) in zip(found, rows, strict=True)
        ):
            continue  # a text that begins with an amount
        signs = {one[1] for one in found if one is not None}
        if len(signs) > 1 and signs != {DOLLARS, _NONE}:
            mixed[place] = " and ".join(sorted(signs))
            continue
        currencies[place] = next(one for one in signs if one != _NONE)
        read[place] = [None if one is None else one[0] for one in found]
    if not read:
        return Amounts(rows, currencies, mixed)
    made: list[tuple[int, Sequence[Cell]]] = []
    for at, (line, cells) in enumerate(rows):
        own = list(cells)
        for place, values in read.items():
            if (value := values[at]) is not None:
                own[place] = value
        made.append((line, own))
    return Amounts(made, currencies, mixed)


def _said_beside(
    headers: Sequence[str], rows: Sequence[tuple[int, Sequence[Cell]]]
) -> Sequence[str]:
    """The currencies that a column of them has."""
    found = set[str]()
    for place, header in enumerate(headers):
        if plain(header) in CURRENCY:
            texts = {
                str(cells[place]).strip() for _, cells in rows if not _is_missing(cells[place])
            }
            found |= {_BY_SIGN.get(one.casefold(), shown(one.upper(), 8)[1:-1]) for one in texts}
    return sorted(found)


def _has_sign(cells: Iterable[Cell]) -> bool:
    """Whether the first cells of a column that have a value have an amount with a sign."""
    seen = 0
    for cell in cells:
        if _is_missing(cell):
            continue
        if (found := amount_of(cell)) is not None and found[1] != _NONE:
            return True
        seen += 1
        if seen >= _LOOKED_AT:
            return False
    return False


_LOOKED_AT: Final = 100


def _is_missing(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip().casefold() in MISSING)


def amount_of(cell: Cell) -> tuple[float, str] | None:
    """A cell's number and its currency; ``None`` for any other text, or nothing."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, int | float):
        return float(cell), _NONE
    text = cell.strip()
    if len(text) > _LONGEST or (found := _AMOUNT.fullmatch(text)) is None:
        return None
    sign = f"{found['before']}{found['after']}".casefold()
    if sign and sign not in _BY_SIGN:
        return None
    return float(found["number"]), _BY_SIGN[sign] if sign else _NONE
