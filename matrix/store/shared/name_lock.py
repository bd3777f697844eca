"""One run of a name at a time, for runs that are a series: each is held against the one before."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matrix.model.errors import AlreadyRunning, StoreError
from matrix.store.run.journal_lock import process_named, sign, signed_by
from matrix.store.run.own_files import open_lock


@contextmanager
def only_one(results_dir: Path, name: str) -> Iterator[None]:
    """Be the only one of a name in a results folder who is inside such a block.

    The lock is the operating system's: it dies with its process, whatever kills that. Its file
    stays, with the number of the process that had it last, because a file that is removed while
    somebody waits for its lock would be two locks.

    Args:
        results_dir: Folder of runs.
        name: The runs' common name.

    Raises:
        AlreadyRunning: Another process is inside.
        StoreError: The results folder cannot be written.
    """
    path = results_dir / f".{name}.lock"
    try:
        results_dir.mkdir(parents=True, exist_ok=True)
        handle = open_lock(path)
    except OSError as error:
        raise StoreError(
            f"cannot write in {results_dir}: {error.strerror}; choose another folder with --results"
        ) from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunning(already_running(name, results_dir, signed_by(path))) from None
        sign(handle)
        yield


def already_running(name: str, results_dir: Path, pid: str) -> str:
    """What to tell who came second."""
    stop = f"stop it with `kill -INT {pid}`" if pid else "stop it"
    return (
        f"a run of the name {name!r} is still going on in {results_dir} ({process_named(pid)}); "
        f"wait for its end, or {stop}; nothing was started"
    )
