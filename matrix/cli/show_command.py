"""``matrix show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli import completion
from matrix.cli.options import JsonOption, OptionalSessionArgument, ResultsOption, RunArgument
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.api import Run

HELP = """Show a run's summary, its sessions in groups, or one of them.

\b
    matrix show last
    matrix show last 3f2a            the session whose id begins so
    matrix show last best            or: worst, longest, failed
    matrix show last best --full     all that was said, as Markdown to paste
    matrix show last --by all        every metric by story, archetype ...
    matrix show last --by model --by spokesperson --top 10
    matrix show last --since main    which issues are new, gone, still there

With --by, --top or --since: averages of every metric by group, configurations by rank, the best and
the worst sessions, and every issue with its turn and quote. They describe; what is shown to be
better is said by `matrix compare`.

RUN is an id, the beginning of one, a path, or 'last'.
"""


_GOING_ON = ("running", "interrupted")
"""Of such a run its kind says nothing yet."""
TOP = 5
_ISSUES_EACH = 10
"""Issues that are listed for each of the best sessions."""


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
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="NAME",
            help="Averages by story, model, a factor, archetype, group_size, spokesperson; or all.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="N",
            help="How many of the best and worst sessions, 5 if left out, and ten times as many "
            "issues.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="RUN",
            help="An earlier run: which issues are new, gone or still there.",
            show_default=False,
            autocompletion=completion.runs,
        ),
    ] = None,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Show a run or a session."""
    if by or top is not None or since is not None:
        _refuse_session(session, full=full)
        _show_groups(run, by or [], TOP if top is None else top, since, results, json=json)
        return
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

    if found.file.imported:
        _show_imported(found, session, json=json)
        return
    transcript = found.session(session)
    if json:
        print_json(session_as_data(transcript))
        return
    simulated = found.file.simulation_of(transcript.plan.roles)
    say(session_as_text(transcript, simulated=simulated, width=text_width()))


def _show_imported(found: Run, session: str, *, json: bool) -> None:
    """What there is of an imported session, which has no journal."""
    from matrix.api.reporting import session_id_of
    from matrix.cli.printing import print_json, text_width
    from matrix.report.session.imported_session import (
        imported_session,
        imported_session_as_data,
        imported_session_as_text,
    )
    from matrix.store.reading.reader import RunTables

    shown = imported_session(RunTables(found.path), session_id_of(found, session))
    if json:
        print_json(imported_session_as_data(shown))
        return
    say(imported_session_as_text(shown, width=text_width()))


def _show_groups(
    run: str, by: list[str], top: int, since: str | None, results: str, *, json: bool
) -> None:
    from matrix import api
    from matrix.cli.printing import print_json, text_width
    from matrix.report.groups.told import aggregate_sections, aggregates_as_data

    found = api.aggregates(run, by=by, top=top, since=since, results=results)
    if json:
        print_json(aggregates_as_data(found))
        return
    width = text_width()
    sections = aggregate_sections(found, width, _ISSUES_EACH * top)
    say("\n\n".join(section.as_text(width) for section in sections))


def _refuse_session(session: str | None, *, full: bool) -> None:
    from matrix.model.errors import BadInput, Mistake

    if full:
        told = "is of one session; leave it out beside --by, --top or --since"
        raise BadInput([Mistake("--full", None, "", told)])
    if session is not None:
        told = f"found {session!r} beside --by, --top or --since, which are of a whole run"
        raise BadInput([Mistake("matrix show", None, "", f"{told}; leave one of the two out")])
