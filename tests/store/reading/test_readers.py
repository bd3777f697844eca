"""The tables can be read by anybody, at any moment of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matrix.model.errors import StoreError
from matrix.store.reading.reader import RunTables
from matrix.store.tables.publisher import Publisher
from matrix.store.tables.tables import TABLES, columns_of
from tests.store.journals import INFO, LONG_STORY, FastDisk, plan, tell, write_journal

Count = Callable[[Path], int]


def by_pandas(folder: Path) -> int:
    return len(pd.read_parquet(folder))


def by_duckdb(folder: Path) -> int:
    with duckdb.connect() as connection:
        query = f"SELECT count(*) FROM read_parquet('{folder}/*.parquet')"
        ((count,),) = connection.execute(query).fetchall()
    return int(count)


def by_polars(folder: Path) -> int:
    return pl.read_parquet(folder).height + 0 * pl.read_parquet(f"{folder}/*.parquet").height


@pytest.mark.slow
@pytest.mark.parametrize("count", [by_pandas, by_duckdb, by_polars])
def test_plain_readers_work_before_during_and_after_a_run(tmp_path: Path, count: Count) -> None:
    entries = tell(LONG_STORY)
    write_journal(tmp_path, entries)
    with Publisher(tmp_path, INFO, disk=FastDisk()) as one:
        assert [count(tmp_path / name) for name in TABLES] == [0] * len(TABLES)
        one.step(flush=True)
        during = {name: count(tmp_path / name) for name in TABLES}
        one.finalize([plan(index) for index in range(3)], "interrupted")
    after = {name: count(tmp_path / name) for name in TABLES}
    assert during == {name: RunTables(tmp_path).table(name).num_rows for name in TABLES} | {
        "sessions": 1
    }
    assert after == during | {"sessions": 3}


def test_all_three_frames_hold_the_same_rows(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    with Publisher(tmp_path, INFO, disk=FastDisk()) as one:
        one.finalize([], "cap")
    tables = RunTables(tmp_path)
    for name in TABLES:
        rows = tables.table(name)
        assert tables.polars(name).to_arrow().to_pylist() == rows.to_pylist()
        assert len(tables.frame(name)) == rows.num_rows
        assert list(tables.frame(name).columns) == rows.column_names


def test_a_run_without_tables_yet_has_empty_ones_with_their_columns(tmp_path: Path) -> None:
    tables = RunTables(tmp_path)
    for name, declared in TABLES.items():
        table = tables.table(name)
        assert table.num_rows == 0
        assert table.column_names == [column.name for column in columns_of(declared, ())]


def test_columns_can_be_chosen_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    tables = RunTables(tmp_path)
    assert tables.frame("sessions", ["score", "round"]).columns.tolist() == ["score", "round"]
    with pytest.raises(StoreError, match=r"no column 'scores'.*did you mean 'score'"):
        tables.table("sessions", ["scores"])
    with pytest.raises(StoreError, match=r"no table 'session'.*did you mean 'sessions'"):
        tables.table("session")


def test_files_of_older_and_newer_schemas_are_united_by_column_name(tmp_path: Path) -> None:
    folder = tmp_path / "players"
    folder.mkdir()
    old = pa.table({"name": ["Ada"], "run_id": ["r"]})
    new = pa.table({"name": ["Ben"], "run_id": ["r"], "height_m": [1.8]})
    pq.write_table(old, folder / "part-000000000000-000000000004.parquet")
    pq.write_table(new, folder / "part-000000000005-000000000009.parquet")
    table = RunTables(tmp_path).table("players")
    assert table["name"].to_pylist() == ["Ada", "Ben"]
    assert table["mood"].to_pylist() == [None, None]
    assert table["height_m"].to_pylist() == [None, 1.8]
    assert RunTables(tmp_path).table("players", ["mood"]).num_rows == 2


def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "players"
    folder.mkdir()
    (folder / "part-000000000000-000000000004.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"cannot read table players.*from the journal"):
        RunTables(tmp_path).table("players")


def test_a_table_is_whole_at_every_moment_of_its_compaction(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    seen: list[int] = []

    class WatchedDisk(FastDisk):
        def rename(self, source: Path, target: Path) -> None:
            super().rename(source, target)
            seen.append(RunTables(tmp_path).table("turns").num_rows)

        def remove(self, path: Path) -> None:
            super().remove(path)
            seen.append(RunTables(tmp_path).table("turns").num_rows)

    with Publisher(tmp_path, INFO, disk=FastDisk()) as one:
        one.step(flush=True)
        rows = RunTables(tmp_path).table("turns").num_rows
    with Publisher(tmp_path, INFO, disk=WatchedDisk()) as one:
        one.finalize([], "cap")
    assert len(seen) > 20
    assert set(seen) == {rows}


def test_without_polars_the_error_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(StoreError, match="pip install polars"):
        RunTables(tmp_path).polars("sessions")
