"""Merging sorted files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.store.tables.merging import merged
from matrix.store.tables.parquet import sorted_by
from tests.sampling import examples

FIELDS: list[pa.Field[Any]] = [
    pa.field("id", pa.string()),
    pa.field("n", pa.int64()),
    pa.field("place", pa.int64()),
]
SCHEMA = pa.schema(FIELDS)


@settings(max_examples=examples(40))
@given(
    files=st.lists(
        st.lists(st.tuples(st.sampled_from("aAbüz"), st.integers(0, 3))), min_size=1, max_size=5
    ),
    memory=st.sampled_from([1, 500, 10_000_000]),
)
def test_merging_sorted_files_is_sorting_all_rows(
    files: list[list[tuple[str, int]]], memory: int
) -> None:
    tables = []
    for number, rows in enumerate(files):
        columns: dict[str, list[Any]] = {
            "id": [id_ for id_, _ in rows],
            "n": [n for _, n in rows],
            "place": [number * 1000 + place for place in range(len(rows))],
        }
        tables.append(sorted_by(pa.table(columns, SCHEMA), ["id", "n"]))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.parquet" for number in range(len(tables))]
        for path, table in zip(paths, tables, strict=True):
            pq.write_table(table, path)
        stream = list(merged(paths, SCHEMA, ["id", "n"], memory))
    result = pa.concat_tables([SCHEMA.empty_table(), *stream])
    assert result.to_pylist() == sorted_by(pa.concat_tables(tables), ["id", "n"]).to_pylist()
    assert all(piece.num_rows for piece in stream)
