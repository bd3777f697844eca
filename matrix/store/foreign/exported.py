"""Results of our own runs, as ``matrix export --to csv`` writes them: read back as they were.

A row is a session, a unit a round. A column ``variant.NAME`` has the levels of a factor, columns
of no known name have scores, and the first row says in ``matrix`` what the run was
(:class:`~matrix.model.exported.ExportedFacts`). Whoever has such a file may have changed it, so
all of it is checked as a stranger's is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from matrix.model.errors import BadInput
from matrix.model.exported import MOST_CHANGES, ExportedFacts, other_options, unlike
from matrix.model.lines import formula_again, in_line, no_formula
from matrix.model.metrics import FAILED
from matrix.model.records import OUTCOMES, Outcome
from matrix.store.foreign.results import (
    LONGEST_NAME,
    MOST_LEVELS,
    ForeignResults,
    ForeignRow,
    RowFaults,
    shown,
)
from matrix.store.foreign.tabular.currencies import Cell
from matrix.store.foreign.tabular.numbers import number_of
from matrix.store.foreign.tabular.table import ForeignTable

FACTS: Final = "matrix"
VARIANT: Final = "variant."
_SCORE: Final = "score."
FIXED: Final = (
    "unit", "scenario", "repeat", "outcome", "error_class", "score", "cost_usd", "duration_s",
    "turns", "calls", "tokens_in", "tokens_out", "end_reason", "session_id", "simulated", FACTS,
)  # fmt: skip
"""Columns that are no score but the first one's, and no level of a factor."""
_NEEDED: Final = ("unit", "scenario", "outcome", "score")
_MOST_UNITS: Final = 20_000_000
_MOST_AMOUNT: Final = 1e9
_LONGEST_FACTS: Final = 20_000
_LONGEST_REASON: Final = 300
_LONGEST_UNLIKE: Final = 120
_MOST_UNLIKE: Final = 201
_RUN: Final = "run"
_ROUND: Final = "round"


def score_header(name: str) -> str:
    """The column of a score, which passes for no other one and for no formula."""
    plain = in_line(name).strip()
    taken = plain in FIXED or plain.startswith((VARIANT, _SCORE)) or no_formula(plain) != plain
    return f"{_SCORE}{plain}" if taken else plain


def is_exported(table: ForeignTable) -> bool:
    """Whether a table is one of a run's results that ``matrix export`` has written."""
    names = set(table.headers)
    return {FACTS, *_NEEDED} <= names and len(names) == len(table.headers)


def read_exported(tables: Sequence[ForeignTable]) -> ForeignResults:
    """The results of runs; of several, each run is a variant.

    Raises:
        BadInput: Every mistake in all of them.
    """
    mistakes, rows, known = [], list[ForeignRow](), list[tuple[ForeignTable, ExportedFacts]]()
    for table in tables:
        faults = RowFaults(table.source)
        facts = _facts(table, faults)
        found = _rows(table, faults, named=facts is not None and bool(facts.unit))
        mistakes += faults.mistakes
        if facts is not None:
            known.append((table, facts))
            of_run = (facts.run,) * (len(tables) > 1)
            rows += [row._replace(levels=of_run + row.levels) for row in found]
    if not mistakes:
        mistakes += _not_alike(known)
    if mistakes:
        raise BadInput(mistakes)
    first, facts = known[0]
    if len(known) > 1:
        compare = facts.compare.model_copy(update={"factor": _RUN})
        others = [name for _, one in known for name in unlike(facts, one)]
        others += [f"options.{name}" for _, one in known for name in other_options(facts, one)]
        changed = dict.fromkeys(what for _, one in known for what in one.code_changes)
        facts = known[-1][1].model_copy(
            update={
                "compare": compare,
                "unlike": tuple(dict.fromkeys(name[:_LONGEST_UNLIKE] for name in others))[
                    :_MOST_UNLIKE
                ],
                "code_changes": tuple(changed)[:MOST_CHANGES],
                "redone": any(one.redone for _, one in known),
                "untold": tuple(sorted({name for _, one in known for name in one.untold})),
            }
        )
    factors = (_RUN,) * (len(tables) > 1) + tuple(_factors(first))
    runs = ", ".join(one.run for _, one in known)
    return ForeignResults(
        form=f"results of {runs}, as `matrix export` writes them",
        factors=factors,
        rows=rows,
        unit=facts.unit or (_ROUND if facts.paired else ""),
        taken=_taken(first, factors, facts),
        tells_failures=FAILED not in facts.untold,
        exported=facts,
        notes=tuple(dict.fromkeys(note for _, one in known for note in one.notes)),
    )


def _not_alike(known: Sequence[tuple[ForeignTable, ExportedFacts]]) -> list[Any]:
    """Why results of several runs are not of one comparison."""
    (first, facts), *others = known
    faults = RowFaults(others[-1][0].source if others else first.source)
    if len({one.run for _, one in known}) < len(known):
        faults.say(None, "", f"the run {shown(facts.run)} is given twice")
    for table, one in others:
        if one.kind != facts.kind:
            told = f"{one.run} is of the kind {shown(one.kind)}, {facts.run} of {shown(facts.kind)}"
            faults.say(None, "", f"{told}; import them by themselves")
        if one.unit != facts.unit:
            told = f"units of {one.run} are of {one.unit or _ROUND}"
            faults.say(None, "", f"{told}, those of {facts.run} of {facts.unit or _ROUND}")
        if (one.paired, one.grouped) != (facts.paired, facts.grouped):
            told = f"results of {one.run} and of {facts.run} are not paired alike"
            faults.say(None, "", f"{told}; import them by themselves")
        if set(_factors(table)) != set(_factors(first)):
            faults.say(None, "", f"{one.run} and {facts.run} have other factors")
    return faults.mistakes


