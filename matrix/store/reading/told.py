"""What the files of imported results tell of them, and what nobody knows."""

from __future__ import annotations

from typing import Any, Final

import pyarrow.compute as pc

from matrix.model.exported import ExportedFacts
from matrix.model.lines import in_line
from matrix.model.metrics import FAILED, SESSION_METRICS
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile

UNIT_EVENT: Final = "unit"
"""Event of an imported session that says which unit of its file it is."""
_SCORE: Final = "score"
_COST: Final = "cost_usd"


def _said(run: RunFile, name: str) -> Any:
    """What an import has kept under a name; ``None`` of a run that was played here."""
    return (run.spec.get("options") or {}).get(name) if run.imported else None


def facts_given(run: RunFile) -> ExportedFacts | None:
    """What the file said that a run was imported from; ``None`` where there was no such file."""
    given = _said(run, "exported")
    return None if given is None else ExportedFacts.model_validate(given)


def notes_of(run: RunFile) -> tuple[str, ...]:
    """What every verdict on imported results has to be read with, in sentences."""
    return tuple(map(in_line, _said(run, "notes") or ()))


def tells_failures(run: RunFile) -> bool:
    """Whether it is known of a run what failed: not where it was imported without that."""
    if (facts := facts_given(run)) is not None:
        return FAILED not in facts.untold
    return not run.imported or bool(_said(run, "tells_failures"))


def tells_costs(run: RunFile) -> bool:
    """Whether it is known of each session what it cost, so that nothing is an amount, too."""
    return not run.imported or bool(_said(run, "tells_costs"))


def why_no_costs(run: RunFile) -> str:
    """Why nothing is said of costs, where the files have some; empty for nothing."""
    return in_line(_said(run, "no_costs") or "")


def untold_in(tables: RunTables) -> frozenset[str]:
    """Metrics of which files of imported results tell nothing: 0 in the tables, and no fact.

    Nothing of a run that was played here; of results that a run was exported to, what that run
    did not know either.
    """
    run = tables.run
    if not run.imported:
        return frozenset()
    if (facts := facts_given(run)) is not None:
        return frozenset(facts.untold)
    found = set() if tells_failures(run) else {FAILED}
    told = {_SCORE, _COST} if tells_costs(run) else {_SCORE}
    names = [name for name in SESSION_METRICS if name not in told]
    table = tables.table("sessions", names)
    most = {name: pc.max(table[name]).as_py() for name in names}
    return frozenset(found | {"turns"} | {name for name, value in most.items() if not value})


def units_in(tables: RunTables) -> dict[str, str]:
    """Session -> what its unit is called in the file that it was imported from.

    Nothing of runs that were played here, and of rows that belong to no unit.
    """
    if not tables.run.imported:
        return {}
    rows = tables.table("events", ["session_id", "subject"], only={"kind": UNIT_EVENT})
    pairs = zip(rows["session_id"].to_pylist(), rows["subject"].to_pylist(), strict=True)
    return {str(session): str(unit) for session, unit in pairs}
