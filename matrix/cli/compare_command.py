"""``matrix compare``."""

from __future__ import annotations

from typing import Annotated

import typer

from matrix.cli.options import JsonOption, ResultsOption, RunArgument

HELP = """Say which variant is better, and how sure that is.

\b
    matrix compare last                      what the spec declares
    matrix compare last --factor narrator --metric composite
    matrix compare last --by story --margin 2
    matrix compare last --against baseline   every prompt with one only
    matrix compare last --metric cost_usd --json
    matrix compare play-2026-a play-2026-b   two runs

RUN is an id, the beginning of one, a path, or 'last'.
METRIC is a score (composite: the primary one), failed, cost_usd, turns, calls, duration_s,
tokens_in or tokens_out.
"""

OtherRunArgument = Annotated[
    str | None,
    typer.Argument(metavar="RUN_B", help="A second run, to compare with.", show_default=False),
]
FactorOption = Annotated[
    str | None,
    typer.Option("--factor", metavar="NAME", help="Whose levels compete.", show_default=False),
]
MetricOption = Annotated[
    str | None,
    typer.Option("--metric", metavar="METRIC", help="What decides.", show_default=False),
]
MarginOption = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="X",
        help="Differences up to X count as none; post hoc, unless the spec says the same.",
        show_default=False,
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="Difference by scenario (or story), or by another factor.",
        show_default=False,
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against", metavar="LEVEL", help="Compare all with this one only.", show_default=False
    ),
]
AllMetricsOption = Annotated[
    bool, typer.Option("--all-metrics", help="List metrics that do not differ, too.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare", help=HELP)(compare)


def compare(
    run: RunArgument = "last",
    other: OtherRunArgument = None,
    factor: FactorOption = None,
    metric: MetricOption = None,
    margin: MarginOption = None,
    by: ByOption = None,
    against: AgainstOption = None,
    all_metrics: AllMetricsOption = False,
    results: ResultsOption = "results",
    json: JsonOption = False,
) -> None:
    """Compare variants."""
    from matrix import api
    from matrix.cli.printing import print_json, text_width
    from matrix.report.study_data import study_as_data
    from matrix.report.study_text import study_as_text

    study = api.compare(
        run,
        other,
        factor=factor,
        metric=metric,
        margin=margin,
        by=by,
        against=against,
        results=results,
    )
    if json:
        print_json(study_as_data(study))
    else:
        typer.echo(study_as_text(study, all_metrics=all_metrics, width=text_width()))
