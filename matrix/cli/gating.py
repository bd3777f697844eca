"""Gates on the command line: options, what is printed, the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli import completion
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.api.gating import Gates
    from matrix.engine.prepare.prepared import Prepared
    from matrix.report.gates.gate_wish import GateWish
    from matrix.report.gates.gating import GateReport
    from matrix.store.run.run_folder import RunFile

GATE_FAILED = 3
"""Exit code of a command whose gate failed."""

BaselineOption = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        autocompletion=completion.runs,
        help="Gate: the run that this one must not be worse than; 'latest' is the newest complete "
        "run of the same name before it.",
        show_default=False,
    ),
]
MarginOption = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="X",
        help="How much worse it may be, in units of the metric; compare.margin if left out.",
        show_default=False,
    ),
]
ThresholdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="METRIC=X",
        help="Gate: least mean or pass rate of every variant, e.g. score=75 or passed=.9; where "
        "lower is better the largest, e.g. failed=.05.",
        show_default=False,
    ),
]
FailOnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="[regression|threshold|not-enough-data]",
        help="End with exit code 3 on this; otherwise gates only say what they found (but for too "
        "many errors).",
        show_default=False,
    ),
]
AllowErroredOption = Annotated[
    float | None,
    typer.Option(
        "--allow-errored",
        metavar="SHARE",
        help="Share of errored sessions up to which a gate can pass.  [default: 0.2]",
        show_default=False,
    ),
]


def gates_of(wish: GateWish, run: Prepared | RunFile, results: str) -> Gates | None:
    """The gates of a run, found to be sound; says what is known of them before it starts.

    Raises:
        BadInput: Every mistake in them.
    """
    from matrix.api.gating import check_gates

    if not wish.anything:
        return None
    gates = check_gates(wish, run, results)
    for note in gates.notes:
        say(f"gate: {note}", err=True)
    return gates


def print_gate(report: GateReport) -> None:
    """Print one line for each gate."""
    for line in report.lines:
        say(line)


def exit_code(report: GateReport | None) -> int:
    """3 if a gate failed, else 0."""
    return GATE_FAILED if report is not None and report.failed else 0
