"""``matrix budgets``."""

from __future__ import annotations

import typer

from matrix.cli.options import JsonOption, ResultsOption
from matrix.cli.printing import say

HELP = """Show what rolling budgets have left. A budget is shared by the runs of a results folder
that name it; the table says what they drew and when more comes free.

\b
    matrix budgets
    matrix budgets --results nightly --json

A budget is made by the first run that names it: matrix run --budget nightly=50/day
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("budgets", help=HELP)(budgets)


def budgets(results: ResultsOption = "results", json: JsonOption = False) -> None:
    """Show budgets."""
    from matrix import api
    from matrix.cli.printing import print_json
    from matrix.report.run.budgets import budgets_as_data, budgets_as_text

    states = api.budgets(results)
    if json:
        print_json(budgets_as_data(states))
    elif not states:
        say(f"no budgets in {results}; `matrix run --budget nightly=50/day` makes one")
    else:
        say(budgets_as_text(states))
