"""``matrix resume``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.options import (
    AddressOption,
    BudgetOption,
    CacheOption,
    ExecutorOption,
    JsonOption,
    MaxCostOption,
    OpenSessionsOption,
    PerCellOption,
    QuietOption,
    ReportOption,
    ResultsOption,
    RunArgument,
    SessionsOption,
    SetOption,
    TimeLimitOption,
    TrustOption,
    WorkersOption,
    executor_of,
    overrides_of,
)

if TYPE_CHECKING:
    from matrix.api.gating import Gates
    from matrix.cli.options import Browse
    from matrix.engine.executors.executor import AnyExecutor
    from matrix.model.documents.overrides import Override

HELP = """Go on with a run that did not reach its end. Every session continues from its last turn.

\b
    matrix resume last
    matrix resume playtest-2026 --max-cost 80   with a higher cap
    matrix resume last --per-cell 80            with more rounds (open-ended)
    matrix resume last --redo-errored           and what trouble ended
    matrix resume last --redo-errored ProviderTimeout

A run that is complete is said to be, and left as it is.
Calls that are paid for are answered from the journal. Limits and --cache can change, and more
sessions can be added if the run's `compare.engine` is open-ended. If the code under the run has
changed, --redo-turn plays turns in flight again; what was paid stays paid.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", help=HELP)(resume)


def resume(
    run: RunArgument = "last",
    error_class: Annotated[
        str | None,
        typer.Argument(
            metavar="CLASS",
            help="With --redo-errored: only sessions that ended in this error.",
            show_default=False,
        ),
    ] = None,
    sessions: SessionsOption = None,
    per_cell: PerCellOption = None,
    max_cost: MaxCostOption = None,
    budget: BudgetOption = None,
    time_limit: TimeLimitOption = None,
    open_sessions: OpenSessionsOption = None,
    setting: SetOption = None,
    trust: TrustOption = False,
    results: ResultsOption = "results",
    cache: CacheOption = None,
    executor: ExecutorOption = "auto",
    address: AddressOption = None,
    workers: WorkersOption = None,
    redo_turn: Annotated[
        bool,
        typer.Option(
            "--redo-turn",
            help="Play turns in flight again from the checkpoints before, after code changed.",
        ),
    ] = False,
    redo_errored: Annotated[
        bool,
        typer.Option(
            "--redo-errored",
            help="Play errored sessions on from their last turns, also of a complete run.",
        ),
    ] = False,
    report: ReportOption = True,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Go on with a run."""
    chosen = _chosen(redo_errored, error_class)
    layers = overrides_of(
        setting,
        None,
        sessions=sessions,
        per_cell=per_cell,
        max_cost=max_cost,
        budget=budget,
        time_limit=time_limit,
        open_sessions=open_sessions,
        cache=cache,
    )
    choice = executor_of(executor, address, workers)
    resume_run(
        run,
        results,
        layers,
        choice,
        quiet=quiet,
        json=json,
        redo_turn=redo_turn,
        redo_errored=chosen,
        trust=trust,
        report=report,
    )


def _chosen(redo_errored: bool, error_class: str | None) -> bool | str:
    """Which errored sessions are played on.

    Raises:
        BadInput: A class without the flag.
    """
    from matrix.model.errors import BadInput, Mistake

    if error_class is None:
        return redo_errored
    if not redo_errored:
        message = "is a class of errors only after --redo-errored; a run is named first"
        raise BadInput([Mistake("matrix resume", None, error_class, message)])
    return error_class


def resume_run(
    run: str,
    results: str,
    layers: list[Override],
    executor: AnyExecutor,
    *,
    quiet: bool,
    json: bool,
    redo_turn: bool = False,
    redo_errored: bool | str = False,
    trust: bool = False,
    gates: Gates | None = None,
    report: bool = True,
    browse: Browse | None = None,
) -> None:
    """Resume and print; shared with ``matrix run --resume``."""
    from matrix import api
    from matrix.cli.finish import finish, shown
    from matrix.kinds.gateway import GATEWAY

    before = api.open_run(run, results=results).file
    program = before.kind == GATEWAY
    with shown(quiet=quiet or json, program=program) as listener:
        done = api.resume(
            run,
            results=results,
            trust=trust,
            executor=executor,
            listener=listener,
            overrides=layers,
            redo_turn=redo_turn,
            redo_errored=redo_errored,
        )
    finish(
        done,
        quiet=quiet,
        json=json,
        gates=gates,
        untouched=done.file == before,
        report=report,
        browse=browse,
    )
