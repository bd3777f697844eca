"""A run's journal as one compressed file, and back again bit for bit.

Archived, a run keeps ``run.json``, its plan and its tables, so that it is listed, summarised and
compared as before; what reads the journal (single sessions, export, resume, repair) asks for it to
be restored first. The compressed file carries a SHA-256 of what is in it, and is read back whole
before the journal is removed.
"""

from __future__ import annotations

import lzma
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Final, NamedTuple

from matrix.model.errors import StoreError
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.run.disk import Disk
from matrix.store.run.journal_lock import ARCHIVED, lock
from matrix.store.run.run_folder import require_played

ARCHIVE_NAME: Final = JOURNAL_NAME + ARCHIVED
_CHUNK: Final = 1 << 20
_TEMPORARY: Final = ".tmp"
_SQLITE: Final = b"SQLite format 3\0"
_FOOTER: Final = 12
"""Bytes at the end of a stream: a checksum, the length of the index, flags, and the letters YZ."""
_LARGEST_INDEX: Final = 1 << 20
_LONGEST_NUMBER: Final = 63


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
        require_played(run_dir)
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

    An archive may be somebody else's: it must say how much is in it, hold that and no more, and be
    a journal, before it takes the place of one.

    Raises:
        StoreError: There is no archive, it is damaged or no journal's, there is no room for what is
            in it, or the journal cannot be written.
    """
    disk = disk or Disk()
    journal, archive = run_dir / JOURNAL_NAME, run_dir / ARCHIVE_NAME
    if not is_archived(run_dir):
        raise StoreError(f"{run_dir.name} is not archived: there is no {archive.name} in it")
    temporary = journal.with_name(journal.name + _TEMPORARY)
    try:
        size = size_in(archive)
        if size > (free := shutil.disk_usage(run_dir).free):
            raise StoreError(
                f"{archive} holds a journal of {size / 2**20:,.0f} MiB, and "
                f"{free / 2**20:,.0f} MiB are free in {run_dir}; make room"
            )
        disk.write(temporary, partial(_decompress, archive, size))
        _require_journal(temporary, archive, run_dir.name, disk)
        _remove_beside(temporary, disk)
        packed = Packed(size, archive.stat().st_size)
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


def _decompress(archive: Path, size: int, handle: IO[bytes]) -> None:
    with lzma.open(archive, "rb") as packed:
        left = size
        while chunk := packed.read(_CHUNK):
            if left == size and not chunk.startswith(_SQLITE):
                raise lzma.LZMAError("it holds no journal")
            left -= len(chunk)
            if left < 0:
                raise lzma.LZMAError("it holds more than it says")
            handle.write(chunk)


def _remove_beside(journal: Path, disk: Disk) -> None:
    """Remove what reading a journal in WAL mode leaves beside it."""
    for suffix in ("-wal", "-shm"):
        disk.remove(journal.with_name(journal.name + suffix))


def _require_journal(found: Path, archive: Path, run_id: str, disk: Disk) -> None:
    told = "no journal that this matrix reads"
    try:
        with closing(JournalReader(found)) as reader:
            reader.last_seq()
            told = f"the journal of another run than {run_id}"
            reader.require_run(run_id)
    except StoreError:
        disk.remove(found)
        _remove_beside(found, disk)
        raise StoreError(f"{archive} holds {told}; it was left as it is") from None


def size_in(archive: Path) -> int:
    """Bytes that an archive says are in it.

    From the index at the end of a stream: https://tukaani.org/xz/xz-file-format.txt, 2.1.2 and 4.

    Raises:
        LZMAError: It is no archive, or its end is damaged.
        OSError: It cannot be read.
    """
    with archive.open("rb") as file:
        whole = file.seek(0, os.SEEK_END)
        file.seek(max(0, whole - _FOOTER))
        footer = file.read(_FOOTER)
        index_bytes = (int.from_bytes(footer[4:8], "little") + 1) * 4
        if not footer.endswith(b"YZ") or index_bytes > min(whole, _LARGEST_INDEX):
            raise lzma.LZMAError("its end is no end of an archive")
        file.seek(whole - _FOOTER - index_bytes)
        index = file.read(index_bytes)
    numbers = _numbers(index[1:])  # behind a zero, which says that this is an index
    count = next(numbers, 0)
    sizes = list(islice(numbers, 2 * count))
    if len(sizes) != 2 * count:
        raise lzma.LZMAError("its end is damaged")
    return sum(sizes[1::2])


def _numbers(data: bytes) -> Iterator[int]:
    """Seven bits to a byte, the lowest first; the last byte of a number has no eighth bit."""
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield number
            number = shift = 0
        elif shift > _LONGEST_NUMBER:
            return


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
