"""Repeats of the judge, read from a run's tables: whole columns, never row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matrix.judging.repeats import MAX_REPEATS, SESSION_SCORE, repeat_name
from matrix.store.reader import RunTables


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
        ids = tables.table("sessions", ["session_id"])["session_id"].combine_chunks()
    else:
        ids = pa.array(sessions, pa.string())
    scores = tables.table("scores", ["session_id", "turn", "name", "value"])
    names = pa.array([repeat_name(number, metric) for number in range(1, MAX_REPEATS + 1)])
    repeat = pc.index_in(scores["name"], value_set=names)
    row = pc.index_in(scores["session_id"], value_set=ids)
    of_interest = pc.and_(
        pc.and_(pc.is_valid(repeat), pc.is_valid(row)), pc.is_null(scores["turn"])
    )
    columns = repeat.filter(of_interest).to_numpy()
    found = np.full((len(ids), int(columns.max(initial=-1)) + 1), np.nan)
    found[row.filter(of_interest).to_numpy(), columns] = (
        scores["value"].filter(of_interest).to_numpy()  # null becomes NaN
    )
    return found
