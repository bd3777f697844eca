"""Whether a run that ``run.json`` calls running has anybody left who drives it.

A driver that was killed cannot write that its run has ended, so the file would say ``running`` for
ever. The driver holds an operating-system lock, which dies with it; whoever reads the file looks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from matrix.model.errors import RunLocked
from matrix.store.run.journal_lock import process_named, sign, signed_by
from matrix.store.run.own_files import open_lock
from matrix.store.run.run_folder import STAGING, RunFile, read_run

DRIVER_LOCK: Final = "driver.lock"

ABANDONED: Final = "interrupted: its process is gone"
"""Why a run stopped whose driver died without a word."""


@contextmanager
def driving(run_dir: Path) -> Iterator[None]:
    """This process drives the run, for as long as the block or the process lasts.

    The lock is shared, so that somebody who looks, and has it for a moment, disturbs nobody. That
    only one process writes is the journal's own affair.
    """
    try:
        handle = open_lock(run_dir / DRIVER_LOCK)
    except OSError:  # a folder that cannot be written is complained about by who must write there
        yield
        return
    with handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        sign(handle)
        yield


def require_undriven(run_dir: Path) -> None:
    """See that no process drives the run: one may not have come to its journal yet.

    Raises:
        RunLocked: One does.
    """
    pid = signed_by(run_dir / DRIVER_LOCK)
    # whoever only looks has the lock for a moment, too, when who has signed it is gone
    if pid and _lives(int(pid)) and is_driven(run_dir):
        told = f"{run_dir.name} is still running ({process_named(pid)} plays it)"
        raise RunLocked(f"{told}; wait for it or stop it first")


def _lives(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except PermissionError:  # somebody else's
        return True
    except (OSError, OverflowError):
        return False
    return True


def clear_unbegun(results_dir: Path) -> None:
    """Remove what is left of runs whose process died while it set them up: nothing was begun."""
    with _setting_up_lock(results_dir, fcntl.LOCK_EX | fcntl.LOCK_NB) as alone:
        if not alone:
            return  # somebody may just be making a folder that nobody drives yet
        for folder in results_dir.glob(f"{STAGING}*"):
            if not (folder / DRIVER_LOCK).exists() or not is_driven(folder):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def setting_up(results_dir: Path) -> Iterator[None]:
    """A folder is being made here, and not driven before the end of the block."""
    with suppress(OSError):  # whoever makes the folder complains
        results_dir.mkdir(parents=True, exist_ok=True)
    with _setting_up_lock(results_dir, fcntl.LOCK_SH):
        yield


@contextmanager
def _setting_up_lock(results_dir: Path, how: int) -> Iterator[bool]:
    """A lock of the folder itself; whether it was given."""
    try:
        handle = os.open(results_dir, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield False
        return
    try:
        given = False
        with suppress(OSError):
            fcntl.flock(handle, how)
            given = True
        yield given
    finally:
        os.close(handle)


def is_driven(run_dir: Path) -> bool:
    """Whether some process drives the run; ``True`` where that cannot be known."""
    try:
        with (run_dir / DRIVER_LOCK).open("r+b") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def run_as_it_stands(run_dir: Path) -> RunFile:
    """``run.json``; a run that nobody drives any more is interrupted, whatever the file says.

    Raises:
        StoreError: It is missing, damaged, or of a later version of matrix.
    """
    return standing(run_dir, read_run(run_dir))


def standing(run_dir: Path, run: RunFile) -> RunFile:
    """:func:`run_as_it_stands`, of a file that was read."""
    if run.status != "running" or is_driven(run_dir):
        return run
    return run.model_copy(update={"status": "incomplete", "end_reason": ABANDONED})
