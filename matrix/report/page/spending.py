"""The chapter on money."""

from __future__ import annotations

from collections.abc import Iterator

from matrix.report.groups.told import costs_section
from matrix.report.page.blocks import Block, DataTable, Figure, Prose
from matrix.report.page.drawing import draw
from matrix.report.page.known import RunFacts, figure
from matrix.report.page.run_charts import (
    attempts_paid,
    cost_and_quality_of,
    money_by_role_of,
    spending_of,
)
from matrix.report.run.summary_text import spent_line
from matrix.report.study.study_sections import cost_quality_section


def money_of(run: RunFacts) -> Iterator[Block]:
    """What was spent: as the run went on, and on what."""
    if run.grouped is not None and run.grouped.costs:
        yield DataTable.of(costs_section(run.grouped.costs))
    if run.summary.run.imported:
        yield Prose(f"Money: {spent_line(run.summary)}.")
        yield from _beside_quality(run)
        return
    spent = attempts_paid(run)
    by_role = money_by_role_of(spent)
    if by_role is None:
        yield Prose("Nothing was spent.")
        return
    if (burnt := spending_of(run, spent)) is not None:
        told = burnt.rows[:: max(1, len(burnt.rows) // 10)]
        yield figure(
            burnt.chart,
            ["minutes", "US dollars"],
            [[f"{row['minutes']:.2f}", f"{row['usd']:.4f}"] for row in told],
        )
    total = sum(row["value"] for row in by_role.rows)
    yield figure(
        by_role.chart,
        ["role, model", "US dollars", "attempts", "share"],
        [
            [
                str(row["name"]),
                f"{row['value']:.4f}",
                f"{row['calls']:,}",
                f"{row['value'] / total:.0%}",
            ]
            for row in by_role.rows
        ],
    )
    yield from _beside_quality(run)


def _beside_quality(run: RunFacts) -> Iterator[Block]:
    quality = cost_and_quality_of(run)
    if quality is None or run.study is None:
        return
    if (section := cost_quality_section(run.study)) is not None:
        yield Figure(draw(quality.chart), quality.chart.title, DataTable.of(section))
