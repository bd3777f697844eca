"""``matrix show``."""

from __future__ import annotations

import typer

from matrix.cli.options import JsonOption, OptionalSessionArgument, ResultsOption, RunArgument
from matrix.cli.printing import say

HELP = """Show a run's summary, or one session's transcript.

\b
    matrix show last
    matrix show last 3f2a            the session whose id begins so
    matrix show last best            or: worst, longest, failed

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
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Show a run or a session."""
    from matrix import api
    from matrix.api.runs.kind_reports import kind_report, not_there, placed_lines
    from matrix.cli.printing import print_json, text_width
    from matrix.report.run.summary_data import summary_as_data
    from matrix.report.run.summary_text import summary_as_text

    found = api.open_run(run, results=results)
    if session is None:
        summary = found.summary()
        told = kind_report(found) if found.status not in _GOING_ON else None
        if json:
            data = summary_as_data(summary)
            print_json({**data, "report": told.data} if told is not None and told.data else data)
        else:
            say(summary_as_text(summary, width=text_width()))
            if told is not None:
                lost = not_there(told, found)
                say("\n".join(["", *placed_lines(told, found, lost)]))
        return
    from matrix.report.session.transcript import session_as_data, session_as_text

    transcript = found.session(session)
    if json:
        print_json(session_as_data(transcript))
    else:
        simulated = found.file.simulation_of(transcript.plan.roles)
        say(session_as_text(transcript, simulated=simulated, width=text_width()))
