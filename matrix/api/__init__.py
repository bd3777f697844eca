"""The Python interface: what every command does, as functions and one class.

Functions take the same names as the flags and raise this project's own errors
(:mod:`matrix.model.errors`); nothing here prints.
"""

from matrix.api.archiving import archive, archive_older, repair, restore_run
from matrix.api.comparing import compare
from matrix.api.examining import Checkup, doctor
from matrix.api.opened import NEWEST, RESULTS, Run, list_runs, open_run
from matrix.api.planning import plan, validate
from matrix.api.powering import pilot_for, power
from matrix.api.project import init, schema
from matrix.api.reporting import report
from matrix.api.runs.budget_draws import budgets
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
from matrix.api.sessions.rejudging import plan_rejudge, rejudge
from matrix.engine.executors.executor import ExecutorChoice

__all__ = [
    "NEWEST",
    "RESULTS",
    "Checkup",
    "ExecutorChoice",
    "Run",
    "archive",
    "archive_older",
    "branch",
    "budgets",
    "checkpoint",
    "compare",
    "diff",
    "doctor",
    "export",
    "export_all",
    "export_snapshot",
    "init",
    "list_runs",
    "open_run",
    "pilot_for",
    "plan",
    "plan_branch",
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
    "resume",
    "run",
    "schema",
    "start",
    "start_branching",
    "validate",
    "worth_asking",
]
