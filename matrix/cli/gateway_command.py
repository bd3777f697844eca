"""``matrix gateway``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli.options import (
    BudgetOption,
    MaxCostOption,
    ResultsOption,
    SetOption,
    handed_to,
    overrides_of,
)
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.cli.display import Quiet
    from matrix.engine.run.progress import Progress


HELP = """Run any command under a hard cap on what it asks of models.

\b
    matrix gateway --max-cost 5 -- claude -p "fix the failing test"
    matrix gateway --max-cost 2 --budget agents=20/day -- python my_agent.py
    matrix gateway --max-cost 1 --model sim/opus-4.5 -- ./agent    for nothing

The command is given an address on this machine (OPENAI_BASE_URL, ANTHROPIC_BASE_URL) and a key that
is worthless elsewhere; keys of providers are kept from it. Requests in the shapes of OpenAI's chat
and responses and of Anthropic's messages pass as they are, but for the key: each is held, limited,
journalled and settled first, or refused in the provider's own words when the cap is reached. It is
a run: `matrix list`, `show` and the tables have every call.

Exit code: the command's own; 4 if the cap refused anything, or the run ended before the command:
interrupted, say. `matrix resume` then starts the command again, and pays for no answer twice.
"""


def _troubles() -> Quiet:
    """Says why a request waits: the command has the screen, and only this interrupts it."""
    from matrix.cli.display import Quiet

    class Troubles(Quiet):
        told = ""

        def progress(self, progress: Progress) -> None:
            trouble = progress.counters.trouble
            if "next try in" in trouble and trouble != self.told:
                self.told = trouble
                say(f"matrix gateway: {trouble}", err=True)

    return Troubles()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gateway", help=HELP)(gateway)


def gateway(
    ctx: typer.Context,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="Program and arguments.", show_default=False),
    ],
    max_cost: MaxCostOption = None,
    budget: BudgetOption = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="Ask this model, whatever model is named.",
            show_default=False,
        ),
    ] = "",
    settings: SetOption = None,
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", metavar="ID", help="Name this run yourself.", show_default=False),
    ] = None,
    results: ResultsOption = "results",
) -> None:
    """Run a command at a metered address."""
    from matrix.api.runs.metering import gateway as play
    from matrix.api.runs.metering import plan_gateway
    from matrix.cli.finish import INCOMPLETE, CommandEnded
    from matrix.model.money import show_usd
    from matrix.report.run.summary_text import head_line
    from matrix.report.text import plural
    from matrix.store.run.run_folder import resume_command

    layers = overrides_of(settings, None, max_cost=max_cost, budget=budget)
    prepared = plan_gateway(command, stand_in=model, overrides=layers)
    with _troubles() as listener:
        done = play(
            prepared,
            results=results,
            run_id=run_id,
            listener=listener,
            clock=handed_to(ctx).clock,
        )
    summary = done.run.summary()
    simulated = " (simulated)" if prepared.play_money else ""
    told = f"{show_usd(summary.spent_nano)} of {show_usd(summary.run.cap_nano)}{simulated}"
    say(
        f"matrix gateway: {told} for {plural(done.requests, 'request')}; "
        f"`matrix show {done.run.id}`",
        err=True,
    )
    if done.run.status != "complete":
        again = f"`{resume_command(done.run.path)}` starts the command again"
        say(f"matrix gateway: {head_line(summary)}; {again}", err=True)
    if done.capped:
        why = "at the cap; a new run with a higher --max-cost (or budget) lets more through"
        if summary.overrun_nano:
            charged = "a provider charged more than requests allowed"
            why = f"after an overrun; {charged}, so nothing more was sent"
        refused = plural(done.capped, "request was", "requests were")
        say(f"matrix gateway: {refused} refused {why}", err=True)
    if done.capped or done.exit_code is None:
        raise typer.Exit(INCOMPLETE)
    raise CommandEnded(done.exit_code)
