"""``matrix replay``."""

from __future__ import annotations

from typing import Annotated

import typer

from matrix.cli.options import (
    AddressOption,
    BudgetOption,
    CacheOption,
    ExecutorOption,
    JsonOption,
    MaxCostOption,
    OpenSessionsOption,
    OptionalRunArgument,
    OptionalSessionArgument,
    QuietOption,
    ResultsOption,
    TimeLimitOption,
    TrustOption,
    WorkersOption,
    executor_of,
    overrides_of,
)

HELP = """Play on from a session after a turn, with something changed.

\b
    matrix replay last worst --turn 22 --set prompt=pulse-aware
    matrix replay last 3f2a --turn 22 --set narrator=sim/opus-4.5 --times 5
    matrix replay last 3f2a --turn 22    on simulated models, the same again
    matrix replay --checkpoint turn-22.json --set prompt=pulse-aware

Conversation, players and group before that turn are kept. What can be set is a
role, an option of the kind, another scenario, or a text such as
guide=file://mine.md. The new sessions are a run of their own. A file that
`matrix export` wrote takes the place of run, session and turn, on any machine.
"""

TurnOption = Annotated[
    int | None,
    typer.Option(
        "--turn",
        metavar="N",
        help="Turn to go on after; 0 is the start.",
        min=0,
        show_default=False,
    ),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Instead of a run: an exported checkpoint.",
        show_default=False,
    ),
]
ChangesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="What to change.", show_default=False),
]
NewRunOption = Annotated[
    str | None,
    typer.Option("--run-id", metavar="ID", help="Name the new run yourself.", show_default=False),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", help=HELP)(replay)


def replay(
    run: OptionalRunArgument = None,
    session: OptionalSessionArgument = None,
    turn: TurnOption = None,
    checkpoint: CheckpointOption = None,
    trust: TrustOption = False,
    changes: ChangesOption = None,
    times: Annotated[
        int, typer.Option("--times", metavar="N", help="How often; the first keeps the seed.")
    ] = 1,
    max_cost: MaxCostOption = None,
    budget: BudgetOption = None,
    time_limit: TimeLimitOption = None,
    open_sessions: OpenSessionsOption = None,
    cache: CacheOption = None,
    run_id: NewRunOption = None,
    results: ResultsOption = "results",
    dry_run: DryRunOption = False,
    executor: ExecutorOption = "auto",
    address: AddressOption = None,
    workers: WorkersOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Play on from a session after one of its turns."""
    from matrix import api
    from matrix.cli.finish import see_through
    from matrix.model.documents.mistakes import together

    layers = overrides_of(
        None,
        None,
        max_cost=max_cost,
        budget=budget,
        time_limit=time_limit,
        open_sessions=open_sessions,
        cache=cache,
    )
    requested, _ = together(
        lambda: changes_of(changes or []),
        lambda: _check_place(run, session, turn, checkpoint),
    )
    if checkpoint is not None:
        planned = api.plan_replay_checkpoint(
            checkpoint,
            changes=requested,
            times=times,
            trust=trust,
            overrides=layers,
        )
    else:
        assert run is not None
        assert session is not None
        assert turn is not None
        planned = api.plan_replay(
            run,
            session,
            turn=turn,
            changes=requested,
            times=times,
            trust=trust,
            results=results,
            overrides=layers,
        )
    choice = executor_of(executor, address, workers)
    see_through(planned, results, run_id, choice, dry_run=dry_run, quiet=quiet, json=json)


def _check_place(
    run: str | None,
    session: str | None,
    turn: int | None,
    checkpoint: str | None,
) -> None:
    """Raise ``BadInput`` unless it is said in one way, and wholly, where to go on."""
    from matrix.model.documents.mistakes import Mistakes

    said, mistakes = (run, session, turn), Mistakes()
    in_a_run = None not in said
    if in_a_run == (checkpoint is not None) or (not in_a_run and said != (None, None, None)):
        message = "say where to go on: RUN SESSION with --turn N, or --checkpoint FILE"
        mistakes.say("matrix replay", message)
    mistakes.stop_if_any()


def changes_of(settings: list[str]) -> dict[str, object]:
    """``NAME=VALUE`` as names and values, read as YAML.

    Raises:
        BadInput: A change of another form, or one that is given twice.
    """
    from matrix.model.documents.overrides import from_settings
    from matrix.model.errors import BadInput, Mistake

    changes: dict[str, object] = {}
    for path, value, origin in from_settings(settings):
        name = ".".join(map(str, path))
        if name in changes:
            raise BadInput([Mistake(origin, None, "", "is given twice; name each change once")])
        changes[name] = value
    return changes
