"""``matrix report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matrix.cli.options import ResultsOption, RunArgument
from matrix.cli.printing import say

HELP = """Write a run's report again, or in another form.

\b
    matrix report last                     report.html in the run's folder
    matrix report last --session worst -o worst.html
    matrix report last --format github     a comment for a pull request
    matrix report last --format junit -o junit.xml

The page loads nothing and runs no script: it opens from a disk, prints, and may
be sent. Forms but html are printed unless --output names a file.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help=HELP)(report)


def report(
    run: RunArgument = "last",
    session: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="ID",
            help="Only this session: id or beginning; best, worst, longest or failed.",
            show_default=False,
        ),
    ] = "",
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="html, md, github, junit or csv.")
    ] = "html",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write.", show_default=False),
    ] = None,
    results: ResultsOption = "results",
) -> None:
    """Write a report."""
    from matrix.api.opened import open_run
    from matrix.api.reporting import PAGE_NAME
    from matrix.api.reporting import report as made
    from matrix.store.run.exports import write_files

    found = open_run(run, results=results)
    text = made(found, form=form, session=session)
    if output is not None:
        (written,) = write_files(output.parent, {output.name: text.encode}, force=True)
        say(f"{written} written")
    elif form == "html" and not session:
        from matrix.store.run.run_folder import from_here, write_whole

        write_whole(found.path, PAGE_NAME, text)
        say(f"{from_here(found.path / PAGE_NAME)} written")
    else:
        say(text.rstrip("\n"))
