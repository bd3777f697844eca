"""``matrix label``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli import completion
from matrix.cli.options import JsonOption, ResultsOption, RunArgument
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.api.sessions.labelling import LabelItem, Labelling

HELP = """Label sessions by hand, to see how far a judge agrees.

\b
    matrix label last                      session by session, in the terminal
    matrix label last --metric quality_pacing --sessions 30
    matrix label last --write labels.csv   a table for a spreadsheet
    matrix label last --read labels.csv --rater ana
    matrix label last --check              how far judge and people agree

Sessions are drawn at random, as many of each variant; which variant it is and what the judge said
is not shown. Labels are kept beside the runs (labels.jsonl) with what the judge gave. From 20 on,
verdicts that rest on the same model and rubric say how far it agrees with people.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("label", help=HELP)(label)


def label(
    run: RunArgument = "last",
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Which score.",
            show_default=False,
            autocompletion=completion.metrics,
        ),
    ] = None,
    sessions: Annotated[
        int, typer.Option("--sessions", metavar="N", help="How many to draw.", min=1)
    ] = 50,
    rater: Annotated[
        str | None,
        typer.Option("--rater", metavar="WHO", help="Who labels; else your login name."),
    ] = None,
    write: Annotated[
        str | None,
        typer.Option("--write", metavar="FILE", help="Write a table (CSV) to label in."),
    ] = None,
    read: Annotated[
        str | None, typer.Option("--read", metavar="FILE", help="Take the labels of a table.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Say how far the judge agrees with people.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --write.")] = False,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Label sessions."""
    from contextlib import closing

    from matrix.api.sessions.labelling import check_labels, labelling, read_label_file, write_labels
    from matrix.cli.printing import print_json, text_width
    from matrix.model.errors import BadInput, Mistake
    from matrix.report.compare.judges.judge_check_text import check_as_data, check_as_text

    if sum((write is not None, read is not None, check)) > 1:
        told = "give one of --write, --read and --check"
        raise BadInput([Mistake("matrix label", None, "", told)])
    if not check:
        who = rater or _login()
        with closing(
            labelling(run, metric=metric, sessions=sessions, rater=who, results=results)
        ) as work:
            if write is not None:
                count = write_labels(work, write, force=force)
                say(f"{count} sessions in {write}; fill in the column label, then")
                say(f"  {_read_back(work, write, sessions, rater, results)}")
                return
            if read is not None:
                taken = read_label_file(work, read)
                say(f"{taken} labels of {work.metric} by {who} taken", err=True)
            else:
                _ask(work)
            if not work.done:
                return
            metric = work.metric
    checks = check_labels(run, metric=metric, results=results)
    if json:
        print_json({"checks": [check_as_data(one) for one in checks]})
    else:
        say("\n\n".join(check_as_text(one, width=text_width()) for one in checks))


def _read_back(work: Labelling, path: str, sessions: int, rater: str | None, results: str) -> str:
    """The command that takes the labels of a table that was just written."""
    from shlex import join

    from matrix.api.opened import RESULTS
    from matrix.api.sessions.labelling import MANY

    words = ["matrix", "label", work.run.id, "--metric", work.metric, "--read", path]
    words += ["--sessions", str(sessions)] if sessions != MANY else []
    words += ["--rater", rater] if rater else []
    words += ["--results", results] if results != RESULTS else []
    return join(words)


def _ask(work: Labelling) -> None:
    """Show session after session, and keep each label as soon as it is given."""
    from matrix.api.sessions.labelling import value_of

    done = work.done
    left = [session for session in work.drawn if session not in done]
    say(
        f"{work.metric} of run {work.run.id}: {len(work.drawn)} sessions drawn, {len(done)} "
        "labelled. A note may follow the label; s skips, q stops."
    )
    for number, session in enumerate(left, len(done) + 1):
        item = work.item(session)
        _show(item, number, len(work.drawn))
        while True:
            given = _answer(item)
            if given in ("q", "quit"):
                return
            if given in ("s", "skip"):
                break
            word, _, note = given.partition(" ")
            try:
                work.take([(session, value_of(word, item.question), note.strip())])
            except ValueError as error:
                say(str(error))
            else:
                break


def _show(item: LabelItem, number: int, total: int) -> None:
    from matrix.cli.printing import text_width
    from matrix.report.text import harmless

    width = text_width()
    say(f"\n-- {number} of {total}, session {item.session} ".ljust(width, "-"))
    say(harmless(item.transcript))
    say("-" * width)
    say(harmless(item.question.text))


def _answer(item: LabelItem) -> str:
    """A line from the terminal; its end, and Ctrl-D, stop."""
    from matrix.api.sessions.labelling import allowed

    say(f"{allowed(item.question)} > ", nl=False)
    line = sys.stdin.readline()
    if not line:
        say("")
        return "q"
    return line.strip()


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
