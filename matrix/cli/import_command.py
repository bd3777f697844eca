"""``matrix import``."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated, Any

import typer

from matrix.cli.options import JsonOption, ResultsOption
from matrix.cli.printing import say
from matrix.cli.replay_command import NewRunOption
from matrix.model.errors import BadInput, Mistake

HELP = """Make a run of results that exist, to compare them.

\b
    matrix import results.csv
    matrix import results.csv --unit question --variant model --score correct
    matrix import before.csv after.csv       each file is a variant
    matrix import promptfoo.json
    matrix import logs/a.eval logs/b.eval    inspect_ai's logs

Reads promptfoo's results, inspect_ai's logs (.eval, .json), CSV, Parquet and JSON
lines. Columns are found by their usual names, which docs/import.md lists with the words
for failures, and what was taken for what is said.
Nothing is played and nothing is paid: compare, report and power --from work on the
run as on any other.
"""


def _column(flag: str, text: str) -> Any:
    return typer.Option(flag, metavar="COLUMN", help=text, show_default=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import", help=HELP)(import_results)


def import_results(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Results, of one form.")],
    unit: Annotated[
        str | None, _column("--unit", "What rows are paired on; none for nothing.")
    ] = None,
    variant: Annotated[
        list[str] | None, _column("--variant", "What was compared; or several.")
    ] = None,
    score: Annotated[
        str | None, _column("--score", "What decides: a number, or right or wrong.")
    ] = None,
    cost: Annotated[str | None, _column("--cost", "What a row cost, in US dollars.")] = None,
    scenario: Annotated[
        str | None, _column("--scenario", "Scenarios, which weigh alike; none for none.")
    ] = None,
    repeat: Annotated[
        str | None, _column("--repeat", "What tells repeats of a unit apart.")
    ] = None,
    status: Annotated[
        str | None, _column("--status", "How results ended, in words, or whether they failed.")
    ] = None,
    failed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="A word for failures, of the status or in place of a score; or several.",
            show_default=False,
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Less of the score is better.")
    ] = False,
    higher_is_better: Annotated[
        bool, typer.Option("--higher-is-better", help="More is; by its name if not said.")
    ] = False,
    lower: Annotated[
        list[str] | None, _column("--lower", "A metric of which less is better; or several.")
    ] = None,
    run_id: NewRunOption = None,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Import results."""
    from matrix.api.runs.importing import import_as
    from matrix.cli.printing import print_json, text_width
    from matrix.report.run.imported_text import imported_as_text
    from matrix.report.run.summary_data import summary_as_data
    from matrix.store.foreign.results import Wishes

    wishes = Wishes(
        unit,
        tuple(variant or ()),
        score,
        cost,
        scenario,
        repeat,
        status,
        tuple(lower or ()),
        tuple(failed or ()),
    )
    if lower_is_better and higher_is_better:
        both = "is given with --higher-is-better; one of them is meant"
        raise BadInput([Mistake("--lower-is-better", None, "", both)])
    gc.disable()  # rows by the million and no circle among them: looking takes a sixth of the time
    try:
        found = import_as(
            files,
            wishes,
            lower=lower_is_better if lower_is_better or higher_is_better else None,
            results=results,
            run_id=run_id,
            listener=lambda told: say(told, err=True),
        )
        summary = found.run.summary()
    finally:
        gc.enable()
    if json:
        told = {"taken": dict(found.taken), "notes": list(found.notes)}
        print_json({**summary_as_data(summary), "imported": told})
    else:
        say(imported_as_text(summary, found.taken, found.notes, width=text_width()))
