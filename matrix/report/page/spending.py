"""The chapter on money."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from matrix.model.money import to_usd
from matrix.report.page.blocks import Block, DataTable, Figure, Prose
from matrix.report.page.charts import bars, cost_and_quality
from matrix.report.page.charts import spending as spending_chart
from matrix.report.page.drawing import draw
from matrix.report.page.known import RunFacts, figure
from matrix.report.run.summary import charged_nano
from matrix.report.run.summary_text import spent_line
from matrix.report.study.study_sections import cost_quality_section

_MOST_POINTS: Final = 300


def money_of(run: RunFacts) -> Iterator[Block]:
    """What was spent: as the run went on, and on what."""
    calls = run.tables.frame(
        "calls", ["role", "model", "cost_nano", "overrun_nano", "disposition", "settled_at"]
    )
    spent = calls[calls["disposition"] != "released"]
    spent = spent.assign(usd=charged_nano(spent) / 1e9)
    total = float(spent["usd"].sum())
    if run.summary.run.imported:
        yield Prose(f"Money: {spent_line(run.summary)}.")
        yield from _beside_quality(run)
        return
    if not total:
        yield Prose("Nothing was spent.")
        return
    if (chart := _burn_down(spent, to_usd(run.summary.run.cap_nano))) is not None:
        yield chart
    names = spent["role"].astype(str) + ", " + spent["model"].astype(str)
    sums = spent.groupby(names)["usd"].agg(["sum", "count"]).sort_values("sum", ascending=False)
    rows: list[dict[str, Any]] = [
        {"name": str(name), "value": float(usd), "calls": int(count)}
        for name, usd, count in sums.itertuples()
    ]
    yield figure(
        bars(rows, "Money by role and model", "US dollars", "US dollars"),
        ["role, model", "US dollars", "attempts", "share"],
        [
            [
                row["name"],
                f"{row['value']:.4f}",
                f"{row['calls']:,}",
                f"{row['value'] / total:.0%}",
            ]
            for row in rows
        ],
    )
    yield from _beside_quality(run)


def _beside_quality(run: RunFacts) -> Iterator[Block]:
    study = run.study
    if study is not None and (section := cost_quality_section(study)) is not None:
        assert study.cost_quality is not None
        points = [
            {"name": one.level, "usd": one.cost_per_session_usd, "mean": one.mean}
            for one in study.cost_quality.rows
        ]
        chart_ = cost_and_quality(points, study.metric)
        yield Figure(draw(chart_), chart_.title, DataTable.of(section))


def _burn_down(spent: Any, cap: float) -> Figure | None:
    import pandas as pd

    timed = spent[spent["settled_at"].notna()].sort_values("settled_at")
    if len(timed) < 2:
        return None
    times = pd.to_datetime(timed["settled_at"], utc=True)
    minutes = (times - times.iloc[0]).dt.total_seconds() / 60
    together = timed["usd"].cumsum()
    step = max(1, len(timed) // _MOST_POINTS)
    rows = [
        {"minutes": float(m), "usd": float(u)}
        for m, u in [*zip(minutes, together, strict=True)][::step]
    ]
    rows.append({"minutes": float(minutes.iloc[-1]), "usd": float(together.iloc[-1])})
    told = rows[:: max(1, len(rows) // 10)]
    return figure(
        spending_chart(rows, cap),
        ["minutes", "US dollars"],
        [[f"{row['minutes']:.2f}", f"{row['usd']:.4f}"] for row in told],
    )
