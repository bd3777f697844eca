"""``matrix list``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.options import JsonOption, ResultsOption
from matrix.cli.printing import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matrix.kinds.protocol import ListedPart

HELP = """List the runs in a results folder, or what a run spec can name.

\b
    matrix list
    matrix list --results nightly --json
    matrix list archetypes           or: stories, prompts

Runs come oldest first. Archetypes, stories and prompts of play-tests are those of this folder and
those that ship with matrix.
"""
RUNS = "runs"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list", help=HELP)(list_any)


def list_any(
    what: Annotated[
        str,
        typer.Argument(metavar="WHAT", help="runs, archetypes, stories or prompts."),
    ] = RUNS,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """List runs, or parts of specs."""
    if what == RUNS:
        _list_runs(results, json=json)
        return
    from matrix import api
    from matrix.cli.printing import print_json, text_width

    found = api.list_part(what)
    if json:
        print_json([{"name": one.name, "about": one.about, **one.fields} for one in found])
    elif not found:
        say(f"no {what} here")
    else:
        say(_parts_as_text(found, text_width()))


def _parts_as_text(found: Sequence[ListedPart], width: int) -> str:
    from matrix.report.text import facts, harmless

    rows = []
    for one in found:
        more = "; ".join(f"{name} {value}" for name, value in one.fields.items() if value != "")
        rows.append((harmless(one.name), harmless(one.about)))
        rows.append(("", harmless(more)))
    return facts(rows, indent="", width=width)


def _list_runs(results: str, *, json: bool) -> None:
    from matrix import api
    from matrix.cli.printing import print_json
    from matrix.model.money import to_usd
    from matrix.report.run.runs import runs_as_text

    runs = api.list_runs(results)
    if json:
        print_json(
            [
                {
                    "path": str(item.path),
                    "problem": item.problem,
                    "spent_usd": None if item.spent_nano is None else to_usd(item.spent_nano),
                }
                | (item.run.model_dump(mode="json", exclude={"spec"}) if item.run else {})
                for item in runs
            ]
        )
    elif not runs:
        say(f"no runs in {results}; `matrix run --sessions 500` makes one")
    else:
        say(runs_as_text(runs))
