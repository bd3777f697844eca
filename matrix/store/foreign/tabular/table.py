"""A table as a file has it, what its cells and columns are of, and how columns are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.model.errors import did_you_mean
from matrix.model.lines import in_line
from matrix.model.metrics import COUNTED
from matrix.store.foreign.results import (
    LONGEST_NAME,
    shown,
)
from matrix.store.foreign.tabular.currencies import Cell
from matrix.store.foreign.tabular.names import plain
from matrix.store.foreign.tabular.numbers import (
    is_percent,
    metric_of,
    number_of,
    words_among_numbers,
)


class ForeignTable(NamedTuple):
    """A table as a file has it.

    Attributes:
        source: The file.
        stem: Its name without folder and ending.
        form: What it is, in words.
        headers: Names of its columns.
        rows: Line (or number) of each row, and its cells, one for each header.
        currencies: Place of a column -> what its amounts are in, where that is told.
        mixed: Place of a column -> the several currencies of its amounts.
        commas: Places of columns whose numbers had a decimal comma.
        reader: What of pandas reads it.
        reading: What that is told: arguments, each after a comma.
    """

    source: str
    stem: str
    form: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[int, Sequence[Cell]]]
    currencies: Mapping[int, str] = {}
    mixed: Mapping[int, str] = {}
    commas: tuple[int, ...] = ()
    reader: str = "read_csv"
    reading: str = ""


YES_OR_NO: Final = 2
"""Values of what is one or the other."""

RESERVED: Final = COUNTED | {"score"}
"""Names that a run's own metrics have."""


def cell_text(cell: Cell) -> str:
    """A cell as text: of names, units and words."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # 3.0, as other programs write the 3 of a column with gaps
    return "" if cell is None else str(cell).strip()


def metric_name(header: str) -> str:
    """What a metric of this column is called: a run has metrics of its own."""
    name = in_line(header.strip()[:LONGEST_NAME])
    return f"{name}_in_file" if name in RESERVED else name


def unit_text(cell: Cell) -> str:
    """What a unit is called: a number is the same with ``.0``, which stands beside blanks."""
    text = cell_text(cell)
    whole = text.removesuffix(".0")
    return whole if whole.isdecimal() else text


def listed(headers: Sequence[str]) -> str:
    """The first thirty names, and how many more there are."""
    names = [in_line(header[:LONGEST_NAME]) for header in headers[:30]]
    return ", ".join(names) + (f" and {len(headers) - 30} more" if len(headers) > 30 else "")


def is_numeric(cells: Iterable[Cell], *, words: bool = False, percent: bool = False) -> bool:
    """Whether all cells that have a value have a number, and some have one."""
    some = False
    for cell in cells:
        found = number_of(cell, words=words, percent=percent)
        if isinstance(found, str):
            return False
        some = some or found is not None
    return some


def is_metric(cells: Iterable[Cell]) -> bool:
    """Whether all cells that have a value are a number, or yes or no, and some have one."""
    some = False
    for cell in cells:
        found = metric_of(cell)
        if isinstance(found, str):
            return False
        some = some or found is not None
    return some


def why_no_metric(cells: Sequence[Cell]) -> str:
    """What keeps a column of mostly numbers from being a metric, in words; empty for others."""
    found = [metric_of(cell) for cell in cells]
    odd = [at for at, one in enumerate(found) if isinstance(one, str)]
    if odd and len(odd) < sum(isinstance(one, float) for one in found):
        of = "cell is no number" if len(odd) == 1 else "cells are no numbers"
        return f"{len(odd):,} {of}, such as {shown(cell_text(cells[odd[0]]))}"
    word = "" if odd else words_among_numbers(cells)
    return f"has words such as {shown(word)} beside other numbers than 0 and 1" if word else ""


def is_yes_or_no(cells: Iterable[Cell]) -> bool:
    """Whether all cells that have a value are 1 or 0, in numbers or words, and some have one."""
    found = {number_of(cell, words=True) for cell in cells} - {None}
    return bool(found) and found <= {0.0, 1.0}


def percents_in(table: ForeignTable, place: int) -> int:
    """Cells of a column with a percent sign."""
    return sum(is_percent(cells[place]) for _, cells in table.rows)


def numbers_in(table: ForeignTable, place: int) -> int:
    """Cells of a column that have a number; 0 has the same value either way."""
    found = (number_of(cells[place], words=True, percent=True) for _, cells in table.rows)
    return sum(isinstance(one, float) and one != 0 for one in found)


def blanks_in(table: ForeignTable, place: int) -> int:
    """Rows without a value in a column."""
    return sum(number_of(cells[place]) is None for _, cells in table.rows) if place >= 0 else 0


class ColumnFinder:
    """Columns of one table that are not taken yet.

    Args:
        table: The table.
        say: What is told of a mistake: line, column, words.
        others: All tables that are read with it: a column that all have goes before others.
    """

    def __init__(
        self,
        table: ForeignTable,
        say: Callable[[int | None, str, str], None],
        others: Sequence[ForeignTable] = (),
    ) -> None:
        self.table, self.say = table, say
        self.taken: set[int] = set()
        self._in_all = {
            header for header in table.headers if all(header in one.headers for one in others)
        }

    def named(self, flag: str, name: str) -> int:
        """The column that the user names; -1 where there is none, which is told."""
        headers = self.table.headers
        exact = [place for place, header in enumerate(headers) if header == name]
        alike = [place for place, header in enumerate(headers) if plain(header) == plain(name)]
        for place in exact or alike[:1]:
            if place in self.taken:
                self.say(None, flag, f"{name!r} is taken for something else already")
                return -1
            self.taken.add(place)
            return place
        hint = did_you_mean(name, list(headers))
        self.say(None, flag, f"found {name!r}; the columns are {listed(headers)}{hint}")
        return -1

    def usual(self, names: Sequence[str], fits: Callable[[int], bool] = lambda _: True) -> int:
        """The first free column of one of these names, of those that all tables have if any is."""
        for in_all in (True, False):
            free = {
                plain(header): place
                for place, header in reversed(list(enumerate(self.table.headers)))
                if place not in self.taken and (header in self._in_all) == in_all
            }
            for name in names:
                place = free.get(name, -1)
                if place >= 0 and fits(place):
                    self.taken.add(place)
                    return place
        return -1

    def all(self, names: Sequence[str], fits: Callable[[int], bool]) -> tuple[int, ...]:
        """All free columns of these names."""
        found = [place for one in names if (place := self.usual((one,), fits)) >= 0]
        return tuple(sorted(found))

    def cells(self, place: int) -> Iterable[Cell]:
        return (cells[place] for _, cells in self.table.rows)
