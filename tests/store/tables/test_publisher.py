"""The publisher: any split of the work, any crash and any full disk give the same tables."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.model.errors import RunLocked, StoreError
from matrix.store.journal.journal import JOURNAL_NAME
from matrix.store.reading.reader import RunTables
from matrix.store.run.disk import Disk
from matrix.store.run.own_files import FILE_MODE
from matrix.store.tables.folders import WORK_FOLDER
from matrix.store.tables.merging import FAN_IN
from matrix.store.tables.publisher import Pace, Publisher
from matrix.store.tables.tables import TABLES
from tests.sampling import examples
from tests.store.journals import (
    INFO,
    LONG_STORY,
    SESSIONS,
    FastDisk,
    expected,
    plan,
    stories,
    tell,
    write_journal,
)
from tests.store.read_back import everything, shown

PLANNED = [plan(index) for index in range(SESSIONS)] + [plan(7, part="play")]


def publisher(run_dir: Path, disk: Disk | None = None, entries: int = 20_000) -> Publisher:
    return Publisher(run_dir, INFO, disk=disk or FastDisk(), pace=Pace(entries=entries))


def publish_all(run_dir: Path, entries: int = 20_000) -> None:
    with publisher(run_dir, entries=entries) as one:
        publish_to_the_end(one)


def publish_to_the_end(one: Publisher) -> None:
    while one.step(flush=True):
        pass


class Crash(BaseException):
    """The process is killed here: nothing after it runs."""


class FailingDisk(FastDisk):
    """Fails at operation ``at``; a write that fails has written half of its file."""

    def __init__(self, at: int, failure: BaseException) -> None:
        self.operations = 0
        self._at = at
        self._failure = failure

    def write(self, path: Path, fill: Callable[[IO[bytes]], object], mode: int = FILE_MODE) -> None:
        def torn(handle: IO[bytes]) -> None:
            handle.write(b"PAR1 half of a file")
            raise self._failure

        super().write(path, torn if self._due() else fill, mode)

    def rename(self, source: Path, target: Path) -> None:
        self._maybe_fail()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        if path.exists():
            self._maybe_fail()
        super().remove(path)

    def _due(self) -> bool:
        self.operations += 1
        return self.operations == self._at + 1

    def _maybe_fail(self) -> None:
        if self._due():
            raise self._failure


# --- the rows ----------------------------------------------------------------------------------


@settings(max_examples=examples(25))
@given(story=stories(), data=st.data())
def test_any_split_into_steps_flushes_and_restarts_gives_the_rows_the_journal_means(
    story: list[tuple[int, str]], data: st.DataObject
) -> None:
    entries = tell(story)
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder)
        write_journal(run_dir, [])
        one = publisher(run_dir)
        rest = entries
        while rest:
            count = data.draw(st.integers(1, len(rest)))
            write_journal(run_dir, rest[:count])
            rest = rest[count:]
            doing = data.draw(st.sampled_from(["step", "flush", "restart", "nothing"]))
            if doing == "restart":
                one.close()
                one = publisher(run_dir, entries=data.draw(st.integers(1, 9)))
            if doing != "nothing":
                one.step(flush=doing == "flush")
        publish_to_the_end(one)
        one.close()
        assert shown(run_dir) == expected(entries)


@pytest.mark.slow
def test_projecting_twice_gives_identical_tables(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    publish_all(tmp_path, entries=3)
    in_small_steps = everything(tmp_path)
    with publisher(tmp_path) as one:
        one.rebuild()
        at_once = everything(tmp_path)
        one.rebuild()
        assert in_small_steps == at_once == everything(tmp_path)


def test_every_message_position_and_session_is_there_once(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    publish_all(tmp_path, entries=4)
    for name, table in TABLES.items():
        if name != "scores":
            keys = RunTables(tmp_path).table(name, table.key).to_pylist()
            unique = {tuple(key.values()) for key in keys}
            assert len(unique) == len(keys), name


def test_what_is_played_again_replaces_what_was_published(tmp_path: Path) -> None:
    played = [(0, "turn"), (0, "turn"), (0, "turn"), (0, "lost"), (0, "end")]
    entries = tell([*played, (0, "redo"), (0, "late"), (0, "end")])
    before = len(tell(played))
    write_journal(tmp_path, entries[:before])
    with publisher(tmp_path) as one:
        one.step(flush=True)
        assert RunTables(tmp_path).table("turns", ["turn"])["turn"].to_pylist() == [0, 1, 2]
        assert RunTables(tmp_path).table("sessions").num_rows == 1
        write_journal(tmp_path, entries[before:])
        one.step(flush=True)
    tables = RunTables(tmp_path)
    assert tables.table("turns", ["turn"])["turn"].to_pylist() == [0, 1]
    assert tables.table("calls", ["disposition"])["disposition"].to_pylist() == ["settled"]
    assert tables.table("sessions", ["seq"])["seq"].to_pylist() == [len(entries)]
    assert shown(tmp_path) == expected(entries)


def test_finished_sessions_are_forgotten(tmp_path: Path) -> None:
    story = [(index, action) for action in ("turn", "call", "end") for index in range(SESSIONS)]
    write_journal(tmp_path, tell(story))
    with publisher(tmp_path) as one:
        one.step()
        assert one.open_sessions == 0


def test_nothing_to_publish_writes_no_parts(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    with publisher(tmp_path) as one:
        publish_to_the_end(one)
        files = sorted(tmp_path.rglob("*.parquet"))
        assert one.step(flush=True) == 0
        assert sorted(tmp_path.rglob("*.parquet")) == files


def test_a_restarted_publisher_reads_nothing_that_is_published(tmp_path: Path) -> None:
    write_journal(tmp_path, tell([(0, "turn"), (0, "call"), (0, "turn")]))  # no session ends
    publish_all(tmp_path)
    with publisher(tmp_path) as one:
        assert one.step() == 0


def test_a_step_before_the_journal_exists_has_nothing_to_do(tmp_path: Path) -> None:
    with publisher(tmp_path / "run") as one:
        assert one.step(flush=True) == 0
        with pytest.raises(StoreError, match="no journal"):
            one.rebuild()


def test_a_damaged_journal_is_reported_as_this_projects_own_error(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY * 20))
    journal = tmp_path / JOURNAL_NAME
    content = journal.read_bytes()
    journal.write_bytes(content[: len(content) // 2] + bytes(len(content) // 2))
    with publisher(tmp_path) as one, pytest.raises(StoreError, match="malformed"):
        one.step()


def test_rows_are_published_by_themselves_once_enough_have_gathered(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    with Publisher(tmp_path, INFO, disk=FastDisk(), pace=Pace(part_bytes=3000)) as one:
        one.step()
        assert RunTables(tmp_path).table("turns").num_rows > 0


def test_the_footer_names_the_run_its_spec_and_the_schema_version(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    publish_all(tmp_path)
    for path in tmp_path.glob("*/*.parquet"):
        footer = pq.read_schema(path).metadata
        assert footer[b"matrix.run_id"] == b"run-1"
        assert footer[b"matrix.spec_hash"] == b"spec-hash"
        assert footer[b"matrix.prices_hash"] == b"prices-hash"
        assert footer[b"matrix.schema_version"] == b"1"


def test_parts_are_named_by_the_range_of_the_sequence_and_tile_it(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    publish_all(tmp_path, entries=7)
    for name in TABLES:
        ranges = sorted(path.stem.split("-")[1:] for path in (tmp_path / name).iterdir())
        assert ranges[0] == ["0" * 12, "0" * 12]
        for (_, last), (first, _) in pairwise(ranges):
            assert int(first) == int(last) + 1


def test_only_one_publisher_at_a_time(tmp_path: Path) -> None:
    with publisher(tmp_path), pytest.raises(RunLocked, match="another process"):
        publisher(tmp_path)
    publisher(tmp_path).close()


def test_parts_that_do_not_tile_the_sequence_are_made_again(tmp_path: Path) -> None:
    entries = tell(LONG_STORY)
    write_journal(tmp_path, entries)
    publish_all(tmp_path, entries=7)
    sorted((tmp_path / "turns").iterdir())[2].unlink()
    publish_all(tmp_path)
    assert shown(tmp_path) == expected(entries)


# --- the end of a run ----------------------------------------------------------------------------


def test_in_the_end_every_planned_session_has_one_row(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    with publisher(tmp_path) as one:
        one.finalize(PLANNED, "interrupted")
    rows = {row["session_id"]: row for row in RunTables(tmp_path).table("sessions").to_pylist()}
    assert set(rows) == {"session-0", "session-1", "session-2", "session-7"}
    never, cut_short = rows["session-7"], rows["session-2"]
    assert (never["outcome"], never["error_class"]) == ("censored", "interrupted")
    assert (never["turns"], never["calls"], never["started_at"]) == (0, 0, None)
    assert (cut_short["outcome"], cut_short["turns"]) == ("censored", 1)
    assert cut_short["cost_nano"] > 0
    assert cut_short["end_reason"] == "by interrupted, cut short after turn 1"
    assert never["end_reason"] == "by interrupted, not begun"


@pytest.mark.slow
def test_compaction_leaves_one_sorted_file_per_table_with_the_same_rows(tmp_path: Path) -> None:
    write_journal(tmp_path, tell([*LONG_STORY, *[(2, "call"), (2, "lost")] * FAN_IN]))
    publish_all(tmp_path, entries=3)
    before = everything(tmp_path)
    assert len(list((tmp_path / "calls").iterdir())) > FAN_IN
    with publisher(tmp_path) as one:
        one.finalize([], "cap")
    assert everything(tmp_path) == before
    for name, table in TABLES.items():
        (file,) = (tmp_path / name).iterdir()
        rows = pq.read_table(file, columns=list(table.sort), partitioning=None).to_pylist()
        keys = [tuple(row[column] for column in table.sort) for row in rows]
        assert keys == sorted(keys), name
    assert {path.name for path in (tmp_path / WORK_FOLDER).iterdir()} == {"lock"}


def test_rows_of_one_turn_keep_their_order(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY * 3))
    with publisher(tmp_path) as one:
        one.finalize([], "cap")
    rows = RunTables(tmp_path).table("messages", ["session_id", "position"]).to_pylist()
    places = [(row["session_id"], row["position"]) for row in rows]
    assert places == sorted(places)


def test_rebuilding_removes_provisional_rows(tmp_path: Path) -> None:
    entries = tell(LONG_STORY)
    write_journal(tmp_path, entries)
    with publisher(tmp_path) as one:
        one.finalize(PLANNED, "interrupted")
        one.rebuild()
        assert shown(tmp_path) == expected(entries)


def test_new_entries_after_the_end_remove_provisional_rows_by_themselves(tmp_path: Path) -> None:
    story = [*LONG_STORY, (2, "end")]
    entries = tell(story)
    write_journal(tmp_path, entries[:-1])
    with publisher(tmp_path) as one:
        one.finalize(PLANNED, "interrupted")
    write_journal(tmp_path, entries[-1:])
    publish_all(tmp_path)
    assert shown(tmp_path) == expected(entries)


def test_finalizing_again_makes_provisional_rows_anew(tmp_path: Path) -> None:
    write_journal(tmp_path, tell(LONG_STORY))
    with publisher(tmp_path) as one:
        one.finalize(PLANNED, "interrupted")
        once = everything(tmp_path)
        one.finalize(PLANNED, "interrupted")
        assert everything(tmp_path) == once
        one.finalize(PLANNED[:3], "cap")
        reasons = RunTables(tmp_path).table("sessions", ["error_class"]).to_pylist()
    assert {"error_class": "cap"} in reasons
    assert {"error_class": "interrupted"} not in reasons


# --- crashes -------------------------------------------------------------------------------------


class SnapshotDisk(FastDisk):
    """Keeps a copy of the folder from before every rename and removal: what a kill would leave."""

    def __init__(self, run_dir: Path, copies: Path) -> None:
        self.copies: list[Path] = []
        self._run_dir = run_dir
        self._into = copies

    def rename(self, source: Path, target: Path) -> None:
        self._copy()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        if path.exists():
            self._copy()
        super().remove(path)

    def _copy(self) -> None:
        self.copies.append(self._into / str(len(self.copies)))
        without = shutil.ignore_patterns("journal.*")
        shutil.copytree(self._run_dir, self.copies[-1], ignore=without)


@pytest.mark.long
@pytest.mark.slow
def test_killed_between_any_two_renames_or_removals_the_tables_come_out_the_same(
    tmp_path: Path,
) -> None:
    entries = tell(LONG_STORY)
    run_dir = tmp_path / "run"
    write_journal(run_dir, entries[:40])
    disk = SnapshotDisk(run_dir, tmp_path)
    with publisher(run_dir, disk, entries=25) as one:
        publish_to_the_end(one)
        one.finalize(PLANNED, "interrupted")
        write_journal(run_dir, entries[40:])
        one.rebuild()
        one.finalize(PLANNED, "cap")
    whole = everything(run_dir)
    assert len(disk.copies) > 90
    for killed in disk.copies:
        shutil.copy(run_dir / JOURNAL_NAME, killed / JOURNAL_NAME)
        with publisher(killed) as one:
            one.step()
            one.finalize(PLANNED, "cap")
        assert everything(killed) == whole, killed
        assert {path.name for path in (killed / WORK_FOLDER).iterdir()} == {"lock"}


@settings(max_examples=examples(20))
@given(story=stories(), crashes=st.lists(st.integers(0, 40), max_size=4))
def test_killed_again_and_again_no_row_is_lost_or_doubled(
    story: list[tuple[int, str]], crashes: list[int]
) -> None:
    entries = tell(story)
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder)
        write_journal(run_dir, entries)
        for pace, at in enumerate(crashes, start=5):
            try:
                with publisher(run_dir, FailingDisk(at, Crash()), entries=pace) as one:
                    publish_to_the_end(one)
            except Crash:
                pass
        publish_all(run_dir)
        assert shown(run_dir) == expected(entries)


# --- a full disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [*range(0, 34, 3)])
def test_a_full_disk_leaves_no_torn_file_and_the_next_step_goes_on(tmp_path: Path, at: int) -> None:
    entries = tell(LONG_STORY)
    write_journal(tmp_path, entries)
    publisher(tmp_path).close()
    full = OSError(errno.ENOSPC, "No space left on device")
    with publisher(tmp_path, FailingDisk(at + 1, full), entries=30) as one:
        with pytest.raises(StoreError, match=r"No space left on device.*free some space"):
            publish_to_the_end(one)
        for path in tmp_path.glob("*/*.parquet"):
            pq.read_table(path, partitioning=None)
        assert not list((tmp_path / WORK_FOLDER).glob("*.tmp"))
        publish_to_the_end(one)
    assert shown(tmp_path) == expected(entries)


def test_a_disk_full_at_the_end_can_be_finalized_again(tmp_path: Path) -> None:
    entries = tell(LONG_STORY)
    write_journal(tmp_path / "whole", entries)
    with publisher(tmp_path / "whole") as one:
        one.finalize(PLANNED, "cap")
    run_dir = tmp_path / "full"
    write_journal(run_dir, entries)
    publish_all(run_dir)
    with publisher(run_dir, FailingDisk(12, OSError(errno.ENOSPC, "No space left"))) as one:
        with pytest.raises(StoreError, match="No space left"):
            one.finalize(PLANNED, "cap")
        one.finalize(PLANNED, "cap")
    assert everything(run_dir) == everything(tmp_path / "whole")
