"""Where the content of working folders is kept, as a port: here, or on another node."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import IO, Protocol, Self

from matrix.model.moments.checkpoint import Contents
from matrix.store.blobs.blobs import Piece


class Adding(Protocol):
    """Takes contents and names them by their hash."""

    def add(self, content: bytes) -> str:
        """A small content; returns its hash."""
        ...

    def add_stream(self, source: IO[bytes]) -> Piece:
        """What is read from ``source``."""
        ...


class FolderBatch(Adding, Protocol):
    """Contents that become durable together. What is not committed is dropped."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def add(self, content: bytes) -> str:
        """Store a small content; returns its hash.

        Raises:
            BlobsRefused: No space, or the disk is broken.
        """
        ...

    def add_stream(self, source: IO[bytes]) -> Piece:
        """Store what is read from ``source``.

        Raises:
            BlobsRefused: No space, or the disk is broken.
        """
        ...

    def commit(self) -> None:
        """When this returns, all that were added are durable where the journal is.

        Raises:
            BlobsRefused: No space, or a disk is broken.
        """
        ...


class FolderStore(Contents, Protocol):
    """Keeps the contents of working folders, by hash."""

    def batch(self) -> FolderBatch:
        """Store contents: use it as a context, ``add`` to it, and ``commit``."""
        ...

    def bring(self, digests: Iterable[str]) -> None:
        """Contents that are about to be read one by one may come together.

        Raises:
            StoreError: One of them is not there or damaged.
        """
        ...
