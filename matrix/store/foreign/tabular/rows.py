"""Results from the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matrix.model.lines import in_line
from matrix.store.foreign.results import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_LEVELS,
    ForeignRow,
    RowFaults,
    shown,
)
from matrix.store.foreign.tabular.columns import Columns
from matrix.store.foreign.tabular.currencies import Cell
from matrix.store.foreign.tabular.ends import Ends
from matrix.store.foreign.tabular.names import (
    ERROR,
)
from matrix.store.foreign.tabular.numbers import (
    metric_of,
    number_of,
    words_among_numbers,
)
from matrix.store.foreign.tabular.statuses import meaning_of
from matrix.store.foreign.tabular.table import (
    ForeignTable,
    cell_text,
    metric_name,
    numbers_in,
    percents_in,
    unit_text,
)

MOST_AMOUNT: Final = 1e9
"""Dollars, seconds or tokens of one result."""


def rows_of(table: ForeignTable, roles: Columns, faults: RowFaults, ends: Ends) -> list[ForeignRow]:
    """The results, without those that a status says are none yet."""
    headers, rows = table.headers, []
    names_of = _Names(faults)
    names = {place: metric_name(headers[place]) for place in roles.metrics}
    for line, cells in table.rows:
        if not ends.there(cells):
            continue
        levels = tuple(
            names_of.checked(cells[place], line, headers[place]) for place in roles.variants
        )
        scenario = ""
        if roles.scenario >= 0:
            scenario = names_of.checked(cells[roles.scenario], line, headers[roles.scenario])
        unit = _unit(cells, roles.unit, line, headers, faults)
        score = _sound(ends.score_of(cells), line, headers[roles.score], faults)
        numbers = {place: metric_of(cells[place]) for place in roles.metrics}
        rows.append(
            ForeignRow(
                where=f"{table.source}:{line}",
                unit=unit,
                levels=levels or (table.stem,),
                scenario=scenario,
                repeat=cell_text(cells[roles.repeat]) if roles.repeat >= 0 else "",
                score=score,
                error=_error(cells, roles.error) or ends.wrong(cells),
                cost_usd=_amount(cells, roles.cost, line, headers, faults),
                duration_s=_amount(cells, roles.duration[0], line, headers, faults)
                * roles.duration[1],
                tokens_in=int(_amount(cells, roles.tokens[0], line, headers, faults)),
                tokens_out=int(_amount(cells, roles.tokens[1], line, headers, faults)),
                metrics={names[at]: one for at, one in numbers.items() if isinstance(one, float)},
                said=tuple(
                    (who, cell_text(cells[place])[:LONGEST_TEXT]) for who, place in roles.said
                ),
            )
        )
    scores = [cells[roles.score] for _, cells in table.rows]
    if word := words_among_numbers(scores):
        told = f"has words such as {shown(word)} beside numbers other than 0 and 1; write numbers, "
        faults.say(None, headers[roles.score], f"{told}or leave cells without a score empty")
    for place in (roles.score, *roles.metrics):
        if 0 < percents_in(table, place) < numbers_in(table, place):
            told = "has a percent sign in some cells and none in others; write all of them alike"
            faults.say(None, headers[place], told)
    for place in roles.variants if roles.scenario < 0 else (*roles.variants, roles.scenario):
        if len({cell_text(cells[place]) for _, cells in table.rows}) > MOST_LEVELS:
            told = f"has more than {MOST_LEVELS} different values; name the right column"
            faults.say(None, headers[place], told)
    return rows


class _Names:
    """Names of variants and scenarios: few, in many rows."""

    def __init__(self, faults: RowFaults) -> None:
        self._faults, self._sound = faults, set[str]()

    def checked(self, cell: Cell, line: int, header: str) -> str:
        """The name in a cell; what is wrong with it is told for every row."""
        text = cell_text(cell)
        if text in self._sound:
            return text
        if not text:
            self._faults.say(line, header, "is empty; every row has one")
        elif len(text) > LONGEST_NAME or in_line(text) != text:
            told = f"found {shown(text)}; a name is one line of at most {LONGEST_NAME} characters"
            self._faults.say(line, header, told)
        else:
            self._sound.add(text)
        return text


def _unit(
    cells: Sequence[Cell], place: int, line: int, headers: Sequence[str], faults: RowFaults
) -> str:
    if place < 0:
        return ""
    text = unit_text(cells[place])
    if not text:
        faults.say(line, headers[place], "is empty; every row says which unit it is of")
    return text


def _error(cells: Sequence[Cell], place: int) -> str:
    text = cell_text(cells[place]) if place >= 0 else ""
    return "" if meaning_of(text, ERROR[0]) == "fine" else text


def _sound(found: float | str | None, line: int, header: str, faults: RowFaults) -> float | None:
    if isinstance(found, str):
        faults.say(line, header, found)
        return None
    return found


def _amount(
    cells: Sequence[Cell], place: int, line: int, headers: Sequence[str], faults: RowFaults
) -> float:
    """What is never negative."""
    if place < 0:
        return 0.0
    found = _sound(number_of(cells[place]), line, headers[place], faults) or 0.0
    if not 0 <= found <= MOST_AMOUNT:
        faults.say(line, headers[place], f"found {found:g}; must be from 0 to {MOST_AMOUNT:g}")
        return 0.0
    return found
