"""matrix: run large matrices of LLM sessions under a hard cost cap, and say honestly which won.

    import matrix
    run = matrix.run("matrix.yaml", sessions=500, max_cost=5)
    run.sessions()            # pandas
    print(run.compare("prompt").sentence)

Commands of the ``matrix`` program have an equivalent here, but for those that hold a terminal
(``gateway``, ``label``, ``serve-sim``); what ``show`` prints is ``Run.summary``. Importing this
package is cheap; what a function needs is loaded when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matrix.version import __version__

if TYPE_CHECKING:
    import matrix.testing as testing
    from matrix import stats
    from matrix.api import (
        ExecutorChoice,
        Run,
        aggregates,
        archive,
        branch,
        budgets,
        compare,
        diff,
        doctor,
        explain,
        export,
        export_results,
        import_results,
        init,
        interview,
        list_part,
        list_runs,
        open_run,
        plan,
        power,
        read_checkpoint,
        rejudge,
        repair,
        replay,
        replay_checkpoint,
        resume,
        run,
        schema,
        validate,
    )
    from matrix.kinds.function.context import ScenarioContext
    from matrix.kinds.function.declaring import scenario
    from matrix.kinds.function.scripts import Asked, tool_call
    from matrix.model.records import Tool

_OF_KINDS = {
    "Asked": "matrix.kinds.function.scripts",
    "ScenarioContext": "matrix.kinds.function.context",
    "Tool": "matrix.model.records",
    "scenario": "matrix.kinds.function.declaring",
    "tool_call": "matrix.kinds.function.scripts",
}
"""What a kind in one file is written with."""

__all__ = [
    "Asked",
    "ExecutorChoice",
    "Run",
    "ScenarioContext",
    "Tool",
    "__version__",
    "aggregates",
    "archive",
    "branch",
    "budgets",
    "compare",
    "diff",
    "doctor",
    "explain",
    "export",
    "export_results",
    "import_results",
    "init",
    "interview",
    "list_part",
    "list_runs",
    "open_run",
    "plan",
    "power",
    "read_checkpoint",
    "rejudge",
    "repair",
    "replay",
    "replay_checkpoint",
    "resume",
    "run",
    "scenario",
    "schema",
    "stats",
    "testing",
    "tool_call",
    "validate",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("stats", "testing"):
        return import_module(f"matrix.{name}")
    if name in _OF_KINDS:
        return getattr(import_module(_OF_KINDS[name]), name)
    if name in __all__:
        return getattr(import_module("matrix.api"), name)
    raise AttributeError(f"module 'matrix' has no attribute {name!r}")
