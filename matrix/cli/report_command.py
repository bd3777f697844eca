"""``matrix report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli import completion
from matrix.cli.options import (
    MaxCostOption,
    OpenOption,
    ResultsOption,
    RunArgument,
    YesOption,
    handed_to,
)
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.api import Run
    from matrix.api.runs.explaining import Explaining

HELP = """Write a run's report again, or in another form.

\b
    matrix report last                     report.html in the run's folder
    matrix report last --session worst     a page, and reports/ID.md
    matrix report last --session worst -o worst.html
    matrix report last --session worst --open
    matrix report last --format github     a comment for a pull request
    matrix report last --format junit -o junit.xml
    matrix report last --explain MODEL --max-cost 0.50

Pages are written into the run's folder. They load nothing and run no script: they
open from a disk, print, and may be sent. Other forms are printed, unless --output
names a file.

With --explain a model reads what went wrong and groups it, each group with its
sessions cited. What that takes is said and asked before. It is kept with the
run: later reports have it, and the same failures are paid for once.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help=HELP)(report)


def report(
    ctx: typer.Context,
    run: RunArgument = "last",
    session: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="ID",
            help="Only this session: id or beginning; best, worst, longest or failed.",
            show_default=False,
            autocompletion=completion.sessions,
        ),
    ] = "",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORM",
            help="html (if left out), md, github, junit or csv.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="MODEL",
            help="Have a model group what went wrong.",
            show_default=False,
        ),
    ] = None,
    below: Annotated[
        float | None,
        typer.Option(
            "--below",
            metavar="SCORE",
            help="With --explain: scores up to this are low.",
            show_default=False,
        ),
    ] = None,
    max_cost: MaxCostOption = None,
    open_report: OpenOption = False,
    yes: YesOption = False,
    results: ResultsOption = "results",
) -> None:
    """Write a report."""
    from matrix.api.opened import open_run
    from matrix.api.reporting import report as made
    from matrix.api.reporting import write_page
    from matrix.api.runs.session_reports import write_session_report
    from matrix.cli.finish import open_page
    from matrix.model.errors import BadInput, Mistake
    from matrix.store.run.exports import write_files
    from matrix.store.run.run_folder import from_here

    if output is not None and not output.name:
        raise BadInput([Mistake("--output", None, "", f"found {str(output)!r}; name a file")])
    if open_report and (form not in (None, "html") or output is not None):
        told = "opens the page that is written into the run's folder; leave --format and -o out"
        raise BadInput([Mistake("--open", None, "", told)])
    found = open_run(run, results=results)
    if explain is not None:
        _explain(found, explain, max_cost, below, yes=yes)
    elif below is not None or max_cost is not None:
        told = "goes with --explain MODEL"
        flag = "--below" if below is not None else "--max-cost"
        raise BadInput([Mistake(flag, None, "", told)])
    if output is None and form in (None, "html"):
        if session and form is None and not found.file.imported:
            say(f"{from_here(write_session_report(found, session))} written")
        page = write_page(found, session)
        say(f"{from_here(page)} written")
        if open_report:
            open_page(page, handed_to(ctx).browse)
        return
    text = made(found, form=form or "html", session=session)
    if output is None:
        say(text.rstrip("\n"))
    else:
        (written,) = write_files(output.parent, {output.name: text.encode}, force=force)
        say(f"{written} written")


def _explain(
    run: Run, model: str, max_cost: float | None, below: float | None, *, yes: bool
) -> None:
    """Say what it takes, ask, and have a model read what went wrong.

    Raises:
        BadInput: Every mistake, or there is nobody to ask.
        typer.Exit: The answer was no.
    """
    from matrix import api
    from matrix.cli.finish import shown
    from matrix.report.run.explained import left_out_of, provenance_of

    planned = api.plan_explanation(run, model, max_cost=max_cost, below=below)
    if planned.done is None:
        say(planned.in_words, err=True)
        for note in planned.prepared.notes:
            say(f"note: {note}", err=True)
        _confirm(planned, yes=yes)
    else:
        say(f"nothing is asked: {planned.run_id} has read the same already", err=True)
    with shown(quiet=True) as listener:
        found = api.explain_as_planned(planned, listener=listener)
    say(f"{provenance_of(found)}.", err=True)
    for told in left_out_of(found):
        say(told, err=True)


def _confirm(planned: Explaining, *, yes: bool) -> None:
    """Ask before money is spent; where nobody can be asked, spend none.

    Raises:
        BadInput: There is no terminal.
        typer.Exit: The answer was no.
    """
    import sys

    from matrix.model.errors import BadInput, Mistake

    if yes or (planned.prepared.simulated and not planned.prepared.mixed):
        return
    if not sys.stdin.isatty():
        told = "money is not spent unasked; nothing was sent: say --yes"
        raise BadInput([Mistake("--yes", None, "", told)])
    if not typer.confirm("Ask it?", err=True):
        raise typer.Exit(0)
