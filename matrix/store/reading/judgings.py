"""Repeats of the judge, read from a run's tables: whole columns, never row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from matrix.judging.repeats import MAX_REPEATS, SESSION_SCORE, repeat_name
from matrix.store.reading.reader import RunTables
from matrix.store.reading.session_scores import session_scores


def judge_repeats(
    tables: RunTables, metric: str = SESSION_SCORE, sessions: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """What each repeat of the judge makes of each session.

    Args:
        tables: The run's tables.
        metric: ``score`` for the session's score by each repeat alone, or a criterion by the name
            it has among the scores, such as ``quality_pacing``.
        sessions: Ids of the sessions to read, one row each; without, those of the table
            ``sessions``, in its order.

    Returns:
        An array [sessions, repeats] in points of the metric, with as many columns as the session
        with the most repeats has: none where every transcript was judged once. NaN where a
        session had fewer, where an answer could not be read, or where it was not judged at all.

    Raises:
        StoreError: A file is damaged.
    """
    if sessions is None:
        column = tables.table("sessions", ["session_id"])["session_id"]
        sessions = [str(session_id) for session_id in column.to_pylist()]
    names = [repeat_name(number, metric) for number in range(1, MAX_REPEATS + 1)]
    found = session_scores(tables, sessions, frozenset(names).__contains__)
    return stacked(found, len(sessions), metric)


def stacked(
    scores: Mapping[str, NDArray[np.float64]], sessions: int, metric: str = SESSION_SCORE
) -> NDArray[np.float64]:
    """Repeats of the judge among scores by name, as [sessions, repeats]."""
    names = [repeat_name(number, metric) for number in range(1, MAX_REPEATS + 1)]
    there = [index for index, name in enumerate(names) if name in scores]
    gap = np.full(sessions, np.nan)
    columns = [scores.get(name, gap) for name in names[: max(there, default=-1) + 1]]
    return np.stack(columns, axis=1) if columns else np.empty((sessions, 0))
