"""What a page is made of: all that is known of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matrix.kinds.reporting import RunReport
from matrix.report.groups.told import Aggregates
from matrix.report.page.blocks import DataTable, Figure, TableCell
from matrix.report.page.charts import Chart
from matrix.report.page.drawing import draw
from matrix.report.run.explained import Explanation
from matrix.report.run.summary import Summary
from matrix.report.run.summary_text import verdict_line
from matrix.report.study.study import Study
from matrix.report.text import noted
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RunFile
from matrix.store.tables.tables import factor_columns


class RunFacts(NamedTuple):
    """All that is known of a run.

    ``study`` is its comparison, if it has one; ``told`` is what its kind says of it;
    ``explained`` is what a model made of its failures, if one was asked; ``grouped`` are its
    sessions by group and rank, and its issues.
    """

    summary: Summary
    tables: RunTables
    study: Study | None
    told: RunReport | None
    explained: Explanation | None = None
    grouped: Aggregates | None = None


def opening_of(run: RunFacts) -> list[str]:
    """What a page or a comment begins with: what the kind says where nothing is compared.

    The verdict then follows; otherwise it stands alone.
    """
    told, own = verdict_line(run.summary), () if run.told is None else run.told.verdict
    if not own or run.summary.comparison is not None:
        return [told]
    return [own[0] + noted(run.summary.run.simulation), *own[1:], told]


def level_columns(run: RunFile) -> dict[str, str]:
    """Factor -> its column in ``sessions``."""
    return factor_columns(run.spec.get("factors") or {})


def levels_of(run: RunFile, row: Any) -> str:
    """The levels of a row of ``sessions``, in one line."""
    names = level_columns(run).values()
    return ", ".join(str(row[name]) for name in names if isinstance(row.get(name), str))


def unit_of_row(run: RunFile, row: Any, units: Mapping[str, str]) -> str:
    """The round of a row of ``sessions``; of imported results the unit, as their file calls it.

    Args:
        run: The run.
        row: The session.
        units: Session -> its unit, of imported results.
    """
    unit = units.get(str(row["session_id"]))
    if unit is not None:
        return unit
    return f"{'row' if run.imported else 'round'} {row['round']}"


def figure(chart: Chart, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Figure:
    """A chart drawn, with its data."""
    cells = [[TableCell(text) for text in row] for row in rows]
    return Figure(draw(chart), chart.title, DataTable(chart.title, headers, cells, (1, 2, 3)))
