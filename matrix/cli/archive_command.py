"""``matrix archive``."""

from __future__ import annotations

from typing import Annotated

import typer

from matrix.cli import completion
from matrix.cli.options import JsonOption, ResultsOption
from matrix.cli.printing import say

HELP = """Pack the journals of complete runs, without loss.

\b
    matrix archive playtest-2026
    matrix archive --older-than 30d          every older complete run
    matrix archive playtest-2026 --restore   bit for bit

An archived run is listed, summarised and compared as before; single sessions, export, resume and
repair need its journal and ask for it to be restored.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("archive", help=HELP)(archive)


def archive(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Id, beginning of an id, path, or 'last'.",
            autocompletion=completion.runs,
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Every complete run older than AGE."),
    ] = None,
    restore: Annotated[
        bool, typer.Option("--restore", help="Bring the journal of RUN back.")
    ] = False,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Archive or restore runs."""
    from matrix import api
    from matrix.cli.printing import print_json
    from matrix.model.errors import BadInput, Mistake
    from matrix.report.run.archive_report import kept_as_data, kept_as_text

    if (run is None) == (older_than is None) or (restore and run is None):
        told = "name either a RUN or --older-than AGE; --restore goes with a RUN"
        raise BadInput([Mistake("matrix archive", None, "", told)])
    if older_than is not None:
        done = api.archive_older(older_than, results=results)
    else:
        assert run is not None
        done = [(api.restore_run if restore else api.archive)(run, results=results)]
    if json:
        print_json([kept_as_data(kept) for kept in done])
    elif not done:
        say("nothing to archive")
    for kept in [] if json else done:
        say(kept_as_text(kept, restored=restore))
