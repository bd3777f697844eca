"""``matrix show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.options import JsonOption, OptionalSessionArgument, ResultsOption, RunArgument
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.api import Run

HELP = """Show a run's summary, or one session's transcript.

\b
    matrix show last
    matrix show last 3f2a            the session whose id begins so
    matrix show last best            or: worst, longest, failed
    matrix show last best --full     all that was said, as Markdown to paste

RUN is an id, the beginning of one, a path, or 'last'.
"""


_GOING_ON = ("running", "interrupted")
"""Of such a run its kind says nothing yet."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", help=HELP)(show)


def show(
    run: RunArgument = "last",
    session: OptionalSessionArgument = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Of a session all that was said, unbroken, to paste."),
    ] = False,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Show a run or a session."""
    from matrix import api
    from matrix.model.errors import BadInput, Mistake

    if full and json:
        told = "is Markdown; leave --json out, or --full: JSON has all of it as well"
        raise BadInput([Mistake("--full", None, "", told)])
    found = api.open_run(run, results=results)
    if full:
        from matrix.api.runs.session_reports import session_transcript

        say(session_transcript(found, session or _only_session(found)).rstrip("\n"))
        return
    if session is None:
        _show_run(found, json=json)
    else:
        _show_session(found, session, json=json)


def _only_session(found: Run) -> str:
    """The session of a run that has one.

    Raises:
        BadInput: It has several.
    """
    from matrix.model.errors import BadInput, Mistake

    ids = list(found.sessions()["session_id"])
    if len(ids) != 1:
        told = f"run {found.id} has {len(ids):,} sessions; name one: its id, best, worst, ..."
        raise BadInput([Mistake("--full", None, "", told)])
    return str(ids[0])


def _show_run(found: Run, *, json: bool) -> None:
    from matrix.api.runs.kind_reports import kind_report, not_there, placed_lines
    from matrix.cli.printing import print_json, text_width
    from matrix.report.run.summary_data import summary_as_data
    from matrix.report.run.summary_text import summary_as_text

    summary = found.summary()
    told = kind_report(found) if found.status not in _GOING_ON else None
    if json:
        data = summary_as_data(summary)
        print_json({**data, "report": told.data} if told is not None and told.data else data)
        return
    say(summary_as_text(summary, width=text_width()))
    if told is not None:
        lost = not_there(told, found)
        say("\n".join(["", *placed_lines(told, found, lost)]))


def _show_session(found: Run, session: str, *, json: bool) -> None:
    from matrix.cli.printing import print_json, text_width
    from matrix.report.session.transcript import session_as_data, session_as_text

    transcript = found.session(session)
    if json:
        print_json(session_as_data(transcript))
        return
    simulated = found.file.simulation_of(transcript.plan.roles)
    say(session_as_text(transcript, simulated=simulated, width=text_width()))
