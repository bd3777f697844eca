"""The few file operations whose order makes publishing safe, as a port.

Tests put a disk in its place that fails, or "crashes", at any one of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO


class Disk:
    """The real disk."""

    def write(self, path: Path, fill: Callable[[IO[bytes]], object]) -> None:
        """Write a new file durably; if that fails, no file is left.

        Raises:
            OSError: No space, a quota, or a broken disk.
        """
        try:
            with path.open("wb") as handle:
                fill(handle)
                handle.flush()
                self.sync_file(handle)
        except Exception:
            path.unlink(missing_ok=True)
            raise

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
