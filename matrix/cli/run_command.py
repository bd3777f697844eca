"""``matrix run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli import completion
from matrix.cli.file_options import SpecCommand, given_to
from matrix.cli.gating import (
    AllowErroredOption,
    BaselineOption,
    FailOnOption,
    MarginOption,
    ThresholdOption,
    gates_of,
)
from matrix.cli.options import (
    AddressOption,
    AtCapOption,
    BudgetOption,
    CacheOption,
    ExecutorOption,
    JsonOption,
    MaxCostOption,
    MaxTurnsOption,
    ModelOption,
    OpenOption,
    OpenSessionsOption,
    OutsideOption,
    PerCellOption,
    QuietOption,
    ReportOption,
    ResultsOption,
    SeedOption,
    SessionsOption,
    SetOption,
    SpecArgument,
    StopEarlyOption,
    TimeLimitOption,
    WorkersOption,
    YesOption,
    executor_of,
    handed_to,
    overrides_of,
    say_if_built_in,
)
from matrix.cli.printing import say
from matrix.cli.series import FinishLastOption, Playing, alone, gravest, last_finished

if TYPE_CHECKING:
    from matrix.engine.prepare.prepared import Prepared

HELP = """Play a matrix to its end and say which variant won.

\b
    matrix run --sessions 500            the built-in matrix, simulated
    matrix run matrix.yaml --max-cost 5  your own, under a cap of 5 dollars
    matrix run --per-cell 40 --stop-early  stop once it is decided
    matrix run --per-cell 10 --set limits.turns=30
    matrix run --dry-run                 only show the plan
    matrix run support.py                a kind of your own, in one file
    matrix run --baseline main --margin 2 --fail-on regression
    matrix run nightly --baseline latest --margin 2 --finish-last
    matrix run --threshold score=75 --fail-on threshold
    matrix run --story put-it-back --prompt baseline --open     one session

Ctrl-C once: finish the calls in flight and leave a run that `matrix resume` goes on with.
Twice: stop at once. Gates (--baseline, --threshold) are decided at the end: exit code 3 if what
--fail-on names is shown. Too little data is told, and fails only with --fail-on not-enough-data,
or when more than --allow-errored of the sessions errored.
Flags that set a number or a name are also variables: MATRIX_SESSIONS=500.
Files of self-tests and criteria have options of their own: `matrix run FILE --help`; so have
play-tests: --story, --prompt and --narrator play one session, --players, --group and
--spokesperson say who plays it.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", cls=SpecCommand, help=HELP)(run)


def run(
    ctx: typer.Context,
    spec: SpecArgument = None,
    sessions: SessionsOption = None,
    per_cell: PerCellOption = None,
    max_cost: MaxCostOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    max_turns: MaxTurnsOption = None,
    time_limit: TimeLimitOption = None,
    open_sessions: OpenSessionsOption = None,
    at_cap: AtCapOption = None,
    stop_early: StopEarlyOption = None,
    model: ModelOption = None,
    settings: SetOption = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Run ids start with it.", show_default=False),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", metavar="ID", help="Name this run yourself.", show_default=False),
    ] = None,
    results: ResultsOption = "results",
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="RUN",
            help="Go on with a run.",
            show_default=False,
            autocompletion=completion.runs,
        ),
    ] = None,
    baseline: BaselineOption = None,
    margin: MarginOption = None,
    threshold: ThresholdOption = None,
    fail_on: FailOnOption = None,
    allow_errored: AllowErroredOption = None,
    finish_last: FinishLastOption = False,
    allow_outside: OutsideOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    cache: CacheOption = None,
    executor: ExecutorOption = "auto",
    address: AddressOption = None,
    workers: WorkersOption = None,
    report: ReportOption = True,
    open_report: OpenOption = False,
    yes: YesOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Play a matrix."""
    from matrix import api
    from matrix.api.gating import wanted_gates
    from matrix.cli.plan_command import print_plan
    from matrix.cli.resume_command import resume_run
    from matrix.model.documents.mistakes import together
    from matrix.report.gates.gate_wish import LATEST

    handed = handed_to(ctx)
    browse = handed.browse if open_report else None
    layers = overrides_of(
        settings,
        model,
        sessions=sessions,
        per_cell=per_cell,
        max_cost=max_cost,
        budget=budget,
        seed=seed,
        max_turns=max_turns,
        time_limit=time_limit,
        open_sessions=open_sessions,
        at_cap=at_cap,
        stop_early=stop_early,
        cache=cache,
        name=name,
    )
    choice = executor_of(executor, address, workers)
    wished = (baseline, margin, threshold or [], fail_on or [], allow_errored, results)
    report = report or _opened(ctx, open_report)
    if resume is not None:
        _refuse_both(finish_last)
        gates = gates_of(wanted_gates(*wished), api.open_run(resume, results=results).file, results)
        _refuse_of_file(ctx)
        flags = {"quiet": quiet, "json": json, "report": report}
        resume_run(resume, results, layers, choice, gates=gates, browse=browse, **flags)
        return
    say_if_built_in(spec)
    prepared, wish = together(
        lambda: api.plan(
            spec, overrides=layers, options=given_to(ctx), allow_outside=allow_outside
        ),
        lambda: wanted_gates(*wished),
    )
    if dry_run:
        gates_of(wish, prepared, results)
        print_plan(prepared, json=json)
        return
    play = Playing(results, choice, handed.clock, quiet, json, report, browse)
    with alone(finish_last or baseline == LATEST, results, prepared.spec.name):
        before = last_finished(prepared, wish, play) if finish_last else 0
        gates = gates_of(wish, prepared, results)
        _confirm(prepared, yes)
        with gravest(before):
            play.start(prepared, run_id, gates)


def _refuse_both(finish_last: bool) -> None:
    from matrix.model.errors import BadInput, Mistake

    if finish_last:
        told = "a run is named with --resume already; give one of the two"
        raise BadInput([Mistake("--finish-last", None, "", told)])


def _opened(ctx: typer.Context, opened: bool) -> bool:
    """Whether a report is to be opened, and so written, whatever the variable says.

    Raises:
        BadInput: The command line says that none is written.
    """
    from matrix.model.errors import BadInput, Mistake

    source = ctx.get_parameter_source("report")
    if opened and not ctx.params["report"] and source is not None and source.name == "COMMANDLINE":
        told = "opens a report, and --no-report writes none; leave one of the two out"
        raise BadInput([Mistake("--open", None, "", told)])
    return opened


def _refuse_of_file(ctx: typer.Context) -> None:
    from matrix.model.errors import BadInput, Mistake

    told = "is of a run that begins; one that is resumed has its cases already"
    if given := given_to(ctx):
        raise BadInput([Mistake(flag, None, "", told) for flag in given])


def _confirm(prepared: Prepared, yes: bool) -> None:
    """Ask before a run whose estimate is above its cap; the cap holds either way."""
    import sys

    from matrix.model.money import show_usd

    cap = prepared.spec.limits.cap_nano
    expected = prepared.estimate.middle
    if expected <= cap:
        return
    say(
        f"This run is expected to cost {show_usd(expected)}, above its cap of {show_usd(cap)}: "
        "it will stop at the cap with fewer sessions than planned.",
        err=True,
    )
    if not yes and sys.stdin.isatty() and not typer.confirm("Start it all the same?"):
        raise typer.Exit(0)
