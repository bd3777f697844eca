"""Chapters on all sessions: averages by group, ranks, and every issue with its turn and quote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from matrix.report.groups.averages import Grouping
from matrix.report.groups.told import (
    ANY_WIDTH,
    extremes_told,
    grouping_sections,
    issues_section,
    kinds_section,
    listed_issues,
    ranking_section,
)
from matrix.report.page.blocks import Block, DataTable, anchor_of, shade
from matrix.report.page.known import RunFacts

_MOST_ISSUES: Final = 200
_SHADES: Final = (
    "Shaded in each row from the worst mean (orange) to the best (blue); a row is not shaded where "
    "nothing says whether more or less is better."
)


def groups_of(run: RunFacts, shown: set[str]) -> Iterator[Block]:
    """Every metric by every group, configurations by rank, the best and the worst sessions."""
    found = run.grouped
    if found is None or not found.several:
        return
    if len(found.ranking) > 1:
        yield DataTable.of(ranking_section(found.ranking, found.score_digits))
    for section, sessions in extremes_told(found):
        places = [(one.session, None) for one in sessions]
        yield _linked(DataTable.of(section), 0, places, shown)
    yield from map(_shaded, found.divided)


def issues_of(run: RunFacts, shown: set[str]) -> Iterator[Block]:
    """What went wrong, by kind of issue and then one by one."""
    found = run.grouped
    if found is None or not found.issues:
        return
    listed = listed_issues(found.issues, _MOST_ISSUES)
    table = DataTable.of(issues_section(found.issues, _MOST_ISSUES, found.run))
    yield DataTable.of(kinds_section(found.issues))
    yield _linked(table, 2, [(one.session, one.turn) for one in listed], shown)


def listed_in(run: RunFacts) -> list[str]:
    """Sessions that these chapters point to: the best, the worst, the first of each issue."""
    found = run.grouped
    if found is None or not found.several:
        return []
    first: dict[str, str] = {}
    for one in found.issues:
        first.setdefault(one.kind, one.session)
    ranked = [one.session for _, own in extremes_told(found) for one in own]
    return [*ranked, *first.values()]


def _linked(
    table: DataTable, column: int, places: Sequence[tuple[str, int | None]], shown: set[str]
) -> DataTable:
    """The table with links to transcripts that are on the page."""
    rows = [list(row) for row in table.rows]
    for row, (session, turn) in zip(rows, places, strict=True):
        if session in shown:
            row[column] = row[column]._replace(href=anchor_of(session, turn))
    return table._replace(rows=rows)


def _shaded(grouping: Grouping) -> DataTable:
    """Averages, each row shaded from its worst to its best where it is known which is which."""
    (section,) = grouping_sections(grouping, ANY_WIDTH)
    table = DataTable.of(section)
    rows = []
    for row, (metric, averages) in zip(table.rows, grouping.averages.items(), strict=True):
        sign = grouping.directions.get(metric, 0)
        means = [sign * one.mean for one in averages.values()]
        cells = [
            cell._replace(shade=shade(sign * averages[level].mean, min(means), max(means)))
            if level in averages
            else cell
            for level, cell in zip(grouping.sizes, row[1:], strict=True)
        ]
        rows.append([row[0], *cells])
    return table._replace(rows=rows, notes=[*table.notes, _SHADES])
