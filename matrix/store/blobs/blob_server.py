"""The blobs of a run for processes on other nodes, where the run's folder is not.

Every operation may be repeated, and none leaves anything in memory: a server that dies is replaced
by another one, which goes on with the next part.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from matrix.store.blobs.blob_parts import BlobPart, Intake, messages, parts_of
from matrix.store.blobs.blobs import BlobStore
from matrix.store.run.disk import Disk

_DAMAGED: Final = (
    "it came from another node, whose disk or memory may be at fault; `matrix resume "
    "--redo-errored` plays its session again"
)


class BlobPort(Protocol):
    """How a process on another node reaches the run's blobs; each operation may be repeated."""

    def keep(self, digests: Sequence[str]) -> list[str]:
        """Those of some blobs that are not there; at the return all others are durable.

        Raises:
            BlobsRefused: The disk there is broken.
        """
        ...

    def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        """Parts of blobs of one sender, whose name is its own.

        Raises:
            StoreError: A blob has another hash than its name says.
            BlobsRefused: No space there, or its disk is broken.
        """
        ...

    def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        """The first parts of some blobs, at least one; ``offset`` is in the first one's file.

        Raises:
            StoreError: One of them is not there.
        """
        ...


class BlobServer:
    """Stands on the journal's node. Safe to use from several threads."""

    def __init__(self, run_dir: Path, disk: Disk | None = None) -> None:
        """Nothing is created before something is stored."""
        self._disk = disk or Disk()
        self._blobs = BlobStore(run_dir, self._disk)

    def keep(self, digests: Sequence[str]) -> list[str]:
        """See :class:`BlobPort`."""
        return self._blobs.keep(digests)

    def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        """See :class:`BlobPort`."""
        Intake(self._blobs, self._disk, sender, _DAMAGED).take(parts)

    def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        """See :class:`BlobPort`."""
        return next(messages(parts_of(self._blobs, digests, offset)))
