"""Blobs: pieces of content in a run's folder, each stored once and named by its hash.

A blob is on the disk before anything may name it: it is written under another name, flushed, and
only then given its own, and the folders on the way to it are flushed as well. Blobs are never
changed. One that nothing names is harmless; archiving the run removes it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple
from uuid import uuid4

from matrix.model.errors import BlobsRefused, ContentUnreadable
from matrix.model.files import MOST_BYTES, open_plain
from matrix.model.moments.checkpoint import Contents
from matrix.model.seeds import bytes_hash
from matrix.store.blobs.blob_file import deflate, inflated, length_in
from matrix.store.run.disk import Disk

BLOBS: Final = "blobs"
"""Folder of the blobs inside a run's folder."""

UNFINISHED: Final = "unfinished"
"""Folder of what is being written, inside that of the blobs."""

_PIECE: Final = 1 << 20


class Piece(NamedTuple):
    """A stored content: its hash (64 hex characters) and its length in bytes."""

    digest: str
    size: int


class BlobStore:
    """The blobs of one run. Safe to use from several threads and processes of one machine."""

    def __init__(self, run_dir: Path, disk: Disk | None = None) -> None:
        """Nothing is created before something is stored."""
        self._run_dir, self._disk = run_dir, disk or Disk()
        self.folder = run_dir / BLOBS

    def path(self, digest: str) -> Path:
        """Where a blob is, if it is there."""
        return self.folder / digest[:2] / digest[2:]

    @property
    def source(self) -> str:
        """Where the blobs are, for messages."""
        return str(self.folder)

    def has(self, digest: str) -> bool:
        """Whether the blob is there."""
        return self.path(digest).is_file()

    def batch(self) -> Batch:
        """Store blobs: use it as a context, ``add`` to it, and ``commit``."""
        return Batch(self, self._disk)

    def bring(self, digests: Iterable[str]) -> None:
        """All of them are about to be read, and all are here."""

    def unfinished(self) -> Path:
        """The folder of what is being written.

        Raises:
            OSError: It cannot be made.
        """
        folder = self.folder / UNFINISHED
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def name(self, digest: str, path: Path) -> None:
        """Give a blob its name; its file is flushed. The name lasts from :meth:`keep` on.

        Raises:
            OSError: No space, or the disk is broken.
        """
        target = self.path(digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._disk.rename(path, target)

    def keep(self, digests: Iterable[str]) -> list[str]:
        """Those of some blobs that are not here; at the return all others are durable.

        Raises:
            BlobsRefused: The disk is broken.
        """
        asked = list(dict.fromkeys(digests))
        missing = {digest for digest in asked if not self.has(digest)}
        folders = {self.path(digest).parent for digest in asked if digest not in missing}
        try:
            # also those of blobs that were there: another process may have named them just now
            if folders:
                self._disk.sync_all((), (*folders, self.folder, self._run_dir))
        except OSError as error:
            raise self.refused(error) from None
        return [digest for digest in asked if digest in missing]

    def refused(self, error: OSError) -> BlobsRefused:
        """What to say when the disk takes no blobs."""
        return BlobsRefused(
            f"cannot write in {self.folder}: {error.strerror}; make room or make it writable, then "
            f"`matrix resume {self._run_dir.name}` goes on from the last checkpoint of every "
            "session"
        )

    def packed(self, digest: str) -> IO[bytes]:
        """A blob's file.

        Raises:
            StoreError: It is not there.
        """
        try:
            return open_plain(self.path(digest))
        except OSError as error:
            raise self._unreadable(digest, error) from None

    def size(self, digest: str) -> int:
        """Bytes of a blob.

        Raises:
            StoreError: It is not there.
        """
        try:
            with open_plain(self.path(digest)) as source:
                return length_in(source)
        except OSError as error:
            raise self._unreadable(digest, error) from None

    def read(self, digest: str) -> bytes:
        """The whole of a small blob.

        Raises:
            StoreError: It is not there, damaged, or too large to be a small one.
        """
        if (size := self.size(digest)) > MOST_BYTES:
            raise ContentUnreadable(
                f"blob {digest[:16]} in {self.folder} has {size:,} bytes; what is read at once has "
                f"at most {MOST_BYTES:,}"
            )
        return b"".join(self.pieces(digest))

    def pieces(self, digest: str) -> Iterator[bytes]:
        """A blob piece by piece; the last step compares it with its name.

        Raises:
            StoreError: It is not there, or damaged.
        """
        found = hashlib.blake2b(digest_size=32)
        try:
            with open_plain(self.path(digest)) as source:
                for piece in inflated(source):
                    found.update(piece)
                    yield piece
        except OSError as error:
            raise self._unreadable(digest, error) from None
        except zlib.error:
            pass  # whatever was read has another hash
        if found.hexdigest() != digest:
            raise ContentUnreadable(
                f"blob {digest[:16]} in {self.folder} is damaged: its content has another hash; "
                "put it back from a copy of the run's folder"
            )

    def _unreadable(self, digest: str, error: OSError) -> ContentUnreadable:
        return ContentUnreadable(
            f"cannot read blob {digest[:16]} in {self.folder}: {error.strerror}; the working "
            "folders of its sessions cannot be restored without it"
        )


class Batch:
    """Blobs that become durable together. What is not committed is dropped."""

    def __init__(self, store: BlobStore, disk: Disk) -> None:
        self._store, self._disk = store, disk
        self._written: dict[str, Path] = {}
        self._named: set[str] = set()
        self._own, self._count = uuid4().hex, 0
        self._folder: Path | None = None

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for path in self._written.values():
            path.unlink(missing_ok=True)
        self._written.clear()

    def add(self, content: bytes) -> str:
        """Store a small content; returns its hash.

        Raises:
            BlobsRefused: No space, or the disk is broken.
        """
        digest = bytes_hash(content)
        if self._is_new(digest):
            path = self._new_file()
            self._write(path, lambda target: deflate([content], target))
            self._written[digest] = path
        return digest

    def take(self, digest: str, contents: Contents) -> None:
        """Store what is kept elsewhere: the same file where that can be had, else a copy of it.

        Raises:
            StoreError: It is not there, or damaged.
            BlobsRefused: No space, or the disk is broken.
        """
        if not self._is_new(digest):
            return
        path = self._new_file()
        if not (isinstance(contents, BlobStore) and _share(contents.path(digest), path)):
            self._write(path, lambda target: deflate(contents.pieces(digest), target))
        self._written[digest] = path

    def add_stream(self, source: IO[bytes]) -> Piece:
        """Store what is read from ``source``.

        Raises:
            BlobsRefused: No space, or the disk is broken.
        """
        begin = source.read(_PIECE)
        if len(begin) < _PIECE:  # all of it: most files are small, and most are here already
            return Piece(self.add(begin), len(begin))
        found = hashlib.blake2b(begin, digest_size=32)
        size = len(begin)

        def pieces() -> Iterator[bytes]:
            nonlocal size
            yield begin
            while piece := source.read(_PIECE):
                found.update(piece)
                size += len(piece)
                yield piece

        path = self._new_file()
        self._write(path, lambda target: deflate(pieces(), target))
        digest = found.hexdigest()
        if self._is_new(digest):
            self._written[digest] = path
        else:
            path.unlink()
        return Piece(digest, size)

    def commit(self) -> None:
        """Give the blobs their names. When this returns, all that were added are durable.

        Raises:
            BlobsRefused: No space, or the disk is broken.
        """
        if not self._named:
            return
        try:
            self._disk.sync_all(list(self._written.values()))
            for digest, path in self._written.items():
                self._store.name(digest, path)
        except OSError as error:
            raise self._store.refused(error) from None
        self._written.clear()
        self._store.keep(self._named)
        self._named.clear()

    def _is_new(self, digest: str) -> bool:
        self._named.add(digest)
        return digest not in self._written and not self._store.has(digest)

    def _new_file(self) -> Path:
        """Where the next blob is written; nobody else's file has this name."""
        try:
            folder = self._folder = self._folder or self._store.unfinished()
        except OSError as error:
            raise self._store.refused(error) from None
        self._count += 1
        return folder / f"{self._own}-{self._count}"

    def _write(self, path: Path, fill: Callable[[IO[bytes]], object]) -> None:
        try:
            self._disk.put(path, fill)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise self._store.refused(error) from None


def _share(blob: Path, path: Path) -> bool:
    """Put a blob, which is durable and never changed, in the place of a file; whether it could."""
    linked = path.with_name(f"{path.name}-linked")
    try:
        linked.hardlink_to(blob)
    except OSError:  # on another file system, or it is one that has no such links
        return False
    linked.replace(path)
    return True
