"""``matrix report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matrix.cli import completion
from matrix.cli.options import ResultsOption, RunArgument
from matrix.cli.printing import say

HELP = """Write a run's report again, or in another form.

\b
    matrix report last                     report.html in the run's folder
    matrix report last --session worst -o worst.html
    matrix report last --format github     a comment for a pull request
    matrix report last --format junit -o junit.xml

Pages are written into the run's folder. They load nothing and run no script: they
open from a disk, print, and may be sent. Other forms are printed, unless --output
names a file.
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
            autocompletion=completion.sessions,
        ),
    ] = "",
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="html, md, github, junit or csv.")
    ] = "html",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    results: ResultsOption = "results",
) -> None:
    """Write a report."""
    from matrix.api.opened import open_run
    from matrix.api.reporting import report as made
    from matrix.api.reporting import write_page
    from matrix.model.errors import BadInput, Mistake
    from matrix.store.run.exports import write_files
    from matrix.store.run.run_folder import from_here

    if output is not None and not output.name:
        raise BadInput([Mistake("--output", None, "", f"found {str(output)!r}; name a file")])
    found = open_run(run, results=results)
    if output is None and form == "html":
        say(f"{from_here(write_page(found, session))} written")
        return
    text = made(found, form=form, session=session)
    if output is None:
        say(text.rstrip("\n"))
    else:
        (written,) = write_files(output.parent, {output.name: text.encode}, force=force)
        say(f"{written} written")
