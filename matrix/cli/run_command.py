"""``matrix run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.gating import BaselineOption, FailOnOption, MarginOption, ThresholdOption
from matrix.cli.options import (
    AtCapOption,
    BudgetOption,
    CacheOption,
    InProcessOption,
    JsonOption,
    MaxCostOption,
    MaxTurnsOption,
    ModelOption,
    OpenSessionsOption,
    PerCellOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    SessionsOption,
    SetOption,
    SpecArgument,
    StopEarlyOption,
    TimeLimitOption,
    YesOption,
    overrides_of,
)

if TYPE_CHECKING:
    from matrix.api.gating import Gates
    from matrix.engine.prepared import Prepared
    from matrix.report.gating import GateWish
    from matrix.store.run_folder import RunFile

HELP = """Play a matrix to its end and say which variant won.

\b
    matrix run --sessions 500            the built-in matrix, simulated
    matrix run matrix.yaml --max-cost 5  your own, under a cap of 5 dollars
    matrix run --per-cell 40 --stop-early  stop once it is decided
    matrix run --per-cell 10 --set limits.turns=30
    matrix run --dry-run                 only show the plan
    matrix run --baseline nightly --margin 2 --fail-on regression
    matrix run --threshold score=75 --fail-on threshold

Ctrl-C once: finish the calls in flight and leave a run that `matrix resume` goes on with.
Twice: stop at once. Gates (--baseline, --threshold) are decided at the end: exit code 3 if what
--fail-on names is shown. Too little data is told, and fails only with --fail-on not-enough-data.
Flags that set a number or a name are also variables: MATRIX_SESSIONS=500.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", help=HELP)(run)


def run(
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
        typer.Option("--resume", metavar="RUN", help="Go on with a run.", show_default=False),
    ] = None,
    baseline: BaselineOption = None,
    margin: MarginOption = None,
    threshold: ThresholdOption = None,
    fail_on: FailOnOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    cache: CacheOption = None,
    in_process: InProcessOption = False,
    yes: YesOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Play a matrix."""
    from matrix import api
    from matrix.api.gating import wanted_gates
    from matrix.cli.finish import finish, listener_for
    from matrix.cli.plan_command import print_plan
    from matrix.cli.resume_command import resume_run
    from matrix.engine.mistakes import together

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
    executor = "in-process" if in_process else "ray"
    wished = (baseline, margin, threshold or [], fail_on or [], results)
    if resume is not None:
        gates = _checked(wanted_gates(*wished), api.open_run(resume, results=results).file, results)
        resume_run(resume, results, layers, executor, quiet=quiet, json=json, gates=gates)
        return
    prepared, wish = together(
        lambda: api.plan(spec, overrides=layers), lambda: wanted_gates(*wished)
    )
    gates = _checked(wish, prepared, results)
    if dry_run:
        print_plan(prepared, json=json)
        return
    _confirm(prepared, yes)
    listener = listener_for(quiet=quiet or json)
    with listener:
        done = api.start(
            prepared, results=results, run_id=run_id, executor=executor, listener=listener
        )
    finish(done, quiet=quiet, json=json, gates=gates)


def _checked(wish: GateWish, run: Prepared | RunFile, results: str) -> Gates | None:
    from matrix.api.gating import check_gates

    if not wish.anything:
        return None
    gates = check_gates(wish, run, results)
    for note in gates.notes:
        typer.echo(f"gate: {note}", err=True)
    return gates


def _confirm(prepared: Prepared, yes: bool) -> None:
    """Ask before a run whose estimate is above its cap; the cap holds either way."""
    import sys

    from matrix.model.money import show_usd

    cap = prepared.spec.limits.cap_nano
    expected = prepared.estimate.middle
    if expected <= cap:
        return
    typer.echo(
        f"This run is expected to cost {show_usd(expected)}, above its cap of {show_usd(cap)}: "
        "it will stop at the cap with fewer sessions than planned.",
        err=True,
    )
    if not yes and sys.stdin.isatty() and not typer.confirm("Start it all the same?"):
        raise typer.Exit(0)
