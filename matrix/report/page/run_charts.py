"""The charts of a run: for its page, which draws them, and for Python, which gives them away.

Each is made of what is known of the run, and is ``None`` where that is nothing to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from matrix.model.money import to_usd
from matrix.report.page.charts import (
    Chart,
    Row,
    bars,
    cost_and_quality,
    distributions,
    intervals,
    spending,
)
from matrix.report.page.known import RunFacts, level_columns
from matrix.report.run.savings import charged_nano
from matrix.report.study.study_sections import noise_section

_MOST_TICKS: Final = 4000
_MOST_POINTS: Final = 300


class Charted(NamedTuple):
    """A chart with the rows it was made of."""

    chart: Chart
    rows: list[Row]


def intervals_of(run: RunFacts) -> Charted | None:
    """Means of the variants with their intervals."""
    if run.study is None:
        return None
    rows: list[Row] = [
        {"name": one.level, "mean": one.mean, "low": one.low, "high": one.high}
        for one in run.study.rows
    ]
    if all(row["mean"] is None for row in rows):
        return None
    return Charted(intervals(rows, run.study.metric), rows)


def distributions_of(run: RunFacts, frame: Any) -> Charted | None:
    """Scores of single sessions, by variant; ``frame`` are the run's sessions."""
    study = run.study
    factor = "" if study is None else study.factor
    column = level_columns(run.summary.run).get(factor, factor)
    scored = frame[frame["score"].notna()]
    if scored.empty or run.summary.run.plan.metric != "score":
        return None
    if len(scored) > _MOST_TICKS:
        scored = scored.iloc[:: -(-len(scored) // _MOST_TICKS)]
    names = scored[column].astype(str) if column in scored else ["all"] * len(scored)
    rows: list[Row] = [
        {"name": str(name), "value": float(value)}
        for name, value in zip(names, scored["score"], strict=True)
    ]
    if study is not None:
        order = {one.level: place for place, one in enumerate(study.rows)}
        rows.sort(key=lambda row: order.get(str(row["name"]), len(order)))
    return Charted(distributions(rows, "score"), rows)


def noise_of(run: RunFacts) -> Charted | None:
    """Where the noise comes from."""
    study = run.study
    if study is None or study.noise is None or (section := noise_section(study)) is None:
        return None
    rows: list[Row] = [
        {"name": one.source, "value": 100 * one.share}
        for one in study.noise.rows
        if one.share is not None
    ]
    return Charted(bars(rows, section.title.rstrip(":"), "per cent of the variance", "%"), rows)


def cost_and_quality_of(run: RunFacts) -> Charted | None:
    """What a session of each variant costs, beside its mean."""
    study = run.study
    if study is None or study.cost_quality is None:
        return None
    rows: list[Row] = [
        {"name": one.level, "usd": one.cost_per_session_usd, "mean": one.mean}
        for one in study.cost_quality.rows
    ]
    return Charted(cost_and_quality(rows, study.metric), rows)


def attempts_paid(run: RunFacts) -> Any:
    """Attempts that cost something or may have, each with its ``usd``."""
    calls = run.tables.frame(
        "calls", ["role", "model", "cost_nano", "overrun_nano", "disposition", "settled_at"]
    )
    spent = calls[calls["disposition"] != "released"]
    return spent.assign(usd=charged_nano(spent) / 1e9)


def spending_of(run: RunFacts, spent: Any) -> Charted | None:
    """Money spent as the run went on, against the cap; ``spent`` are :func:`attempts_paid`."""
    import pandas as pd

    timed = spent[spent["settled_at"].notna()].sort_values("settled_at")
    if len(timed) < 2 or not float(spent["usd"].sum()):
        return None
    times = pd.to_datetime(timed["settled_at"], utc=True)
    minutes = (times - times.iloc[0]).dt.total_seconds() / 60
    together = timed["usd"].cumsum()
    step = max(1, len(timed) // _MOST_POINTS)
    rows: list[Row] = [
        {"minutes": float(m), "usd": float(u)}
        for m, u in [*zip(minutes, together, strict=True)][::step]
    ]
    rows.append({"minutes": float(minutes.iloc[-1]), "usd": float(together.iloc[-1])})
    return Charted(spending(rows, to_usd(run.summary.run.cap_nano)), rows)


def money_by_role_of(spent: Any) -> Charted | None:
    """Money by role and model; ``spent`` are :func:`attempts_paid`."""
    if not float(spent["usd"].sum()):
        return None
    names = spent["role"].astype(str) + ", " + spent["model"].astype(str)
    sums = spent.groupby(names)["usd"].agg(["sum", "count"]).sort_values("sum", ascending=False)
    rows: list[Row] = [
        {"name": str(name), "value": float(usd), "calls": int(count)}
        for name, usd, count in sums.itertuples()
    ]
    return Charted(bars(rows, "Money by role and model", "US dollars", "US dollars"), rows)


CHARTS: Final[Mapping[str, Callable[[RunFacts], Charted | None]]] = {
    "intervals": intervals_of,
    "distributions": lambda run: distributions_of(run, run.tables.frame("sessions")),
    "noise": noise_of,
    "cost_and_quality": cost_and_quality_of,
    "spending": lambda run: spending_of(run, attempts_paid(run)),
    "money_by_role": lambda run: money_by_role_of(attempts_paid(run)),
}
"""Name -> chart, as ``Run.plot`` has them."""
