"""Scores of whole sessions by name: the table ``scores`` read once, in pieces, for all names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matrix.store.reading.reader import RunTables

_COLUMNS = ("session_id", "turn", "name", "value")


def session_scores(
    tables: RunTables, sessions: Sequence[str], requested: Callable[[str], bool]
) -> dict[str, NDArray[np.float64]]:
    """What these sessions scored as a whole; scores of single turns are passed over.

    Memory is that of the arrays returned and of one piece of the table.

    Args:
        tables: The run's tables.
        sessions: Ids of the sessions.
        requested: Whether scores of this name are wanted.

    Returns:
        Name -> an array with one entry per session, NaN where it has no value. A name that is
        recorded without any value is there too, all NaN.

    Raises:
        StoreError: A file is damaged.
    """
    ids = pa.array(sessions, pa.string())
    found: dict[str, NDArray[np.float64]] = {}
    for piece in tables.pieces("scores", _COLUMNS):
        whole = piece.filter(pc.is_null(piece["turn"]))
        index: Any = pc.index_in(whole["session_id"], value_set=ids)
        rows = index.fill_null(-1).to_numpy()
        values = whole["value"].to_numpy()  # null becomes NaN
        names = whole["name"].combine_chunks().dictionary_encode()
        codes = names.indices.to_numpy(zero_copy_only=False)
        for code, name in enumerate(map(str, names.dictionary.to_pylist())):
            if requested(name):
                mine = (codes == code) & (rows >= 0)
                column = found.setdefault(name, np.full(len(ids), np.nan))
                column[rows[mine]] = values[mine]
    return found
