"""``matrix replay``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from matrix.cli.file_options import ReplayCommand, given_to
from matrix.cli.options import (
    AddressOption,
    BudgetOption,
    CacheOption,
    ExecutorOption,
    JsonOption,
    MaxCostOption,
    OpenOption,
    OpenSessionsOption,
    OptionalRunArgument,
    OptionalSessionArgument,
    QuietOption,
    ResultsOption,
    TimeLimitOption,
    TrustOption,
    WorkersOption,
    executor_of,
    handed_to,
    overrides_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matrix.api.sessions.choosing import Branching
    from matrix.engine.executors.executor import AnyExecutor

HELP = """Play on from a session after a turn, with something changed.

\b
    matrix replay last worst --turn 22 --set prompt=pulse-aware
    matrix replay last 3f2a --turn 22 --set narrator=sim/opus-4.5 --times 5
    matrix replay last 3f2a --turn 22    on simulated models, the same again
    matrix replay --checkpoint turn-22.json --prompt pulse-aware
    matrix replay last 3f2a --ask Ned "Why did you stay behind?"

Conversation, players and group before that turn are kept. What can be set is a
role, an option of the kind, another scenario, or a text such as
guide=file://mine.md; for play-tests --prompt, --narrator, --story, --group and
--spokesperson say the same in fewer words. The new sessions are a run of their own. A file that
`matrix export` wrote takes the place of run, session and turn, on any machine.
With --ask nothing is played on: one player answers, in character, from what they
remember after that turn (the last, if none is named), and the session stays as it was.
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
AskOption = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--ask",
        metavar="PLAYER QUESTION",
        help="Ask one player instead of playing on.",
        show_default=False,
    ),
]
NewRunOption = Annotated[
    str | None,
    typer.Option("--run-id", metavar="ID", help="Name the new run yourself.", show_default=False),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", cls=ReplayCommand, help=HELP)(replay)


def replay(
    ctx: typer.Context,
    run: OptionalRunArgument = None,
    session: OptionalSessionArgument = None,
    turn: TurnOption = None,
    checkpoint: CheckpointOption = None,
    trust: TrustOption = False,
    changes: ChangesOption = None,
    ask: AskOption = None,
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
    open_report: OpenOption = False,
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
        lambda: _all_changes(changes or [], given_to(ctx)),
        lambda: _check_place(run, session, turn, checkpoint, asked=ask is not None),
    )
    planned: Branching
    if checkpoint is not None:
        from_file: dict[str, Any] = {"changes": requested, "times": times, "trust": trust}
        if ask is None:
            planned = api.plan_replay_checkpoint(checkpoint, **from_file, overrides=layers)
        else:
            planned = api.plan_interview_checkpoint(checkpoint, *ask, **from_file, overrides=layers)
    else:
        assert run is not None
        assert session is not None
        in_run: dict[str, Any] = {
            "changes": requested,
            "times": times,
            "trust": trust,
            "results": results,
            "overrides": layers,
        }
        if ask is None:
            assert turn is not None
            planned = api.plan_replay(run, session, turn=turn, **in_run)
        else:
            planned = api.plan_interview(run, session, *ask, turn=turn, **in_run)
    choice = executor_of(executor, address, workers)
    if ask is None:
        browse = handed_to(ctx).browse if open_report else None
        flags = {"dry_run": dry_run, "quiet": quiet, "json": json}
        see_through(planned, results, run_id, choice, browse=browse, **flags)
    else:
        _hear(planned, results, run_id, choice, dry_run=dry_run, quiet=quiet, json=json)


def _hear(
    planned: Branching,
    results: str,
    run_id: str | None,
    executor: AnyExecutor,
    *,
    dry_run: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Have somebody asked, and print what they say."""
    from matrix import api
    from matrix.cli.finish import played_or_planned
    from matrix.cli.printing import print_json, say
    from matrix.model.money import show_usd
    from matrix.report.text import harmless

    run = played_or_planned(
        planned, results, run_id, executor, dry_run=dry_run, quiet=quiet, json=json
    )
    if run is None:
        return
    heard = api.answered(run)
    totals = run.file.totals
    spent = totals.charged_nano if totals is not None else 0
    if json:
        print_json(
            {
                "run": run.id,
                "session": heard.session_id,
                "turn": heard.turn,
                "player": heard.who,
                "question": heard.question,
                "answers": list(heard.answers),
                "usd": spent / 1e9,
            }
        )
        return
    for answer in heard.answers:
        say(harmless(f"{heard.who}: {answer}"))
    if not quiet:
        noted = " (simulated)" if run.file.simulated else ""
        where = f"after turn {heard.turn} of session {heard.session_id}"
        say(f"\nasked {where}, in run {run.id}: {show_usd(spent)}{noted}")


def _check_place(
    run: str | None,
    session: str | None,
    turn: int | None,
    checkpoint: str | None,
    *,
    asked: bool,
) -> None:
    """Raise ``BadInput`` unless it is said in one way, and wholly, where to go on."""
    from matrix.model.documents.mistakes import Mistakes

    said, mistakes = (run, session, turn), Mistakes()
    in_a_run = None not in (said[:2] if asked else said)
    if in_a_run == (checkpoint is not None) or (not in_a_run and said != (None, None, None)):
        message = "say where to go on: RUN SESSION with --turn N, or --checkpoint FILE"
        if asked:
            message = "say whose players are asked: RUN SESSION, or --checkpoint FILE"
        mistakes.say("matrix replay", message)
    mistakes.stop_if_any()


def _all_changes(settings: list[str], given: Mapping[str, str | bool]) -> dict[str, object]:
    """What ``--set`` and options of kinds change.

    Raises:
        BadInput: A change of another form, or one that is given twice.
    """
    changes = changes_of(settings)
    if not given:
        return changes
    from matrix.engine.prepare.registry import changes_given
    from matrix.model.errors import BadInput, Mistake

    added = changes_given({flag: str(value) for flag, value in given.items()})
    told = "is given twice, by --set and by an option of its own; name each change once"
    if twice := sorted(changes.keys() & added.keys()):
        raise BadInput([Mistake(f"--set {name}", None, "", told) for name in twice])
    return {**changes, **added}


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
