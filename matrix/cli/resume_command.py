"""``matrix resume``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.options import (
    BudgetOption,
    CacheOption,
    InProcessOption,
    JsonOption,
    MaxCostOption,
    OpenSessionsOption,
    PerCellOption,
    QuietOption,
    ResultsOption,
    RunArgument,
    SessionsOption,
    TimeLimitOption,
    overrides_of,
)

if TYPE_CHECKING:
    from matrix.api.gating import Gates
    from matrix.model.overrides import Override

HELP = """Go on with a run that did not reach its end. Every session continues from its last turn.

\b
    matrix resume last
    matrix resume playtest-2026 --max-cost 80   with a higher cap
    matrix resume last --per-cell 80            with more rounds (open-ended)

Calls that are paid for are answered from the journal. Limits and --cache can change, and more
sessions can be added if the run's `compare.engine` is open-ended. If the code under the run has
changed, --redo-turn plays turns in flight again; what was paid stays paid.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", help=HELP)(resume)


def resume(
    run: RunArgument = "last",
    sessions: SessionsOption = None,
    per_cell: PerCellOption = None,
    max_cost: MaxCostOption = None,
    budget: BudgetOption = None,
    time_limit: TimeLimitOption = None,
    open_sessions: OpenSessionsOption = None,
    results: ResultsOption = "results",
    cache: CacheOption = None,
    in_process: InProcessOption = False,
    redo_turn: Annotated[
        bool,
        typer.Option(
            "--redo-turn",
            help="Play turns in flight again from the checkpoints before, after code changed.",
        ),
    ] = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Go on with a run."""
    layers = overrides_of(
        None,
        None,
        sessions=sessions,
        per_cell=per_cell,
        max_cost=max_cost,
        budget=budget,
        time_limit=time_limit,
        open_sessions=open_sessions,
        cache=cache,
    )
    executor = "in-process" if in_process else "ray"
    resume_run(run, results, layers, executor, quiet=quiet, json=json, redo_turn=redo_turn)


def resume_run(
    run: str,
    results: str,
    layers: list[Override],
    executor: str,
    *,
    quiet: bool,
    json: bool,
    redo_turn: bool = False,
    gates: Gates | None = None,
) -> None:
    """Resume and print; shared with ``matrix run --resume``."""
    from matrix import api
    from matrix.cli.finish import finish, listener_for

    listener = listener_for(quiet=quiet or json)
    with listener:
        done = api.resume(
            run,
            results=results,
            executor=executor,
            listener=listener,
            overrides=layers,
            redo_turn=redo_turn,
        )
    finish(done, quiet=quiet, json=json, gates=gates)
