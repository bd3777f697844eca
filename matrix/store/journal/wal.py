"""The end of SQLite's write-ahead log: was it torn when its writer died?

A torn end is no damage: what was not written whole had not been acknowledged. But a disk that lies
about what it has written can lose more than that, and SQLite leaves out whatever it cannot read
without a word. So it is said.

The format is documented at https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path
from typing import Final

from matrix.model.errors import StoreError

WAL: Final = "-wal"
"""What the name of the log ends with, after that of its database."""

_HEADER: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_MAGIC: Final = (0x377F0682, 0x377F0683)
_GENERATIONS: Final = 2**20
"""The log is written from its beginning again once it is all in the database, with the first salt
raised by one; frames of so many rounds ago are taken for leftovers."""


def torn_end(db: sqlite3.Connection, path: Path) -> int:
    """:func:`torn_bytes` of the log beside a database that is open in WAL mode.

    Raises:
        StoreError: It cannot be read.
    """
    _, frames, _ = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    wal = path.with_name(path.name + WAL)
    try:
        return torn_bytes(wal, max(0, frames))
    except OSError as error:
        raise StoreError(f"cannot read {wal}: {error.strerror}") from None


def torn_bytes(wal: Path, frames: int) -> int:
    """Bytes after the last readable transaction that belong to a write which was cut off.

    Args:
        wal: The log; it may be missing.
        frames: Frames that SQLite reads from it (``PRAGMA wal_checkpoint`` says how many).

    Raises:
        OSError: It cannot be read.
    """
    if not wal.is_file():
        return 0
    with wal.open("rb") as handle:
        size: int = handle.seek(0, 2)
        handle.seek(0)
        head = handle.read(_HEADER.size)
        if len(head) < _HEADER.size:
            return size
        magic, _, page, _, salt, *_ = _HEADER.unpack(head)
        if magic not in _MAGIC or (frames == 0 and not _sound(head)):
            return size
        end: int = _HEADER.size + frames * (_FRAME.size + page)
        left = size - end
        if left <= 0:
            return 0
        handle.seek(end)
        next_frame = handle.read(_FRAME.size)
    if left < _FRAME.size + page:
        return left
    rounds_ago = (salt - _FRAME.unpack(next_frame)[2]) % 2**32
    return 0 if 0 < rounds_ago < _GENERATIONS else left


def _sound(head: bytes) -> bool:
    """Whether the header's own checksum is right."""
    order = ">" if head[3] & 1 else "<"
    words = struct.unpack(f"{order}6I", head[:24])
    one = two = 0
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) % 2**32
        two = (two + second + one) % 2**32
    return (one, two) == struct.unpack(">2I", head[24:])
