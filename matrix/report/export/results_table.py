"""A run's results as a CSV, a row a session, that ``matrix import`` reads as the run was."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from matrix.model.errors import BadInput, Mistake
from matrix.model.exported import ExportedFacts
from matrix.model.lines import csv_cell, in_line, no_formula
from matrix.report.compare.facts import facts_of
from matrix.report.compare.matchup import JUDGE
from matrix.report.compare.pairing import pairing_of
from matrix.store.foreign.exported import FACTS, VARIANT, score_header
from matrix.store.reading.reader import RunTables
from matrix.store.reading.session_scores import session_scores
from matrix.store.reading.told import units_in
from matrix.store.run.run_folder import RunFile
from matrix.store.tables.tables import factor_columns

_OF_SESSION: Final = (
    "outcome", "error_class", "score", "cost_usd", "duration_s", "turns", "calls", "tokens_in",
    "tokens_out",
)  # fmt: skip
_LAST: Final = ("end_reason", "session_id", "simulated")
_LONGEST: Final = 300
"""Characters of a cell."""
_MOST_SCORES: Final = 500


class Results(NamedTuple):
    """A run's results as a table of texts, a row a session, and what the run was.

    Attributes:
        headers: Names of the columns.
        rows: Session -> its cells, in the order of the tables.
        facts: What is said of the run.
    """

    headers: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]
    facts: ExportedFacts


def results_as_csv(tables: RunTables) -> str:
    """All sessions of a run that have ended: round, scenario, levels, outcome, scores, costs.

    Rounds whose sessions did not all end are in it, too, and say so by their outcomes.

    Raises:
        BadInput: None of its sessions has ended.
        StoreError: A table cannot be read.
    """
    results = results_of(tables)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*results.headers, FACTS])
    facts = results.facts.model_dump_json(exclude_defaults=True)
    for number, cells in enumerate(results.rows.values()):
        lines.writerow([*cells, facts if number == 0 else ""])
    return text.getvalue()


def results_of(tables: RunTables) -> Results:
    """The same as a table.

    Raises:
        BadInput: None of its sessions has ended.
        StoreError: A table cannot be read.
    """
    run = tables.run
    pairing = pairing_of(run)
    columns = factor_columns(run.plan.factors)
    factors = {name: columns[name] for name in pairing.factors}
    repeat = ["repeat"] if "repeat" in pairing.strata else []
    facts = facts_of(tables)
    # what nobody knows has no column, or it would be read back as nothing spent and nothing used
    known = [name for name in _OF_SESSION if name not in facts.untold]
    units = units_in(tables) if facts.unit else {}
    read = [pairing.column, "scenario", *factors.values(), *repeat, *known, *_LAST]
    sessions = tables.table("sessions", list(dict.fromkeys(read))).to_pylist()
    if not sessions:
        raise BadInput([Mistake(run.run_id, None, "", "none of its sessions has ended yet")])
    scores = _scores(tables, [str(row["session_id"]) for row in sessions])
    levels = [f"{VARIANT}{no_formula(in_line(name))}" for name in factors]
    heads = [score_header(name) for name in scores]
    values = [np.asarray(column) for column in scores.values()]
    rows = dict[str, tuple[str, ...]]()
    for number, row in enumerate(sessions):
        unit, moment = pairing.place_of(int(row[pairing.column]))
        cells = [units.get(str(row["session_id"]), unit), row["scenario"]]
        cells += [row[column] for column in factors.values()]
        cells += [moment * len(pairing.strata["repeat"]) + int(row["repeat"]) for _ in repeat]
        cells += [row[column] for column in known]
        cells += [float(column[number]) for column in values]
        cells += [row[column] for column in _LAST]
        rows[str(row["session_id"])] = tuple(map(_cell, cells))
    headers = ("unit", "scenario", *levels, *repeat, *known, *heads, *_LAST)
    return Results(headers, rows, facts)


def _scores(tables: RunTables, ids: Sequence[str]) -> dict[str, Any]:
    """Scores of whole sessions by name, but for the session's own and single judgings."""
    found = session_scores(tables, ids, lambda name: name != "score" and not name.startswith(JUDGE))
    headers, kept = set[str](), dict[str, Any]()
    for name in sorted(found)[:_MOST_SCORES]:
        if (header := score_header(name)) not in headers:  # names that differ in what no cell has
            headers.add(header)
            kept[name] = found[name]
    return kept


def losses_of(run: RunFile) -> Iterator[str]:
    """What a comparison of the file does not know of the run, in sentences."""
    engine = run.run_spec.compare.engine
    if run.run_spec.stop == "when-decided" or engine not in ("auto", "fixed"):
        yield (
            "the run was looked at while it went on, and a file does not tell when: what is "
            "imported takes the results for one look, so its intervals are narrower"
        )


def _cell(value: Any) -> str:
    cell = csv_cell(value)
    return "" if cell is None else str(cell)[:_LONGEST]
