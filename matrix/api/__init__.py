"""The Python interface: what every command does, as functions and one class.

Functions take the same names as the flags and raise this project's own errors
(:mod:`matrix.model.errors`); nothing here prints. What a function
needs is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matrix.api.archiving import archive, archive_older, repair, restore_run
    from matrix.api.comparing import compare
    from matrix.api.examining import Checkup, doctor
    from matrix.api.grouping import aggregates
    from matrix.api.opened import NEWEST, RESULTS, Run, list_runs, open_run
    from matrix.api.planning import plan, validate
    from matrix.api.powering import pilot_for, power
    from matrix.api.project import init, list_part, schema
    from matrix.api.reporting import chart, report
    from matrix.api.runs.budget_draws import budgets
    from matrix.api.runs.explaining import explain, explain_as_planned, plan_explanation
    from matrix.api.runs.exporting import export_results, results_csv
    from matrix.api.runs.importing import import_results
    from matrix.api.runs.lifecycle import resume, start
    from matrix.api.runs.running import run
    from matrix.api.sessions.branching import (
        branch,
        plan_branch,
        plan_replay,
        replay,
        start_branching,
        worth_asking,
    )
    from matrix.api.sessions.exporting import (
        checkpoint,
        diff,
        export,
        export_all,
        export_snapshot,
        read_checkpoint,
    )
    from matrix.api.sessions.files_replayed import plan_replay_checkpoint, replay_checkpoint
    from matrix.api.sessions.interviewing import (
        answered,
        interview,
        plan_interview,
        plan_interview_checkpoint,
    )
    from matrix.api.sessions.rejudging import plan_rejudge, rejudge
    from matrix.engine.executors.executor import ExecutorChoice

__all__ = [
    "NEWEST",
    "RESULTS",
    "Checkup",
    "ExecutorChoice",
    "Run",
    "aggregates",
    "answered",
    "archive",
    "archive_older",
    "branch",
    "budgets",
    "chart",
    "checkpoint",
    "compare",
    "diff",
    "doctor",
    "explain",
    "explain_as_planned",
    "export",
    "export_all",
    "export_results",
    "export_snapshot",
    "import_results",
    "init",
    "interview",
    "list_part",
    "list_runs",
    "open_run",
    "pilot_for",
    "plan",
    "plan_branch",
    "plan_explanation",
    "plan_interview",
    "plan_interview_checkpoint",
    "plan_rejudge",
    "plan_replay",
    "plan_replay_checkpoint",
    "power",
    "read_checkpoint",
    "rejudge",
    "repair",
    "replay",
    "replay_checkpoint",
    "report",
    "restore_run",
    "results_csv",
    "resume",
    "run",
    "schema",
    "start",
    "start_branching",
    "validate",
    "worth_asking",
]

_HOMES: Final = {
    "archive": "matrix.api.archiving",
    "archive_older": "matrix.api.archiving",
    "repair": "matrix.api.archiving",
    "restore_run": "matrix.api.archiving",
    "compare": "matrix.api.comparing",
    "aggregates": "matrix.api.grouping",
    "Checkup": "matrix.api.examining",
    "doctor": "matrix.api.examining",
    "NEWEST": "matrix.api.opened",
    "RESULTS": "matrix.api.opened",
    "Run": "matrix.api.opened",
    "list_runs": "matrix.api.opened",
    "open_run": "matrix.api.opened",
    "plan": "matrix.api.planning",
    "validate": "matrix.api.planning",
    "pilot_for": "matrix.api.powering",
    "power": "matrix.api.powering",
    "init": "matrix.api.project",
    "list_part": "matrix.api.project",
    "schema": "matrix.api.project",
    "chart": "matrix.api.reporting",
    "report": "matrix.api.reporting",
    "budgets": "matrix.api.runs.budget_draws",
    "explain": "matrix.api.runs.explaining",
    "explain_as_planned": "matrix.api.runs.explaining",
    "plan_explanation": "matrix.api.runs.explaining",
    "export_results": "matrix.api.runs.exporting",
    "results_csv": "matrix.api.runs.exporting",
    "import_results": "matrix.api.runs.importing",
    "resume": "matrix.api.runs.lifecycle",
    "start": "matrix.api.runs.lifecycle",
    "run": "matrix.api.runs.running",
    "branch": "matrix.api.sessions.branching",
    "plan_branch": "matrix.api.sessions.branching",
    "plan_replay": "matrix.api.sessions.branching",
    "replay": "matrix.api.sessions.branching",
    "start_branching": "matrix.api.sessions.branching",
    "worth_asking": "matrix.api.sessions.branching",
    "checkpoint": "matrix.api.sessions.exporting",
    "diff": "matrix.api.sessions.exporting",
    "export": "matrix.api.sessions.exporting",
    "export_all": "matrix.api.sessions.exporting",
    "export_snapshot": "matrix.api.sessions.exporting",
    "read_checkpoint": "matrix.api.sessions.exporting",
    "plan_replay_checkpoint": "matrix.api.sessions.files_replayed",
    "replay_checkpoint": "matrix.api.sessions.files_replayed",
    "answered": "matrix.api.sessions.interviewing",
    "interview": "matrix.api.sessions.interviewing",
    "plan_interview": "matrix.api.sessions.interviewing",
    "plan_interview_checkpoint": "matrix.api.sessions.interviewing",
    "plan_rejudge": "matrix.api.sessions.rejudging",
    "rejudge": "matrix.api.sessions.rejudging",
    "ExecutorChoice": "matrix.engine.executors.executor",
}
"""Name -> the module that it is taken from."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
