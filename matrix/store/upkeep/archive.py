"""A run's journal as one compressed file, and back again bit for bit.

Archived, a run keeps ``run.json``, its plan and its tables, so that it is listed, summarised and
compared as before; what reads the journal (single sessions, export, resume, repair) asks for it to
be restored first. The compressed file carries a SHA-256 of what is in it, and is read back whole
before the journal is removed.
"""

from __future__ import annotations

import lzma
import shutil
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple

from matrix.model.errors import StoreError
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.run.disk import Disk
from matrix.store.run.journal_lock import ARCHIVED, lock

ARCHIVE_NAME: Final = JOURNAL_NAME + ARCHIVED
_CHUNK: Final = 1 << 20
_TEMPORARY: Final = ".tmp"


class Packed(NamedTuple):
    """What archiving or restoring did: bytes of the journal, and of its archive."""

    journal_bytes: int
    archive_bytes: int


def is_archived(run_dir: Path) -> bool:
    """Whether the run's journal is in its archive."""
    return (run_dir / ARCHIVE_NAME).is_file() and not (run_dir / JOURNAL_NAME).is_file()


def pack(run_dir: Path, disk: Disk | None = None) -> Packed:
    """Replace a run's journal by its archive; killed at any moment, one of the two is whole.

    Raises:
        RunLocked: The run is alive.
        StoreError: There is no journal, or the archive cannot be written; nothing was removed.
    """
    disk = disk or Disk()
    journal, archive = run_dir / JOURNAL_NAME, run_dir / ARCHIVE_NAME
    if not journal.is_file():
        raise StoreError(f"no journal at {journal}; nothing to archive")
    _settle(journal)
    held = lock(journal)  # nobody may write it meanwhile
    try:
        temporary = archive.with_name(archive.name + _TEMPORARY)
        disk.write(temporary, partial(_compress, journal))
        if not _same(journal, temporary):
            disk.remove(temporary)
            raise StoreError(f"{archive} does not read back as {journal}; nothing was removed")
        packed = Packed(journal.stat().st_size, temporary.stat().st_size)
        disk.rename(temporary, archive)
        disk.sync_folder(run_dir)
        for suffix in ("", "-wal", "-shm"):
            disk.remove(journal.with_name(journal.name + suffix))
        disk.sync_folder(run_dir)
    except OSError as error:
        raise _failed(run_dir, error) from error
    finally:
        held.close()
    return packed


def restore(run_dir: Path, disk: Disk | None = None) -> Packed:
    """Bring an archived journal back, bit for bit, and remove the archive.

    Raises:
        StoreError: There is no archive, it is damaged, or the journal cannot be written.
    """
    disk = disk or Disk()
    journal, archive = run_dir / JOURNAL_NAME, run_dir / ARCHIVE_NAME
    if not is_archived(run_dir):
        raise StoreError(f"{run_dir.name} is not archived: there is no {archive.name} in it")
    temporary = journal.with_name(journal.name + _TEMPORARY)
    try:
        disk.write(temporary, partial(_decompress, archive))
        packed = Packed(temporary.stat().st_size, archive.stat().st_size)
        disk.rename(temporary, journal)
        disk.sync_folder(run_dir)
        disk.remove(archive)
    except (lzma.LZMAError, EOFError) as error:
        raise StoreError(f"{archive} is damaged ({error}); restore it from a backup") from None
    except OSError as error:
        raise _failed(run_dir, error) from error
    return packed


def _settle(journal: Path) -> None:
    """Bring what a killed writer left beside the journal into the one file."""
    beside = journal.with_name(journal.name + "-wal")
    if beside.is_file() and beside.stat().st_size:
        JournalWriter(journal).close()
        if beside.is_file() and beside.stat().st_size:
            raise StoreError(f"{journal} is being read by another process; try again later")


def _compress(journal: Path, handle: IO[bytes]) -> None:
    with (
        journal.open("rb") as source,
        lzma.open(handle, "wb", preset=6, check=lzma.CHECK_SHA256) as packed,
    ):
        shutil.copyfileobj(source, packed, _CHUNK)


def _decompress(archive: Path, handle: IO[bytes]) -> None:
    with lzma.open(archive, "rb") as packed:
        shutil.copyfileobj(packed, handle, _CHUNK)


def _same(journal: Path, archive: Path) -> bool:
    with journal.open("rb") as one, lzma.open(archive, "rb") as two:
        while True:
            here, there = one.read(_CHUNK), two.read(_CHUNK)
            if here != there:
                return False
            if not here:
                return True


def _failed(run_dir: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write in {run_dir}: {error.strerror or error}; free some space and try again"
    )
