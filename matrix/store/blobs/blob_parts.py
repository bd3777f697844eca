"""Blobs on their way between two nodes: parts of bounded length, put together and verified.

A blob travels as its file is, deflated. Whoever takes parts keeps nothing in memory between them:
what has come is in a file, so another process may take the next part, and one that is sent again
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from matrix.model.errors import StoreError
from matrix.store.blobs.blob_file import is_blob
from matrix.store.blobs.blobs import BlobStore
from matrix.store.run.disk import Disk

PART_BYTES: Final = 1 << 20
"""Most of one blob in a part."""

MESSAGE_BYTES: Final = 2 << 20
"""Most in one message, in which many small blobs travel together."""

_OVERHEAD: Final = 256
"""Bytes that a part takes besides its data, roughly."""


class BlobPart(NamedTuple):
    """Bytes of a blob's file from ``offset`` on; ``last`` if the file ends with them."""

    digest: str
    offset: int
    data: bytes
    last: bool


def parts_of(blobs: BlobStore, digests: Iterable[str], offset: int = 0) -> Iterator[BlobPart]:
    """Some blobs in parts, in order.

    Args:
        blobs: Where they are.
        digests: Which ones.
        offset: Where the first of them begins, in bytes of its file.

    Raises:
        StoreError: One is not there.
    """
    for digest in digests:
        with blobs.packed(digest) as source:
            source.seek(offset)
            data = source.read(PART_BYTES)
            while True:
                after = source.read(PART_BYTES)
                yield BlobPart(digest, offset, data, not after)
                if not after:
                    break
                offset, data = offset + len(data), after
        offset = 0


def messages(parts: Iterable[BlobPart]) -> Iterator[list[BlobPart]]:
    """Parts in messages of bounded length, each of at least one."""
    message: list[BlobPart] = []
    size = 0
    for part in parts:
        length = len(part.data) + _OVERHEAD
        if message and size + length > MESSAGE_BYTES:
            yield message
            message, size = [], 0
        message.append(part)
        size += length
    if message:
        yield message


class Intake:
    """Puts the blobs of one sender together. The parts of each come in order, one at a time."""

    def __init__(self, blobs: BlobStore, disk: Disk, sender: str, damaged: str) -> None:
        """Nothing is made before a part comes.

        Args:
            blobs: Where they shall be.
            disk: The disk of ``blobs``.
            sender: A name that no other sender has.
            damaged: Where a damaged blob comes from and what to do then, for messages.
        """
        self._blobs, self._disk, self._sender, self._damaged = blobs, disk, sender, damaged

    def take(self, parts: Sequence[BlobPart]) -> None:
        """Take parts; a blob that is whole has its name at the return.

        Raises:
            StoreError: A blob has another hash than its name says.
            BlobsRefused: No space, or the disk is broken.
        """
        for part in parts:
            if not self._blobs.has(part.digest):
                try:
                    self._put(part)
                except OSError as error:
                    raise self._blobs.refused(error) from None

    def _put(self, part: BlobPart) -> None:
        path = self._blobs.unfinished() / f"{self._sender}-{part.digest}"
        path.touch()
        try:
            with path.open("r+b") as target:
                if path.stat().st_size < part.offset:  # its beginning was lost: the blob is
                    path.unlink()  # missing, and will be sent again
                    return
                target.seek(part.offset)
                target.write(part.data)
                if not part.last:
                    return
                target.truncate()
                target.flush()
                if not is_blob(path, part.digest):
                    raise StoreError(
                        f"blob {part.digest[:16]} is damaged: its content has another hash; "
                        f"{self._damaged}"
                    )
                self._disk.sync_file(target)
            self._blobs.name(part.digest, path)
        except (OSError, StoreError):
            path.unlink(missing_ok=True)
            raise
