"""Who may write a journal: one process at a time, and nobody while it is in its archive."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from matrix.model.errors import RunLocked, StoreError
from matrix.store.run.own_files import open_lock, require_own

ARCHIVED: Final = ".xz"
"""What the name of an archived journal ends with."""


def require_unpacked(path: Path) -> None:
    """A journal that is in its archive must not be taken for a missing one, and begun anew."""
    if not path.is_file() and path.with_name(path.name + ARCHIVED).is_file():
        raise StoreError(
            f"{path.parent.name} is archived; `matrix archive {path.parent.name} --restore` brings "
            "its journal back"
        )


def lock(path: Path) -> IO[bytes]:
    """An operating-system lock that dies with its process, whatever kills it.

    Raises:
        RunLocked: Another process has it; the run is alive.
        StoreError: The folder cannot be written, or the journal is in its archive.
    """
    require_unpacked(path)
    lock_file = path.with_suffix(".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        require_own(path.parent)
        handle = open_lock(lock_file)
    except OSError as error:
        raise StoreError(
            f"cannot write in {path.parent}: {error.strerror}; choose another folder with --results"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        holder = process_named(signed_by(lock_file))
        raise RunLocked(
            f"{path.parent.name} is still running ({holder} holds {path.name}); wait for it or "
            "stop it first"
        ) from None
    os.set_inheritable(handle.fileno(), False)
    sign(handle)
    return handle


def sign(handle: IO[bytes]) -> None:
    """Leave the number of this process in its lock; a full disk is no reason not to have it."""
    with suppress(OSError):
        handle.truncate(0)
        handle.write(str(os.getpid()).encode())
        handle.flush()


def signed_by(lock_file: Path) -> str:
    """The number of the process that has signed a lock; empty if none has, or it just begins to."""
    try:
        text = lock_file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return text if text.isdigit() else ""


def process_named(pid: str) -> str:
    """What to call the process that :func:`signed_by` has found, or has not."""
    return f"process {pid}" if pid else "another process"
