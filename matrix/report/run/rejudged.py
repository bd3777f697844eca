"""What a rejudging was asked for: the new scores by variant, and who is better by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from matrix.engine.prepare.judges import names_of
from matrix.judging.choice import WON
from matrix.model.errors import BadInput
from matrix.report.compare.compare import compare_factor
from matrix.report.text import number, plural
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile, results_flag
from matrix.store.tables.tables import factor_columns


class VariantMean(NamedTuple):
    """One variant: sessions with a value, and their mean; ``None`` without any."""

    level: str
    sessions: int
    mean: float | None


class Rejudged(NamedTuple):
    """One score that judges of the list gave.

    Attributes:
        metric: The score, as ``--metric`` takes it.
        choice: Whether it says how often a session was the better of two.
        rows: Variants in the order of the plan; one called ``all`` where nothing is compared.
        sentence: The verdict on it; empty where nothing is compared, or nothing has it.
    """

    metric: str
    choice: bool
    rows: tuple[VariantMean, ...]
    sentence: str


def rejudged_in(tables: RunTables, run: RunFile) -> tuple[Rejudged, ...]:
    """The scores of listed judges of a rejudging; of any other run nothing."""
    names = names_of(run.spec)
    if run.branched is None or run.branched.mode != "rejudge" or not names:
        return ()
    scores = tables.frame("scores", ["session_id", "name", "turn", "value", "label"])
    scores = scores[scores["turn"].isna() & scores["name"].isin(names)]
    levels = _levels(tables, run)
    return tuple(_one(tables, run, name, scores[scores["name"] == name], levels) for name in names)


def _levels(tables: RunTables, run: RunFile) -> Any:
    """Session -> its variant, where some are compared."""
    column = factor_columns(run.plan.factors).get(run.plan.compared or "")
    if column is None:
        return None
    frame = tables.frame("sessions", ["session_id", column])
    return frame.set_index("session_id")[column].astype(str)


def _one(tables: RunTables, run: RunFile, name: str, rows: Any, levels: Any) -> Rejudged:
    there = rows[rows["value"].notna()]
    choice = bool(rows["label"].isin(tuple(WON.values())).any())
    if levels is None:
        mean = float(there["value"].mean()) if len(there) else None
        return Rejudged(name, choice, (VariantMean("all", len(there), mean),), "")
    groups = there.groupby(there["session_id"].map(levels))["value"]
    counts, means = groups.size(), groups.mean()
    factor = run.plan.compared or ""
    order = [level for level in map(str, run.plan.factors[factor]) if level in set(levels)]
    told = tuple(
        VariantMean(level, int(counts[level]), float(means[level]))
        if level in counts
        else VariantMean(level, 0, None)
        for level in order
    )
    try:
        sentence = compare_factor(tables, run, metric=name).sentence
    except BadInput:
        sentence = ""
    return Rejudged(name, choice, told, sentence)


def rejudged_lines(rejudged: tuple[Rejudged, ...], run_dir: Path) -> list[tuple[str, str]]:
    """Label and text of each line of a summary."""
    rows = []
    for one in rejudged:
        what = "share of comparisons won, ties as halves" if one.choice else "mean"
        each = ", ".join(
            f"{row.level} {number(row.mean, 3)} ({plural(row.sessions, 'session')})"
            for row in one.rows
        )
        rows.append(("rejudged", f"{one.metric}, {what}: {each}"))
        rows += [("", one.sentence)] if one.sentence else []
        command = f"matrix compare {run_dir.name}{results_flag(run_dir)} --metric {one.metric}"
        rows += [("", f"`{command}` says all of it")] if len(one.rows) > 1 else []
    return rows
