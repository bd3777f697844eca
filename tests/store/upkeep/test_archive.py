"""Archives: bit for bit what was packed, whatever happens on the way."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest

from matrix import api
from matrix.model.errors import BadInput, RunLocked, StoreError
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.run.disk import Disk
from matrix.store.run.own_files import FILE_MODE
from matrix.store.upkeep.archive import ARCHIVE_NAME, is_archived, pack, restore

KEPT = Path(__file__).parents[1] / "journals_v3"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    shutil.copytree(KEPT / "play", tmp_path / "play")
    api.repair(tmp_path / "play")
    return tmp_path / "play"


def test_a_restored_journal_is_the_one_that_was_packed_bit_for_bit(run_dir: Path) -> None:
    before = (run_dir / JOURNAL_NAME).read_bytes()
    packed = pack(run_dir)
    assert is_archived(run_dir)
    assert packed.journal_bytes == len(before) > packed.archive_bytes
    restore(run_dir)
    assert (run_dir / JOURNAL_NAME).read_bytes() == before
    assert not (run_dir / ARCHIVE_NAME).exists()


@pytest.mark.slow
def test_an_archived_run_is_listed_summarised_and_compared_as_before(run_dir: Path) -> None:
    before = api.open_run(run_dir).compare("prompt").sentence
    rows = api.open_run(run_dir).sessions()
    api.archive(run_dir)
    archived = api.open_run(run_dir)
    assert archived.compare("prompt").sentence == before
    assert archived.sessions().equals(rows)
    assert [item.path for item in api.list_runs(run_dir.parent)] == [run_dir]
    assert archived.summary().calls > 0


def test_what_needs_the_journal_says_how_to_bring_it_back_and_makes_no_new_one(
    run_dir: Path,
) -> None:
    api.archive(run_dir)
    for need in (
        lambda: api.open_run(run_dir).session("best"),
        lambda: api.repair(run_dir),
        lambda: JournalReader(run_dir / JOURNAL_NAME),
        lambda: JournalWriter(run_dir / JOURNAL_NAME),
    ):
        with pytest.raises(StoreError, match="matrix archive play --restore"):
            need()
    assert not (run_dir / JOURNAL_NAME).exists()


def test_only_complete_runs_that_are_not_alive_are_archived(run_dir: Path) -> None:
    writer = JournalWriter(run_dir / JOURNAL_NAME)
    with pytest.raises(RunLocked):
        api.archive(run_dir)
    writer.close()
    run_file = run_dir / "run.json"
    run_file.write_text(run_file.read_text().replace('"complete"', '"incomplete"'))
    with pytest.raises(StoreError, match=r"only complete runs are archived.*matrix resume play"):
        api.archive(run_dir)
    assert (run_dir / JOURNAL_NAME).is_file()


class Killed(BaseException):
    """The process died."""


class Failing(Disk):
    """Fails at its nth operation."""

    def __init__(self, at: int, failure: BaseException) -> None:
        self.operations, self._at, self._failure = 0, at, failure

    def write(self, path: Path, fill: Callable[[IO[bytes]], object], mode: int = FILE_MODE) -> None:
        self._count()
        super().write(path, fill, mode)
        self._count()

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._count()
        super().remove(path)

    def _count(self) -> None:
        self.operations += 1
        if self.operations == self._at:
            raise self._failure


@pytest.mark.parametrize("failure", [Killed(), OSError(errno.ENOSPC, "No space left on device")])
@pytest.mark.parametrize("at", range(1, 7))
def test_stopped_anywhere_the_journal_or_its_archive_is_whole(
    run_dir: Path, at: int, failure: BaseException
) -> None:
    before = (run_dir / JOURNAL_NAME).read_bytes()
    for work in (pack, restore):
        with suppress(Killed, StoreError):
            work(run_dir, Failing(at, failure))
        if is_archived(run_dir):
            restore(run_dir)
        assert (run_dir / JOURNAL_NAME).read_bytes() == before
        if work is pack:
            pack(run_dir)


def test_a_damaged_archive_is_said_to_be_damaged_and_kept(run_dir: Path) -> None:
    pack(run_dir)
    archive = run_dir / ARCHIVE_NAME
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        restore(run_dir)
    assert archive.read_bytes() == data
    assert not (run_dir / JOURNAL_NAME).exists()


def test_by_age_only_older_complete_runs_are_packed_and_only_once(run_dir: Path) -> None:
    created = api.open_run(run_dir).file.created_at.astimezone(UTC)
    results = run_dir.parent
    shutil.copytree(KEPT / "counter", results / "counter")
    text = (results / "counter" / "run.json").read_text()
    (results / "counter" / "run.json").write_text(text.replace('"complete"', '"running"'))

    def packed(now: datetime) -> list[str]:
        return [kept.run_id for kept in api.archive_older("30d", results=results, now=now)]

    assert packed(created + timedelta(days=29)) == []
    assert packed(created + timedelta(days=31)) == ["play"]
    assert packed(created + timedelta(days=31)) == []


@pytest.mark.parametrize("age", ["", "30", "d", "-1d", "1y", "1.5d", "9999999d"])
def test_an_age_that_is_none_is_refused_with_what_is_allowed(run_dir: Path, age: str) -> None:
    with pytest.raises(BadInput, match="allowed: a number with h, d or w"):
        api.archive_older(age, results=run_dir.parent)
