"""``matrix compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from matrix.cli import completion
from matrix.cli.gating import (
    AllowErroredOption,
    BaselineOption,
    FailOnOption,
    ThresholdOption,
    exit_code,
    print_gate,
)
from matrix.cli.options import JsonOption, ResultsOption, RunArgument
from matrix.cli.printing import say

if TYPE_CHECKING:
    from matrix.report.gates.gating import GateReport

HELP = """Say which variant is better, and how sure that is.

\b
    matrix compare last                      what the spec declares
    matrix compare last --factor narrator --metric composite
    matrix compare last --by story --margin 2
    matrix compare last --against baseline   every prompt with one only
    matrix compare last --metric cost_usd --json
    matrix compare last --metric replies --lower-is-better
    matrix compare play-2026-a play-2026-b   two runs
    matrix compare last --baseline main --margin 2 --fail-on regression

RUN is an id, the beginning of one, a path, or 'last'.
METRIC is a score (composite: the primary one), failed, cost_usd, turns, calls, duration_s,
tokens_in or tokens_out. With --baseline, RUN is compared with that run. Gates (--baseline,
--threshold) tell what they found; what --fail-on names ends with exit code 3.
"""

OtherRunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN_B",
        help="A second run, to compare with.",
        show_default=False,
        autocompletion=completion.runs,
    ),
]
FactorOption = Annotated[
    str | None,
    typer.Option("--factor", metavar="NAME", help="Whose levels compete.", show_default=False),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help="What decides.",
        show_default=False,
        autocompletion=completion.metrics,
    ),
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
        help="Difference by scenario (or story), a field of it, or another factor.",
        show_default=False,
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against", metavar="LEVEL", help="Compare all with this one only.", show_default=False
    ),
]
LowerOption = Annotated[
    bool | None,
    typer.Option(
        "--lower-is-better/--higher-is-better",
        help="Which values of the metric are better; post hoc, unless it was declared so.",
        show_default=False,
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
    lower_is_better: LowerOption = None,
    all_metrics: AllMetricsOption = False,
    results: ResultsOption = "results",
    baseline: BaselineOption = None,
    threshold: ThresholdOption = None,
    fail_on: FailOnOption = None,
    allow_errored: AllowErroredOption = None,
    json: JsonOption = False,
) -> None:
    """Compare variants."""
    from matrix import api
    from matrix.api.gating import baseline_of
    from matrix.cli.printing import print_json, text_width
    from matrix.model.errors import BadInput, Mistake
    from matrix.report.gates.gate_wish import LATEST
    from matrix.report.gates.gating import gate_as_data
    from matrix.report.study.study_data import study_as_data
    from matrix.report.study.study_text import study_as_text

    if lower_is_better is not None and (baseline or threshold or fail_on):
        flag = "--lower-is-better" if lower_is_better else "--higher-is-better"
        told = "gates go by what the runs declare; leave it, or the gates, out"
        raise BadInput([Mistake(flag, None, "", told)])
    if baseline == LATEST:
        baseline = baseline_of(api.open_run(run, results=results))
    wished = (threshold or [], fail_on or [], allow_errored, results)
    report = _gate(run, other, metric, margin, baseline, wished)
    first, second = run, other
    if baseline is not None and factor is None:
        first, second = baseline, run
    if (
        report is not None
        and second is None
        and factor is None
        and _is_of_one_variant(run, results)
    ):
        if json:
            print_json({"gate": gate_as_data(report)})
        else:
            print_gate(report)
        raise typer.Exit(exit_code(report))
    study = api.compare(
        first,
        second,
        factor=factor,
        metric=metric,
        margin=margin,
        by=by,
        against=against,
        lower_is_better=lower_is_better,
        results=results,
    )
    if json:
        gated = {} if report is None else {"gate": gate_as_data(report)}
        print_json({**study_as_data(study), **gated})
    else:
        say(study_as_text(study, all_metrics=all_metrics, width=text_width()))
        if report is not None:
            say("")
            print_gate(report)
    if code := exit_code(report):
        raise typer.Exit(code)


def _is_of_one_variant(run: str, results: str) -> bool:
    """Whether a run has nothing that could be compared: it can be gated all the same."""
    from matrix import api

    plan = api.open_run(run, results=results).file.plan
    return len(plan.factors.get(plan.compared or "", ())) < 2


def _gate(
    run: str,
    other: str | None,
    metric: str | None,
    margin: float | None,
    baseline: str | None,
    wished: tuple[list[str], list[str], float | None, str],
) -> GateReport | None:
    """What the gates that were asked for say of the run; everything wrong is found first.

    ``wished`` are thresholds, what fails, the share that may have errored, and the results folder.
    """
    from dataclasses import replace

    from matrix import api
    from matrix.api.gating import check_gates, wanted_gates
    from matrix.model.errors import BadInput, Mistake

    if baseline is not None and other is not None:
        told = f"found {baseline!r} beside a second run; name the baseline as one of the two only"
        raise BadInput([Mistake("--baseline", None, "", told)])
    gate_margin = margin if baseline is not None else None
    wish = wanted_gates(baseline, gate_margin, *wished)
    if not wish.anything:
        return None
    results = wished[-1]
    opened = api.open_run(run, results=results)
    wish = replace(wish, metric=metric) if metric is not None else wish
    return check_gates(wish, opened.file, results).decide(opened)
