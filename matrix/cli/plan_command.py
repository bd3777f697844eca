"""``matrix plan``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.file_options import SpecCommand, given_to
from matrix.cli.options import (
    AtCapOption,
    BudgetOption,
    JsonOption,
    MaxCostOption,
    MaxTurnsOption,
    ModelOption,
    OutsideOption,
    PerCellOption,
    ResultsOption,
    SeedOption,
    SessionsOption,
    SetOption,
    SpecArgument,
    StopEarlyOption,
    overrides_of,
    say_if_built_in,
)
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared
    from matrix.report.planning.planning import Pilot

HELP = """Show what a run would do, without starting anything. It prints the cells, the number of
sessions, the models, the expected cost, and what differences so many sessions can show.

\b
    matrix plan --sessions 500
    matrix plan matrix.yaml --json
    matrix plan --from last          with the spread of an earlier run

The same as `matrix run --dry-run`.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", cls=SpecCommand, help=HELP)(plan)


def plan(
    ctx: typer.Context,
    spec: SpecArgument = None,
    sessions: SessionsOption = None,
    per_cell: PerCellOption = None,
    max_cost: MaxCostOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    max_turns: MaxTurnsOption = None,
    at_cap: AtCapOption = None,
    stop_early: StopEarlyOption = None,
    model: ModelOption = None,
    settings: SetOption = None,
    pilot: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="A run to take the spread of the differences from.",
            show_default=False,
        ),
    ] = None,
    allow_outside: OutsideOption = False,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Show the plan."""
    from matrix import api

    layers = overrides_of(
        settings,
        model,
        sessions=sessions,
        per_cell=per_cell,
        max_cost=max_cost,
        budget=budget,
        seed=seed,
        max_turns=max_turns,
        at_cap=at_cap,
        stop_early=stop_early,
    )
    say_if_built_in(spec)
    prepared = api.plan(spec, overrides=layers, options=given_to(ctx), allow_outside=allow_outside)
    seen = None if pilot is None else api.pilot_for(prepared, pilot, results)
    print_plan(prepared, json=json, pilot=seen)


def print_plan(prepared: Prepared, *, json: bool, pilot: Pilot | None = None) -> None:
    """Print a plan; shared with ``matrix run --dry-run``."""
    from matrix.api.planning import as_seen_here
    from matrix.cli.printing import print_json, text_width
    from matrix.report.planning.plan import plan_as_data, plan_as_text

    prepared = as_seen_here(prepared)
    if json:
        print_json(plan_as_data(prepared, pilot))
    else:
        say(plan_as_text(prepared, cells=True, width=text_width(), pilot=pilot))
