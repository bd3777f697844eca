"""Who may write a journal: one process at a time, and nobody while it is in its archive."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from matrix.model.errors import RunLocked, StoreError

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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path.with_suffix(".lock"), "ab")  # noqa: SIM115, PTH123  held until close()
    except OSError as error:
        raise StoreError(
            f"cannot write in {path.parent}: {error.strerror}; choose another folder with --results"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise RunLocked(
            f"{path.parent.name} is still running ({_holder(path)} holds {path.name}); "
            "wait for it or stop it first"
        ) from None
    os.set_inheritable(handle.fileno(), False)
    _sign(handle)
    return handle


def _sign(handle: IO[bytes]) -> None:
    """Leave the number of this process in its lock; a full disk is no reason not to have it."""
    with suppress(OSError):
        handle.truncate(0)
        handle.write(str(os.getpid()).encode())
        handle.flush()


def _holder(path: Path) -> str:
    """The process that has a journal's lock, by what it wrote there."""
    try:
        text = path.with_suffix(".lock").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return f"process {text}" if text.isdigit() else "another process"
