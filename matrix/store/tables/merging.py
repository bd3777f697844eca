"""Merging sorted Parquet files in bounded memory, whole blocks of rows at a time.

Every source is sorted. From each, a block is loaded; whatever is not above the lowest of the last
keys loaded is complete, so it can be sorted and passed on. No row is looked at one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from matrix.store.tables.parquet import conform, sorted_by

MERGE_BYTES: Final = 64 * 1024 * 1024
"""Memory for the blocks of one merge, over all its sources, roughly, in bytes."""

_BLOCK_ROWS: Final = 65_536

FAN_IN: Final = 48
"""Most files that are merged at once."""


def merged(
    sources: Sequence[Path],
    schema: pa.Schema,
    sort: Sequence[str],
    memory_bytes: int = MERGE_BYTES,
) -> Iterator[pa.Table]:
    """The rows of sorted files in one order, as a stream of tables.

    Rows that are equal under ``sort`` keep their order if they come from the same file.
    """
    share = memory_bytes / max(len(sources), 1)
    cursors = [_Cursor(path, schema, sort[0], share) for path in sources]
    try:
        while cursors := [cursor for cursor in cursors if cursor.any]:
            unfinished = [cursor for cursor in cursors if not cursor.finished]
            if unfinished:
                bound = min(cursor.last_key for cursor in unfinished)
                for cursor in unfinished:
                    cursor.load_past(bound)
                pieces = [cursor.take_through(bound) for cursor in cursors]
            else:
                pieces = [cursor.take_all() for cursor in cursors]
            yield sorted_by(pa.concat_tables(pieces), sort)
    finally:
        for cursor in cursors:
            cursor.close()


class _Cursor:
    """A sorted file of which the beginning is loaded."""

    def __init__(self, path: Path, schema: pa.Schema, key: str, share: float) -> None:
        self._file = pq.ParquetFile(path, buffer_size=1 << 15, pre_buffer=False)
        meta = self._file.metadata
        encoded = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
        row_bytes = encoded / max(meta.num_rows, 1) + 16 * len(schema)
        rows = int(share / row_bytes)
        self._batches = self._file.iter_batches(batch_size=min(max(rows, 1), _BLOCK_ROWS))
        self._schema = schema
        self._key = key
        self._rows = schema.empty_table()
        self.finished = False
        self._load()

    @property
    def any(self) -> bool:
        """Whether rows are loaded; while the file goes on, some always are."""
        return self._rows.num_rows > 0

    @property
    def last_key(self) -> Any:
        keys: Any = self._rows[self._key]
        return keys[-1].as_py()

    def load_past(self, bound: Any) -> None:
        """Load until a key above ``bound`` is there, or the file ends."""
        while not self.finished and self.last_key <= bound:
            self._load()

    def take_through(self, bound: Any) -> pa.Table:
        keys: Any = self._rows[self._key]
        count = bisect_right(range(len(keys)), bound, key=lambda index: keys[index].as_py())
        taken, self._rows = self._rows[:count], self._rows[count:]
        if not self._rows.num_rows:
            self._load()
        return taken

    def take_all(self) -> pa.Table:
        taken, self._rows = self._rows, self._schema.empty_table()
        return taken

    def close(self) -> None:
        self._file.close()

    def _load(self) -> None:
        for batch in self._batches:
            if batch.num_rows:
                block = conform(pa.Table.from_batches([batch]), self._schema)
                self._rows = pa.concat_tables([self._rows, block])
                return
        self.finished = True
        self.close()
