"""The run's blobs as a process on another node has them: what it needs is here, all is there.

What is stored goes into a folder of this node first, and is durable only when the journal's node
has all of it; what is there already does not travel. What is read is fetched once. Nothing depends
on what this node still has: it may lose all of it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Final
from uuid import uuid4

from matrix.model.errors import BlobsRefused
from matrix.store.blobs.blob_parts import Intake, messages, parts_of
from matrix.store.blobs.blob_server import BlobPort
from matrix.store.blobs.blobs import Batch, BlobStore, Piece
from matrix.store.run.disk import Disk

_MOST_ASKED: Final = 1000
"""Blobs named in one request for them."""

_DAMAGED: Final = (
    "it came from the journal's node; put it back there from a copy of the run's folder"
)


class FleetingDisk(Disk):
    """A disk for what can be had again: nobody waits for it to be durable."""

    def sync_file(self, handle: IO[bytes]) -> None:
        """Not needed."""

    def sync_folder(self, folder: Path) -> None:
        """Not needed."""

    def sync_all(self, files: Sequence[Path], folders: Sequence[Path] = ()) -> None:
        """Not needed."""


class RemoteBlobs:
    """The blobs of one run, from another node. Safe to use from several threads and processes."""

    def __init__(self, folder: Path, port: BlobPort) -> None:
        """Keep copies in ``folder``, which is on this node; ``port`` reaches the journal's."""
        self._disk = FleetingDisk()
        self._here, self._port = BlobStore(folder, self._disk), port

    @property
    def source(self) -> str:
        """Where the blobs are, for messages."""
        return f"{self._here.source} on {platform.node()}, which has them from the journal's node"

    def batch(self) -> RemoteBatch:
        """Store blobs: use it as a context, ``add`` to it, and ``commit``."""
        return RemoteBatch(self._here, self._port)

    def bring(self, digests: Iterable[str]) -> None:
        """Fetch what is not here yet.

        Raises:
            StoreError: One of them is not there, or damaged.
            BlobsRefused: The disk of this node takes no more.
        """
        requested = [d for d in dict.fromkeys(digests) if not self._here.has(d)]
        intake = Intake(self._here, self._disk, uuid4().hex, _DAMAGED)
        first = offset = 0
        while first < len(requested):
            for part in self._port.give(requested[first : first + _MOST_ASKED], offset):
                with _of_this_node():
                    intake.take([part])
                offset = 0 if part.last else part.offset + len(part.data)
                first += part.last

    def size(self, digest: str) -> int:
        """Bytes of a blob.

        Raises:
            StoreError: It is not there, or damaged.
        """
        self.bring([digest])
        return self._here.size(digest)

    def read(self, digest: str) -> bytes:
        """The whole of a small blob.

        Raises:
            StoreError: It is not there, or damaged.
        """
        return b"".join(self.pieces(digest))

    def pieces(self, digest: str) -> Iterator[bytes]:
        """A blob piece by piece.

        Raises:
            StoreError: It is not there, or damaged.
        """
        self.bring([digest])
        yield from self._here.pieces(digest)


class RemoteBatch:
    """Blobs that become durable together at the journal's node."""

    def __init__(self, here: BlobStore, port: BlobPort) -> None:
        self._here, self._port = here, port
        self._batch: Batch = here.batch()
        self._named: dict[str, None] = {}

    def __enter__(self) -> RemoteBatch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._batch.__exit__(kind, error, trace)

    def add(self, content: bytes) -> str:
        """Store a small content; returns its hash.

        Raises:
            BlobsRefused: No space on this node, or its disk is broken.
        """
        with _of_this_node():
            digest = self._batch.add(content)
        self._named[digest] = None
        return digest

    def add_stream(self, source: IO[bytes]) -> Piece:
        """Store what is read from ``source``.

        Raises:
            BlobsRefused: No space on this node, or its disk is broken.
        """
        with _of_this_node():
            piece = self._batch.add_stream(source)
        self._named[piece.digest] = None
        return piece

    def commit(self) -> None:
        """Have all of it at the journal's node; when this returns, it is durable there.

        Raises:
            StoreError: What this node has of it is damaged.
            BlobsRefused: No space, here or there.
        """
        with _of_this_node():
            self._batch.commit()
        # again, if its process there was replaced and had lost the beginning of a blob
        while missing := self._port.keep(list(self._named)):
            sender = uuid4().hex
            for message in messages(parts_of(self._here, missing)):
                self._port.take(sender, message)
        self._named.clear()


@contextmanager
def _of_this_node() -> Iterator[None]:
    """Say of a disk that takes no more which node's it is."""
    try:
        yield
    except BlobsRefused as refused:
        raise BlobsRefused(f"on node {platform.node()}: {refused}") from None
