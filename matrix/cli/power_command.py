"""``matrix power``."""

from __future__ import annotations

from typing import Annotated

import typer

from matrix.cli.options import JsonOption, ResultsOption
from matrix.cli.printing import say

HELP = """Say what a difference takes, and what a plan can show.

\b
    matrix power --effect 3 --sd 8         a difference of 3, at this spread
    matrix power --effect 3 --from last    spread, costs, failures of a run
    matrix power --budget 20 --from last   what can 20 dollars show?
    matrix power mini --effect 3 --sd 8    plan and prices of a spec

The answer is in rounds, sessions and, where the cost of a round is known, dollars. The spread is
the standard deviation of the difference of two variants from round to round. What is said goes
over what SPEC says, that over the run. A winner is also shown not to fail more often, which takes
pairs of its own.
"""

SpecOption = Annotated[
    str | None,
    typer.Argument(metavar="SPEC", help="A run spec to plan with.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("power", help=HELP)(power)


def _number(flag: str, text: str, metavar: str = "X") -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        flag, metavar=metavar, help=text, show_default=False
    )
    return option


def power(
    spec: SpecOption = None,
    effect: Annotated[float | None, _number("--effect", "Difference to be shown.")] = None,
    sd: Annotated[float | None, _number("--sd", "Spread of the difference.")] = None,
    sd_a: Annotated[float | None, _number("--sd-a", "Spread of one variant instead.")] = None,
    sd_b: Annotated[float | None, _number("--sd-b", "Spread of the other.")] = None,
    correlation: Annotated[
        float,
        typer.Option("--correlation", metavar="R", help="Between the two; 0 shares nothing."),
    ] = 0.0,
    pilot: Annotated[
        str | None, _number("--from", "Take spread, costs and failures from a run.", "RUN")
    ] = None,
    factor: Annotated[str | None, _number("--factor", "The factor compared in it.", "NAME")] = None,
    metric: Annotated[str | None, _number("--metric", "The metric.", "NAME")] = None,
    rounds: Annotated[int | None, _number("--rounds", "What can so many rounds show?", "N")] = None,
    budget: Annotated[
        float | None, _number("--budget", "What can so much money show?", "USD")
    ] = None,
    variants: Annotated[int | None, _number("--variants", "Variants compared.", "K")] = None,
    pairs: Annotated[
        int | None, _number("--pairs", "Pairs in a round: scenarios x other factors.", "N")
    ] = None,
    chance: Annotated[
        float, typer.Option("--power", metavar="P", help="Wanted chance to show the effect.")
    ] = 0.8,
    confidence: Annotated[
        float | None, _number("--confidence", "0.95 for an error rate of 5 %.", "P")
    ] = None,
    engine: Annotated[
        str | None, _number("--engine", "When scores are looked at.", "[fixed|planned|open-ended]")
    ] = None,
    failure_margin: Annotated[
        float | None,
        _number("--failure-margin", "Points by which a winner may fail more often.", "POINTS"),
    ] = None,
    yes_no: Annotated[
        bool, typer.Option("--yes-no", help="Scores are 0 or 1; those of a run tell themselves.")
    ] = False,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Plan."""
    from matrix import api
    from matrix.cli.printing import print_json, text_width
    from matrix.report.planning.planning_text import answer_as_data, answer_as_text

    found = api.power(
        spec,
        effect=effect,
        sd=sd,
        sd_a=sd_a,
        sd_b=sd_b,
        correlation=correlation,
        pilot=pilot,
        factor=factor,
        metric=metric,
        rounds=rounds,
        budget=budget,
        variants=variants,
        pairs=pairs,
        chance=chance,
        confidence=confidence,
        engine=engine,
        failure_margin=failure_margin,
        yes_no=yes_no,
        results=results,
    )
    if json:
        print_json(answer_as_data(found))
    else:
        say(answer_as_text(found, width=text_width()))
