"""Chapters on scores: variants, scenarios, noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from matrix.report.page.blocks import Block, DataTable, Facts, Figure, TableCell, shade
from matrix.report.page.charts import bars, distributions, intervals, score_ranges
from matrix.report.page.drawing import draw
from matrix.report.page.known import RunFacts, figure, level_columns
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
from matrix.report.text import number

_MOST_TICKS: Final = 4000


def variants_of(run: RunFacts, frame: Any) -> Iterator[Block]:
    """Variants: means, differences, distributions."""
    study, summary = run.study, run.summary
    if study is None:
        if summary.whole is not None:
            headers, cells = variant_table(summary)
            yield DataTable("All sessions", headers, [[TableCell(c) for c in row] for row in cells])
            yield from _distribution(run, frame, "")
        return
    rows: list[dict[str, Any]] = [
        {"name": one.level, "mean": one.mean, "low": one.low, "high": one.high}
        for one in study.rows
    ]
    if any(row["mean"] is not None for row in rows):
        yield figure(
            intervals(rows, study.metric),
            [study.factor, "mean", "low", "high"],
            [
                [row["name"], *(number(row[key], 3) for key in ("mean", "low", "high"))]
                for row in rows
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
    yield from _distribution(run, frame, study.factor)
    if (secondary := secondary_section(study, all_metrics=False)) is not None:
        yield DataTable.of(secondary)


def _distribution(run: RunFacts, frame: Any, factor: str) -> Iterator[Block]:
    column = level_columns(run.summary.run).get(factor, factor)
    scored = frame[frame["score"].notna()]
    if scored.empty or run.summary.run.plan.metric != "score":
        return
    if len(scored) > _MOST_TICKS:
        scored = scored.iloc[:: -(-len(scored) // _MOST_TICKS)]
    names = scored[column].astype(str) if column in scored else ["all"] * len(scored)
    rows = [
        {"name": str(name), "value": float(value)}
        for name, value in zip(names, scored["score"], strict=True)
    ]
    if run.study is not None:
        order = {one.level: place for place, one in enumerate(run.study.rows)}
        rows.sort(key=lambda row: order.get(str(row["name"]), len(order)))
    yield figure(
        distributions(rows, "score"),
        [factor or "sessions", "sessions", "lowest", "median", "highest"],
        [
            [
                name,
                str(one.sessions),
                *(number(value, 2) for value in (one.low, one.median, one.high)),
            ]
            for name, one in score_ranges(rows).items()
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
    study = run.study
    if study is None or study.noise is None or (section := noise_section(study)) is None:
        return
    rows = [
        {"name": one.source, "value": 100 * one.share}
        for one in study.noise.rows
        if one.share is not None
    ]
    chart = bars(rows, section.title.rstrip(":"), "per cent of the variance", "%")
    yield Figure(draw(chart), chart.title, DataTable.of(section))
