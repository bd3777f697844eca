"""``matrix list``."""

from __future__ import annotations

import typer

from matrix.cli.options import JsonOption, ResultsOption
from matrix.cli.printing import say

HELP = """List the runs in a results folder, oldest first.

\b
    matrix list
    matrix list --results nightly --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list", help=HELP)(list_runs)


def list_runs(results: ResultsOption = "results", json: JsonOption = False) -> None:
    """List runs."""
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
