"""The few file operations whose order makes publishing safe, as a port.

Tests put a disk in its place that fails, or "crashes", at any one of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Final

from matrix.store.run.own_files import FILE_MODE, make_anew

_AT_ONCE: Final = 16
"""Files that are flushed side by side: a disk takes many for little more than it takes one."""


class Disk:
    """The real disk."""

    def write(self, path: Path, fill: Callable[[IO[bytes]], object], mode: int = FILE_MODE) -> None:
        """Write a new file durably; if that fails, no file is left.

        What has its name is removed before, so that no link is followed. ``mode`` is what others
        may do with it; nothing, if left out.

        Raises:
            OSError: No space, a quota, or a broken disk.
        """

        def filled_durably(handle: IO[bytes]) -> None:
            fill(handle)
            handle.flush()
            self.sync_file(handle)

        self._made(path, filled_durably, mode)

    def put(self, path: Path, fill: Callable[[IO[bytes]], object]) -> None:
        """Write a new file that is durable from :meth:`sync_all` on; if it fails, none is left.

        Raises:
            OSError: No space, a quota, or a broken disk.
        """
        self._made(path, fill, FILE_MODE)

    def _made(self, path: Path, fill: Callable[[IO[bytes]], object], mode: int) -> None:
        try:
            with make_anew(path, mode) as handle:
                fill(handle)
        except Exception:
            path.unlink(missing_ok=True)
            raise

    def sync_all(self, files: Sequence[Path], folders: Sequence[Path] = ()) -> None:
        """Make many files durable, or the renames in many folders.

        Raises:
            OSError: The disk is broken.
        """
        with ThreadPoolExecutor(min(_AT_ONCE, max(1, len(files) + len(folders)))) as threads:
            for _ in threads.map(self._sync_closed, files):
                pass
            for _ in threads.map(self.sync_folder, folders):
                pass

    def _sync_closed(self, path: Path) -> None:
        with path.open("rb") as handle:
            self.sync_file(handle)

    def rename(self, source: Path, target: Path) -> None:
        """Atomically give a file or folder another name, replacing a file of that name."""
        source.replace(target)

    def sync_file(self, handle: IO[bytes]) -> None:
        """Make what was written durable."""
        os.fsync(handle.fileno())

    def sync_folder(self, folder: Path) -> None:
        """Make renames in a folder durable."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def remove(self, path: Path) -> None:
        """Remove a file or a whole folder, if it is there."""
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
