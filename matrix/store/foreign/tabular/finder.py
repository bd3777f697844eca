"""Finding columns of a table by name, each for one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from matrix.model.errors import did_you_mean
from matrix.store.foreign.tabular.currencies import Cell
from matrix.store.foreign.tabular.names import plain
from matrix.store.foreign.tabular.table import ForeignTable, listed


class ColumnFinder:
    """Columns of one table that are not taken yet."""

    def __init__(self, table: ForeignTable, say: Callable[[int | None, str, str], None]) -> None:
        self.table, self.say = table, say
        self.taken: set[int] = set()

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
        """The first free column of one of these names; -1 for none."""
        free = {
            plain(header): place
            for place, header in reversed(list(enumerate(self.table.headers)))
            if place not in self.taken
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
