"""Repair: whatever has happened to the tables, they come out as they were."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matrix import api
from matrix.model.errors import RunLocked, StoreError
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.tables.tables import TABLES
from tests.comparer import compare_tables
from tests.store.read_back import everything

KEPT = Path(__file__).parents[1] / "journals_v3"


def first_file(folder: Path) -> Path:
    return min(folder.glob("*.parquet"))


def tear(folder: Path) -> None:
    data = first_file(folder).read_bytes()
    first_file(folder).write_bytes(data[: len(data) // 2])


def empty(folder: Path) -> None:
    first_file(folder).write_bytes(b"")


def make_a_file_of_it(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")


def age(folder: Path) -> None:
    """Write the table as an earlier schema had it: without its last column."""
    table = pq.read_table(first_file(folder), partitioning=None)
    fewer = table.select(table.column_names[:-1])
    old = dict(table.schema.metadata) | {b"matrix.schema_version": b"0"}
    pq.write_table(fewer.replace_schema_metadata(old), first_file(folder))


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing": (shutil.rmtree, "missing"),
    "torn": (tear, "damaged"),
    "empty": (empty, "damaged"),
    "a file": (make_a_file_of_it, "missing"),
    "an earlier schema": (age, "schema version 0"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with tables, one complete and one killed half-way."""
    results = tmp_path_factory.mktemp("sound")
    for name in ("play", "counter"):
        shutil.copytree(KEPT / name, results / name)
        api.repair(name, results=results)
    return results


@pytest.mark.slow
@pytest.mark.parametrize("run", ["play", "counter"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_tables_after_a_repair_equal_those_before_the_damage(
    sound: Path, tmp_path: Path, run: str, damage: str
) -> None:
    harm, told = DAMAGE[damage]
    before = everything(sound / run)
    for name in TABLES:
        broken = tmp_path / name / run
        shutil.copytree(sound / run, broken)
        harm(broken / name)
        done = api.repair(broken)
        assert told in done.found[name]
        assert [other for other in TABLES if told in done.found[other]] == [name]
        assert everything(broken) == before
        assert compare_tables(broken, sound / run) == []


@pytest.mark.slow
def test_a_repair_counts_rows_and_leaves_the_journal_as_it_is(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound / "play", tmp_path / "play")
    journal = (tmp_path / "play" / JOURNAL_NAME).read_bytes()
    done = api.repair(tmp_path / "play")
    assert done.rows == {name: len(rows) for name, rows in everything(sound / "play").items()}
    assert (tmp_path / "play" / JOURNAL_NAME).read_bytes() == journal


def test_sessions_that_never_ended_keep_their_rows_in_a_run_that_was_ended_in_order(
    sound: Path, tmp_path: Path
) -> None:
    run_dir = tmp_path / "counter"
    shutil.copytree(sound / "counter", run_dir)
    text = (run_dir / "run.json").read_text()
    (run_dir / "run.json").write_text(
        text.replace('"status": "complete"', '"status": "incomplete"')
    )
    api.repair(run_dir)
    outcomes = api.open_run(run_dir).sessions()["outcome"]
    assert len(outcomes) == 6
    assert "censored" in set(outcomes)


def test_a_live_run_is_refused_and_nothing_is_touched(sound: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "play"
    shutil.copytree(sound / "play", run_dir)
    before = everything(run_dir)
    writer = JournalWriter(run_dir / JOURNAL_NAME)
    with pytest.raises(RunLocked, match="still running"):
        api.repair(run_dir)
    writer.close()
    assert everything(run_dir) == before


def test_without_a_journal_nothing_is_dropped(sound: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "play"
    shutil.copytree(sound / "play", run_dir)
    (run_dir / JOURNAL_NAME).unlink()
    before = everything(run_dir)
    with pytest.raises(StoreError, match="no journal"):
        api.repair(run_dir)
    assert everything(run_dir) == before
    assert isinstance(pq.read_table(first_file(run_dir / "turns"), partitioning=None), pa.Table)
