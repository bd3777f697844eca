"""The end of a run on the command line: summary, verdict, exit code; and who shows progress."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from matrix.cli.display import LiveDisplay, LogLines, Quiet

if TYPE_CHECKING:
    from matrix.api import Run

INCOMPLETE = 4


def listener_for(*, quiet: bool) -> LiveDisplay | LogLines | Quiet:
    """Live on a terminal, log lines elsewhere, nothing when asked to be quiet."""
    if quiet:
        return Quiet()
    return LiveDisplay() if sys.stderr.isatty() else LogLines()


def finish(run: Run, *, quiet: bool, json: bool) -> None:
    """Print what a run came to.

    Raises:
        typer.Exit: With 4 if the run ended before its plan.
    """
    from matrix.cli.printing import print_json, text_width
    from matrix.report.summary_data import summary_as_data
    from matrix.report.summary_text import summary_as_text, verdict_line

    summary = run.summary()
    if json:
        print_json(summary_as_data(summary))
    elif quiet:
        typer.echo(verdict_line(summary))
    else:
        typer.echo(summary_as_text(summary, width=text_width()))
    if run.status != "complete":
        raise typer.Exit(INCOMPLETE)
