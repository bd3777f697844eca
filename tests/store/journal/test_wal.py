"""A write-ahead log whose end is torn is told from one that merely was in use."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from matrix.model.errors import StoreError
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.journal.wal import torn_bytes
from tests.store.journals import LONG_STORY, tell

ENTRIES = tell(LONG_STORY)
FRAME = 24 + 4096


@pytest.fixture
def died(tmp_path: Path) -> Path:
    """A journal as a killed writer leaves it: everything in the log, nothing checkpointed."""
    writer = JournalWriter(tmp_path / "live" / JOURNAL_NAME)
    for entry in ENTRIES:
        writer.append([entry])
    shutil.copytree(tmp_path / "live", tmp_path / "run")
    writer.close()
    return tmp_path / "run" / JOURNAL_NAME


def wal_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def opened(path: Path) -> tuple[int, list[object]]:
    """What was torn, and the entries that are left."""
    writer = JournalWriter(path, thorough=True)
    entries: list[object] = [row.entry for row in writer.since(0)]
    writer.close()
    return writer.torn, entries


def test_after_a_simple_kill_nothing_is_torn(died: Path) -> None:
    assert wal_of(died).stat().st_size > FRAME
    assert opened(died) == (0, ENTRIES)
    assert opened(died) == (0, ENTRIES)


@pytest.mark.parametrize("length", [1, 24, 1000, FRAME, 2 * FRAME + 5])
def test_a_write_that_was_cut_off_is_said_and_costs_nothing_that_was_acknowledged(
    died: Path, length: int
) -> None:
    wal = wal_of(died)
    wal.write_bytes(wal.read_bytes() + b"\xa5" * length)
    assert opened(died) == (length, ENTRIES)


def test_zeros_that_a_file_system_has_put_at_the_end_are_said(died: Path) -> None:
    wal = wal_of(died)
    wal.write_bytes(wal.read_bytes() + bytes(FRAME))
    assert opened(died) == (FRAME, ENTRIES)


def test_a_damaged_last_frame_costs_its_transaction_only_and_is_said(died: Path) -> None:
    wal = wal_of(died)
    data = bytearray(wal.read_bytes())
    data[-100:] = b"\x5a" * 100
    wal.write_bytes(data)
    torn, entries = opened(died)
    assert torn >= FRAME
    assert entries == ENTRIES[: len(entries)]
    assert len(entries) >= len(ENTRIES) - 1


@pytest.mark.parametrize("damage", [b"no log at all, and too short", b"\xff" * 5000])
def test_a_log_that_is_none_any_more_is_said_whole(died: Path, damage: bytes) -> None:
    wal_of(died).write_bytes(damage)
    with_nothing = torn_bytes(wal_of(died), 0)
    assert with_nothing == len(damage)


def test_leftovers_of_an_earlier_round_of_the_log_are_nothing_torn(tmp_path: Path) -> None:
    live = tmp_path / "live" / JOURNAL_NAME
    writer = JournalWriter(live)
    for entry in ENTRIES:
        writer.append([entry])
    # all of it goes into the database, and the next write begins the log anew
    assert opened_elsewhere(live, tmp_path / "before")[0] == 0
    writer._db.execute("PRAGMA wal_checkpoint(RESTART)")
    size = wal_of(live).stat().st_size
    writer.append(ENTRIES[:1])
    assert wal_of(live).stat().st_size == size, "the log was not begun anew"
    torn, entries = opened_elsewhere(live, tmp_path / "after")
    assert (torn, entries) == (0, [*ENTRIES, ENTRIES[0]])
    writer.close()


def opened_elsewhere(live: Path, folder: Path) -> tuple[int, list[object]]:
    shutil.copytree(live.parent, folder)
    return opened(folder / JOURNAL_NAME)


@pytest.mark.parametrize("what", [b"\0", b"\xa5"])
def test_a_page_of_the_database_itself_that_is_damaged_is_refused_by_name(
    died: Path, what: bytes
) -> None:
    opened(died)  # the log goes into the database
    assert not wal_of(died).exists()
    data = bytearray(died.read_bytes())
    data[-4096:] = what * 4096
    died.write_bytes(data)
    for _ in range(2):  # it is left as it is, and nobody holds its lock
        with pytest.raises(StoreError, match="put a copy of the journal in its place"):
            JournalWriter(died, thorough=True)
        assert died.read_bytes()[100:] == data[100:], "more than the header's mode has changed"
