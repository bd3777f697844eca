"""Gates on the command line: options, what is printed, the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from matrix.report.gating import GateReport

GATE_FAILED = 3
"""Exit code of a command whose gate failed."""

BaselineOption = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RUN",
        help="Gate: the run that this one must not be worse than.",
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
        help="End with exit code 3 on this; otherwise gates only say what they found.",
        show_default=False,
    ),
]


def print_gate(report: GateReport) -> None:
    """Print one line for each gate."""
    for line in report.lines:
        typer.echo(line)


def exit_code(report: GateReport | None) -> int:
    """3 if a gate failed, else 0."""
    return GATE_FAILED if report is not None and report.failed else 0
