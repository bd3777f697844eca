"""Chapters on all sessions: averages by group, ranks, and every issue with its turn and quote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from matrix.report.groups.averages import Grouping
from matrix.report.groups.issues import Issue
from matrix.report.groups.told import (
    ANY_WIDTH,
    grouping_sections,
    issues_section,
    ranking_section,
    sessions_section,
)
from matrix.report.page.blocks import Block, DataTable, TableCell, anchor_of, shade
from matrix.report.page.known import RunFacts

_MOST_ISSUES: Final = 200


def groups_of(run: RunFacts, shown: set[str]) -> Iterator[Block]:
    """Every metric by every group, configurations by rank, the best and the worst sessions."""
    found = run.grouped
    if found is None or not found.several:
        return
    if len(found.ranking) > 1:
        yield DataTable.of(ranking_section(found.ranking, found.score_digits))
    for title, sessions in (("Best", found.best), ("Worst", found.worst)):
        table = DataTable.of(
            sessions_section(f"{title} sessions by score", sessions, found.score_digits)
        )
        ids = [one.session for one in sessions]
        yield _linked(table, 0, [(one, None) for one in ids], shown)
    yield from map(_shaded, found.divided)


def issues_of(run: RunFacts, shown: set[str]) -> Iterator[Block]:
    """What went wrong, by kind of issue and then one by one."""
    found = run.grouped
    if found is None or not found.issues:
        return
    listed = found.issues[:_MOST_ISSUES]
    table = DataTable.of(issues_section(found.issues, _MOST_ISSUES, found.run))
    yield _by_kind(found.issues)
    yield _linked(table, 2, [(one.session, one.turn) for one in listed], shown)


def _by_kind(issues: Sequence[Issue]) -> DataTable:
    sessions: dict[tuple[str, str], list[str]] = {}
    for one in issues:
        sessions.setdefault((one.severity, one.kind), []).append(one.session)
    rows = [
        [TableCell(text) for text in (kind, severity, f"{len(own):,}", f"{len(set(own)):,}")]
        for (severity, kind), own in sorted(sessions.items(), key=lambda pair: -len(pair[1]))
    ]
    return DataTable("Issues by kind", ["issue", "", "times", "sessions"], rows, (2, 3))


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
    """Averages, each row shaded from its lowest to its highest."""
    (section,) = grouping_sections(grouping, ANY_WIDTH)
    table = DataTable.of(section)
    rows = []
    for row, averages in zip(table.rows, grouping.averages.values(), strict=True):
        means = [one.mean for one in averages.values()]
        cells = [
            cell._replace(shade=shade(averages[level].mean, min(means), max(means)))
            if level in averages
            else cell
            for level, cell in zip(grouping.sizes, row[1:], strict=True)
        ]
        rows.append([row[0], *cells])
    return table._replace(rows=rows)
