"""A run's folder on a node that has not its journal: gone with the last process that uses it.

In it are sessions' working folders and copies of blobs; all of it can be had again. Every process
that uses it holds a lock; what nobody holds, because its processes were killed, is removed when
another process of this user opens or leaves such a folder on the same machine.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from matrix.model.errors import FolderUnavailable
from matrix.model.seeds import bytes_hash
from matrix.store.blobs.restoring import remove_folder
from matrix.store.upkeep.sweeping import FOLDERS

_NAME: Final = 16
"""Characters of a name made by hashing."""


class NodeFolder:
    """One process's hold on the folder of its run on this node."""

    def __init__(self, path: Path, handle: int) -> None:
        """See :meth:`open`."""
        self.path, self._handle = path, handle

    @classmethod
    def open(cls, node: str, run_dir: Path, base: Path | None = None) -> NodeFolder:
        """The folder of a run on this node; made if it is not there.

        Args:
            node: The node's name: nodes that share a disk share no folder.
            run_dir: The run's folder, as it is called where the journal is.
            base: Where such folders are; ``TMPDIR`` or ``/tmp`` if left out.

        Raises:
            FolderUnavailable: The place for such folders cannot be made, or is somebody else's.
        """
        place = _base(base or Path(tempfile.gettempdir()))
        key = bytes_hash(f"{node} {run_dir}".encode())[:_NAME]
        _sweep(place, but=key)
        handle = _shared(place / f"{key}.lock")
        path = place / key / run_dir.name
        path.mkdir(parents=True, exist_ok=True)
        return cls(path, handle)

    def close(self) -> None:
        """Let go; the last one removes the folder."""
        os.close(self._handle)
        _sweep(self.path.parents[1])


def _base(temporary: Path) -> Path:
    """A folder of this user's alone, also where everybody may write beside it."""
    place = temporary / f"matrix-{os.getuid()}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError as error:
        raise FolderUnavailable(
            f"cannot make {place} for working folders: {error.strerror}; set TMPDIR to a folder "
            "on this node that can be written"
        ) from None
    if place.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise FolderUnavailable(
            f"{place} is not this user's alone; remove it, or set TMPDIR to another folder"
        )
    return place


def _shared(lock: Path) -> int:
    """A hold on a lock that may be removed at any moment by who finds it free."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_SH)
        if _is_file(handle, lock):
            return handle
        os.close(handle)


def _sweep(place: Path, but: str = "") -> None:
    for lock in place.glob("*.lock"):
        if lock.stem != but:
            _remove_unused(lock)


def _remove_unused(lock: Path) -> None:
    """Remove a folder and its lock, unless a process, or a command of a dead one, uses it."""
    with suppress(OSError):  # what is left is in nobody's way, and the next who opens one tries
        handle = os.open(lock, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            folder = lock.with_suffix("")
            if not _is_file(handle, lock) or not _are_free(folder.glob(f"*/{FOLDERS}/*.lock")):
                return
            if folder.is_dir():
                remove_folder(folder)
            lock.unlink()
        finally:
            os.close(handle)


def _are_free(locks: Iterator[Path]) -> bool:
    """Whether nobody holds any of these locks of sessions' folders."""
    for lock in locks:
        handle = os.open(lock, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(handle)
    return True


def _is_file(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.fstat(handle).st_ino == path.stat().st_ino
    return False
