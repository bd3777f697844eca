"""``matrix repair``."""

from __future__ import annotations

import typer

from matrix.cli.options import JsonOption, ResultsOption, RunArgument
from matrix.cli.printing import say

HELP = """Make every table of a run again from its journal.

\b
    matrix repair last

Works whatever has happened to the tables: missing, torn, or of an earlier version. The journal is
not changed. A run that is alive is refused.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("repair", help=HELP)(repair)


def repair(
    run: RunArgument = "last",
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Repair a run's tables."""
    from matrix import api
    from matrix.cli.printing import print_json
    from matrix.report.run.archive_report import repaired_as_data, repaired_as_text

    done = api.repair(run, results=results)
    if json:
        print_json(repaired_as_data(done))
    else:
        say(repaired_as_text(done))
