"""``matrix branch``."""

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
    OptionalSessionArgument,
    QuietOption,
    ResultsOption,
    RunArgument,
    TimeLimitOption,
    TrustOption,
    WorkersOption,
    YesOption,
    executor_of,
    overrides_of,
)
from matrix.cli.printing import say
from matrix.cli.replay_command import DryRunOption, NewRunOption

if TYPE_CHECKING:
    from matrix.api.sessions.choosing import Branching

HELP = """Play on from moments in several variants, as pairs.

\b
    matrix branch last 3f2a --turn 22 --variants prompt=baseline,pulse-aware
    matrix branch last --where 'events.kind == "loop"' --variants prompt=a,b

Every repeat has a seed that all variants share and the parent did not have, so
that bad luck is no argument. A condition compares columns of the run's tables
(table.column == value, joined by and, or) and picks the turn before each row.
Asks before more than 100 sessions or $1, unless --yes.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("branch", help=HELP)(branch)


def branch(
    run: RunArgument,
    session: OptionalSessionArgument = None,
    turn: Annotated[
        int | None,
        typer.Option(
            "--turn",
            metavar="N",
            help="Turn to go on after; 0 is the start.",
            min=0,
            show_default=False,
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Instead of one session: before each such row.",
            show_default=False,
        ),
    ] = None,
    variants: Annotated[
        list[str] | None,
        typer.Option("--variants", metavar="NAME=A,B", help="What to compare.", show_default=False),
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(
            "--times",
            metavar="N",
            help="Repeats of each variant: 10 from one moment, 1 from each of many.",
            show_default=False,
        ),
    ] = None,
    max_cost: MaxCostOption = None,
    budget: BudgetOption = None,
    time_limit: TimeLimitOption = None,
    open_sessions: OpenSessionsOption = None,
    cache: CacheOption = None,
    run_id: NewRunOption = None,
    trust: TrustOption = False,
    results: ResultsOption = "results",
    dry_run: DryRunOption = False,
    executor: ExecutorOption = "auto",
    address: AddressOption = None,
    workers: WorkersOption = None,
    yes: YesOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Play on from moments of sessions in several variants."""
    from matrix import api
    from matrix.cli.finish import see_through

    layers = overrides_of(
        None,
        None,
        max_cost=max_cost,
        budget=budget,
        time_limit=time_limit,
        open_sessions=open_sessions,
        cache=cache,
    )
    planned = api.plan_branch(
        run,
        session,
        turn=turn,
        where=where,
        variants=variants_of(variants or []),
        times=times,
        results=results,
        trust=trust,
        overrides=layers,
    )
    if not dry_run and not yes:
        _confirm(planned)
    choice = executor_of(executor, address, workers)
    see_through(planned, results, run_id, choice, dry_run=dry_run, quiet=quiet, json=json)


def _confirm(planned: Branching) -> None:
    """Ask before a large branch; where nobody can be asked, start nothing.

    Raises:
        BadInput: There is no terminal.
        typer.Exit: The answer was no.
    """
    import sys

    from matrix import api
    from matrix.model.errors import BadInput, Mistake

    question = api.worth_asking(planned)
    if not question:
        return
    if not sys.stdin.isatty():
        remedy = "; nothing was started: say --yes, or give a smaller --times or --max-cost"
        raise BadInput([Mistake("--yes", None, "", question + remedy)])
    say(f"T{question[1:]}.", err=True)
    if not typer.confirm("Start it?", err=True):
        raise typer.Exit(0)


def variants_of(given: list[str]) -> dict[str, list[object]]:
    """``NAME=A,B`` as names and values, each value read as YAML.

    Raises:
        BadInput: Variants of another form, or a name that is given twice.
    """
    from matrix.model.documents.mistakes import Mistakes
    from matrix.model.documents.overrides import from_settings

    variants: dict[str, list[object]] = {}
    mistakes = Mistakes()
    for text in given:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            mistakes.say("--variants", f"found {text!r}; write it as NAME=VALUE,VALUE")
        elif name in variants:
            mistakes.say(f"--variants {name}", "is given twice; name all its values at once")
        else:
            read = from_settings(f"{name}={value}" for value in values.split(","))
            variants[name] = [value for _, value, _ in read]
    mistakes.stop_if_any()
    return variants
