"""The file of a blob: its content deflated, and after that the content's length in eight bytes."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

_PIECE: Final = 1 << 20
_LEVEL: Final = 1
"""Of deflating: what agents write is text, and a turn waits for it."""
_LENGTH: Final = 8
"""Bytes of a content's length."""


def deflate(pieces: Iterable[bytes], target: IO[bytes]) -> None:
    """Write a blob's file."""
    packing, length = zlib.compressobj(_LEVEL), 0
    for piece in pieces:
        target.write(packing.compress(piece))
        length += len(piece)
    target.write(packing.flush() + length.to_bytes(_LENGTH, "little"))


def inflated(source: IO[bytes]) -> Iterator[bytes]:
    """The content of a blob's file, never more than a piece of it at once.

    A few bytes may stand for gigabytes, so nothing is read beyond what the file says it holds.

    Raises:
        zlib.error: It is damaged.
        OSError: It is too short to say what it holds.
    """
    left, unpacking = length_in(source), zlib.decompressobj()
    source.seek(0)
    while not unpacking.eof and (packed := source.read(_PIECE)):
        while packed and not unpacking.eof:
            if piece := unpacking.decompress(packed, _PIECE):
                left -= len(piece)
                if left < 0:
                    raise zlib.error("it holds more than it says")
                yield piece
            packed = unpacking.unconsumed_tail


def length_in(source: IO[bytes]) -> int:
    """Bytes of the content of a blob's file.

    Raises:
        OSError: It is too short to say so.
    """
    source.seek(-_LENGTH, os.SEEK_END)
    return int.from_bytes(source.read(_LENGTH), "little")


def is_blob(path: Path, digest: str) -> bool:
    """Whether a file is the whole blob of this name."""
    found, size = hashlib.blake2b(digest_size=32), 0
    with path.open("rb") as source:
        try:
            for piece in inflated(source):
                found.update(piece)
                size += len(piece)
            return length_in(source) == size and found.hexdigest() == digest
        except (zlib.error, OSError):
            return False
