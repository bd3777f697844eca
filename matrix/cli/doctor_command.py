"""``matrix doctor``."""

from __future__ import annotations

import typer

from matrix.cli.options import (
    AddressOption,
    ExecutorOption,
    JsonOption,
    ModelOption,
    ResultsOption,
    SetOption,
    SpecArgument,
    WorkersOption,
    executor_of,
    overrides_of,
    say_if_built_in,
)
from matrix.cli.printing import say

HELP = """Say what is missing for a run, before a cent is spent. It looks at packages, models,
prices, keys, limits, addresses of your own, the results folder and Ray, and sends no request to a
model.

\b
    matrix doctor                    ./matrix.yaml, or the built-in matrix
    matrix doctor smoke              a shipped spec on real models
    matrix doctor --model narrator=opus-4.5 --executor in-process

Exit code 2 if anything is missing.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", help=HELP)(doctor)


def doctor(
    spec: SpecArgument = None,
    model: ModelOption = None,
    settings: SetOption = None,
    results: ResultsOption = "results",
    executor: ExecutorOption = "auto",
    address: AddressOption = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Look at everything."""
    from matrix import api
    from matrix.cli.printing import print_json, text_width
    from matrix.report.run.checkup import findings_as_data, findings_as_text

    say_if_built_in(spec)
    found = api.doctor(
        spec,
        results=results,
        executor=executor_of(executor, address, workers),
        overrides=overrides_of(settings, model),
    )
    if json:
        print_json(findings_as_data(found.findings))
    else:
        say(findings_as_text(found.findings, width=text_width()))
    if not found.ready:
        raise typer.Exit(2)
