"""``matrix export``."""

from __future__ import annotations

from typing import Annotated

import typer

from matrix.cli.options import OptionalSessionArgument, ResultsOption, RunArgument
from matrix.cli.printing import say

HELP = """Write a checkpoint, a session's folder, pins, or a run.

\b
    matrix export last worst --turn 22 -o turn-22.json
    matrix export last 3f2a --all sessions/3f2a
    matrix export last --snapshot pinned
    matrix export last --to csv -o results.csv    matrix import reads it back
    matrix export last --to inspect -o logs       for inspect view
    matrix export last --to hf -o dataset         for load_dataset

A checkpoint is self-contained: what was said, players with their prompts, the state, texts, spec
and working folder that playing on takes (`matrix replay --checkpoint`). A folder holds turn-0.json
and so on, and report.md. A snapshot pins the final states in which nothing failed, for trajectory
tests: later runs are held against it. Nothing is overwritten without --force.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", help=HELP)(export)


def export(
    run: RunArgument,
    session: OptionalSessionArgument = None,
    turn: Annotated[
        int | None,
        typer.Option("--turn", min=0, metavar="N", help="Turn; the newest if left out."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="File or folder to write.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORM", help="The whole run as csv (printed without -o), inspect or hf."
        ),
    ] = None,
    everything: Annotated[
        str | None,
        typer.Option("--all", metavar="DIR", help="Write every turn and a report into DIR."),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option("--snapshot", metavar="DIR", help="Pin final states of the run in DIR."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    results: ResultsOption = "results",
) -> None:
    """Export a session."""
    from matrix import api
    from matrix.model.errors import BadInput, Mistake

    if to is not None:
        if session or snapshot or everything or turn is not None:
            told = "is of a whole run; leave the session and the options of sessions out"
            raise BadInput([Mistake("--to", None, "", told)])
        _whole(run, to, output, results, force=force)
        return
    if snapshot is not None:
        if session or output or everything or turn is not None:
            told = "is of a whole run; leave the session and the other options out"
            raise BadInput([Mistake("--snapshot", None, "", told)])
        notes: list[str] = []
        for path in api.export_snapshot(run, snapshot, results=results, force=force, notes=notes):
            say(str(path))
        for note in notes:
            say(note, err=True)
        return
    if session is None:
        told = (
            "name a session: its id, or best, worst, longest, failed; a whole run takes --to FORM"
        )
        raise BadInput([Mistake("matrix export", None, "", told)])
    if (output is None) == (everything is None) or (everything is not None and turn is not None):
        told = "give either -o FILE (with --turn N) or --all DIR"
        raise BadInput([Mistake("matrix export", None, "", told)])
    if everything is not None:
        paths = api.export_all(run, session, everything, results=results, force=force)
        say(f"{len(paths)} files in {everything}")
    elif output is not None:
        written = api.export(run, session, output, turn=turn, results=results, force=force)
        say(str(written))


def _whole(run: str, to: str, output: str | None, results: str, *, force: bool) -> None:
    """Write a whole run for another program; a CSV is printed where no file is named."""
    from matrix import api
    from matrix.api.runs.exporting import checked_form
    from matrix.model.errors import BadInput, Mistake

    checked_form(to)
    notes: list[str] = []
    if output is not None:
        written = api.export_results(run, to, output, results=results, force=force, notes=notes)
        say(str(written[0]) if to == "csv" else f"{len(written)} files in {output}")
    elif to == "csv":
        say(api.results_csv(run, results=results, notes=notes).rstrip("\n"))
    else:
        told = f"name the folder to write: -o DIR; {to} is several files"
        raise BadInput([Mistake("--to", None, "", told)])
    for note in notes:
        say(f"note: {note}", err=True)