def _facts(table: ForeignTable, faults: RowFaults) -> ExportedFacts | None:
    place = table.headers.index(FACTS)
    for line, cells in table.rows:
        if not (text := str(cells[place] or "")):
            continue
        if len(text) > _LONGEST_FACTS:
            faults.say(line, FACTS, f"is longer than {_LONGEST_FACTS:,} characters")
            return None
        try:
            return ExportedFacts.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            told = in_line(f"{where}: {first['msg']}"[:200])
            faults.say(line, FACTS, f"cannot be read: {told}; export the run again")
            return None
    told = f"no row has the cell that says what the run was; delete the column {FACTS!r} to have "
    faults.say(None, FACTS, f"{told}it read as any other table")
    return None


def _factors(table: ForeignTable) -> list[str]:
    names = [name for name in table.headers if name.startswith(VARIANT)]
    return [in_line(formula_again(name[len(VARIANT) :][:LONGEST_NAME])) for name in names]


def _rows(table: ForeignTable, faults: RowFaults, *, named: bool) -> list[ForeignRow]:
    """Its rows; ``named`` says whether its units have names of their own."""
    rows = [_Cells(table, line, cells, faults).row(named=named) for line, cells in table.rows]
    for place, header in enumerate(table.headers):
        named = header == "scenario" or header.startswith(VARIANT)
        if named and len({str(cells[place]) for _, cells in table.rows}) > MOST_LEVELS:
            told = f"has more than {MOST_LEVELS} different values"
            faults.say(None, header, told)
    return rows


class _Cells:
    """The cells of one row, by their columns; what is wrong with them is told."""

    def __init__(
        self, table: ForeignTable, line: int, cells: Sequence[Cell], faults: RowFaults
    ) -> None:
        self._where, self._line, self._faults = f"{table.source}:{line}", line, faults
        self._cells = dict(zip(table.headers, cells, strict=True))

    def row(self, *, named: bool) -> ForeignRow:
        scores = {
            in_line(name.removeprefix(_SCORE)[:LONGEST_NAME]): value
            for name in self._cells
            if name and name not in FIXED and not name.startswith(VARIANT)
            if (value := self._number(name)) is not None
        }
        return ForeignRow(
            where=self._where,
            unit=self._name("unit") if named else self._unit(),
            levels=tuple(self._name(one) for one in self._cells if one.startswith(VARIANT)),
            scenario=self._name("scenario"),
            repeat=self._text("repeat")[:LONGEST_NAME],
            score=self._number("score"),
            cost_usd=self._amount("cost_usd"),
            duration_s=self._amount("duration_s"),
            tokens_in=int(self._amount("tokens_in")),
            tokens_out=int(self._amount("tokens_out")),
            metrics=scores,
            outcome=self._outcome(),
            error_class=self._text("error_class")[:LONGEST_NAME],
            reason=self._text("end_reason")[:_LONGEST_REASON],
            turns=int(self._amount("turns")) if "turns" in self._cells else 1,
            calls=int(self._amount("calls")),
        )

    def _say(self, name: str, told: str) -> None:
        self._faults.say(self._line, name, told)

    def _text(self, name: str) -> str:
        found = self._cells.get(name)
        return "" if found is None else in_line(formula_again(str(found))).strip()

    def _number(self, name: str) -> float | None:
        found = number_of(self._cells.get(name))
        if isinstance(found, str):
            self._say(name, found)
            return None
        return found

    def _amount(self, name: str) -> float:
        """What is never negative."""
        found = self._number(name) or 0.0
        if not 0 <= found <= _MOST_AMOUNT:
            self._say(name, f"found {found:g}; must be from 0 to {_MOST_AMOUNT:g}")
            return 0.0
        return found

    def _name(self, header: str) -> str:
        text = self._text(header)
        if not text:
            self._say(header, "is empty; every row has one")
        elif len(text) > LONGEST_NAME:
            told = f"found {shown(text)}; a name has at most {LONGEST_NAME} characters"
            self._say(header, told)
        return text

    def _unit(self) -> str:
        text = self._text("unit")
        if text.isdecimal() and text.isascii() and len(text) < 10 and int(text) < _MOST_UNITS:
            return str(int(text))
        told = f"found {shown(text)}; the number of a round, from 0 to {_MOST_UNITS - 1:,}"
        self._say("unit", told)
        return "0"

    def _outcome(self) -> Outcome:
        text = self._text("outcome")
        for outcome in OUTCOMES:
            if text == outcome:
                return outcome
        self._say("outcome", f"found {shown(text)}; one of {', '.join(OUTCOMES)}")
        return "errored"


def _taken(
    table: ForeignTable, factors: Sequence[str], facts: ExportedFacts
) -> tuple[tuple[str, str], ...]:
    fixed = [name for name in table.headers if name in FIXED or name.startswith(VARIANT)]
    scores = [in_line(name[:LONGEST_NAME]) for name in table.headers if name not in fixed]
    told = [
        ("variant", ", ".join(factors)),
        ("unit", facts.unit or (_ROUND if facts.paired else "")),
        ("score", facts.compare.metric),
        ("cost", "cost_usd, in US dollars" if "cost_usd" in table.headers else ""),
        ("scenario", "scenario"),
        ("repeat", "repeat" if "repeat" in table.headers else ""),
        ("metrics", ", ".join(scores[:30]) + (" and more" if len(scores) > 30 else "")),
    ]
    return tuple((label, text) for label, text in told if text)
