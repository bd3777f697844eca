"""``matrix diff``."""

from __future__ import annotations

from typing import Annotated

import typer

from matrix.cli.options import JsonOption, ResultsOption
from matrix.cli.printing import say

HELP = """Show two sessions side by side, from where they part.

\b
    matrix diff last                          two of one round and scenario
    matrix diff last best worst               two sessions of one run
    matrix diff last:best playtest-2026:3f2a  of two runs, as RUN:SESSION

SESSION is an id, the beginning of one, or best, worst, longest or failed.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff", help=HELP)(diff)


def diff(
    where: Annotated[
        list[str],
        typer.Argument(metavar="[RUN] [A B]", help="Two sessions of RUN, or two RUN:SESSION."),
    ],
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Compare two sessions."""
    from matrix import api
    from matrix.cli.printing import print_json, text_width
    from matrix.model.errors import BadInput, Mistake
    from matrix.report.session.difference import difference_as_data, difference_as_text

    if len(where) > 3:
        told = f"found {len(where)} names; give RUN, RUN A B, or two RUN:SESSION"
        raise BadInput([Mistake("matrix diff", None, "", told)])
    run = where[0] if len(where) in (1, 3) else None
    names = where[-2:] if len(where) > 1 else ["", ""]
    found = api.diff(*names, run=run, results=results)
    if json:
        print_json(difference_as_data(found))
    else:
        say(difference_as_text(found, width=text_width()))
