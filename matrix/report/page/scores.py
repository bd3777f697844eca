"""Chapters on scores: variants, scenarios, noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from matrix.report.page.blocks import Block, DataTable, Facts, Figure, TableCell, shade
from matrix.report.page.charts import score_ranges
from matrix.report.page.drawing import draw
from matrix.report.page.known import RunFacts, figure, level_columns
from matrix.report.page.run_charts import distributions_of, intervals_of
from matrix.report.page.run_charts import noise_of as noise_chart_of
from matrix.report.run.summary_text import variant_table
from matrix.report.study.study_sections import (
    breakdown_section,
    elsewhere_told,
    noise_section,
    people_section,
    risk_section,
    secondary_section,
)
from matrix.report.study.study_text import pairs_section, variants_section
from matrix.report.text import number, score_digits


def variants_of(run: RunFacts, frame: Any) -> Iterator[Block]:
    """Variants: means, differences, distributions."""
    study, summary = run.study, run.summary
    if study is None:
        if summary.whole is not None:
            headers, cells = variant_table(summary)
            yield DataTable("All sessions", headers, [[TableCell(c) for c in row] for row in cells])
            yield from _distribution(run, frame)
        return
    if (charted := intervals_of(run)) is not None:
        yield figure(
            charted.chart,
            [study.factor, "mean", "low", "high"],
            [
                [str(row["name"]), *(number(row[key], 3) for key in ("mean", "low", "high"))]
                for row in charted.rows
            ],
        )
    yield DataTable.of(variants_section(study), "Every variant, with every denominator")
    if (pairs := pairs_section(study)) is not None:
        yield DataTable.of(pairs)
    if (risk := risk_section(study)) is not None:
        yield DataTable.of(risk)
    if (people := people_section(study)) is not None:
        yield DataTable.of(people)
    yield Facts([("other scenarios", elsewhere_told(study))])
    yield from _distribution(run, frame)
    if (secondary := secondary_section(study, all_metrics=False)) is not None:
        yield DataTable.of(secondary)


def _distribution(run: RunFacts, frame: Any) -> Iterator[Block]:
    if (charted := distributions_of(run, frame)) is None:
        return
    digits = max(2, score_digits(run.summary.run.plan.score_range))
    yield figure(
        charted.chart,
        [
            run.study.factor if run.study is not None else "sessions",
            *("sessions", "lowest", "median", "highest"),
        ],
        [
            [
                name,
                str(one.sessions),
                *(number(value, digits) for value in (one.low, one.median, one.high)),
            ]
            for name, one in score_ranges(charted.rows).items()
        ],
    )


def scenarios_of(run: RunFacts, frame: Any) -> Iterator[Block]:
    """Scores by scenario."""
    scored = frame[frame["score"].notna()]
    study = run.study
    columns = level_columns(run.summary.run)
    column = columns.get(study.factor, study.factor) if study is not None else ""
    if study is not None and column in frame and frame["scenario"].nunique() > 1:
        yield _heat(scored, frame, column, [one.level for one in study.rows])
    elif frame["scenario"].nunique() > 1 and not scored.empty:
        means = scored.groupby("scenario", observed=True)["score"].agg(["mean", "count"])
        low, high = float(means["mean"].min()), float(means["mean"].max())
        yield DataTable(
            "Mean score of each scenario",
            ["scenario", "score", "sessions"],
            [
                [
                    TableCell(str(name)),
                    TableCell(number(row["mean"], 2), shade=shade(row["mean"], low, high)),
                    TableCell(f"{int(row['count']):,}"),
                ]
                for name, row in means.iterrows()
            ],
            (1, 2),
        )
    if study is not None and (found := breakdown_section(study)) is not None:
        yield DataTable.of(found)


def _heat(scored: Any, frame: Any, column: str, levels: Sequence[str]) -> DataTable:
    means = scored.groupby(["scenario", column], observed=True)["score"].mean()
    values = {(str(s), str(v)): float(mean) for (s, v), mean in means.items()}
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    rows = []
    for scenario in dict.fromkeys(map(str, frame["scenario"])):
        cells = [values.get((scenario, level)) for level in levels]
        rows.append(
            [
                TableCell(scenario),
                *(TableCell(number(value, 2), shade=shade(value, low, high)) for value in cells),
            ]
        )
    note = "Shaded from the lowest mean to the highest; a dash has no score."
    return DataTable(
        "Mean score by scenario and variant",
        ["scenario", *levels],
        rows,
        tuple(range(1, len(levels) + 1)),
        [note],
    )


def noise_of(run: RunFacts) -> Iterator[Block]:
    """Where the noise comes from."""
    charted = noise_chart_of(run)
    if charted is None or run.study is None or (section := noise_section(run.study)) is None:
        return
    yield Figure(draw(charted.chart), charted.chart.title, DataTable.of(section))
