"""``matrix rejudge``."""

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
    QuietOption,
    ResultsOption,
    RunArgument,
    TimeLimitOption,
    TrustOption,
    WorkersOption,
    executor_of,
    overrides_of,
)
from matrix.cli.replay_command import DryRunOption, NewRunOption

HELP = """Judge the sessions of a run again, from what is stored of them.

\b
    matrix rejudge last --judge sim/opus-4.5
    matrix rejudge last --rubric rubrics/tone.md --target narrator
    matrix rejudge last --missing        only sessions that lack a score
    matrix rejudge last --rubric which.md --against baseline

Nobody but judges is asked. The new scores are a run of their own, in which
each session has its round and its variant, so `matrix compare` says what they
come to; the run itself stays as it is. The kind's own judge is asked, too,
by --judge where no --rubric says what that one is for, else as before: by
the rubrics and scenarios that the run keeps, not by their files of today.
A judge that is asked the same as in the run is answered by the run's records,
unless --no-cache is said; an agent is asked again.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rejudge", help=HELP)(rejudge)


def rejudge(
    run: RunArgument,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="MODEL",
            help="Another judge, of rubrics if any are named; several are a panel.",
            show_default=False,
        ),
    ] = None,
    rubric: Annotated[
        list[str] | None,
        typer.Option(
            "--rubric",
            metavar="FILE",
            help="A rubric, in place of those that the run lists.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option("--target", metavar="WHAT", help="What rubrics look at: last, or a speaker."),
    ] = "transcript",
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Judgings by each rubric.", min=1)
    ] = 1,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="LEVEL",
            help="Beside that variant's session of the same round: which is better?",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing", help="Only sessions that have no score, or none of a listed rubric."
        ),
    ] = False,
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
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Judge the sessions of a run again."""
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
    planned = api.plan_rejudge(
        run,
        judge=judge,
        rubrics=rubric or [],
        target=target,
        repeats=repeats,
        missing=missing,
        against=against,
        results=results,
        trust=trust,
        overrides=layers,
    )
    choice = executor_of(executor, address, workers)
    see_through(planned, results, run_id, choice, dry_run=dry_run, quiet=quiet, json=json)
