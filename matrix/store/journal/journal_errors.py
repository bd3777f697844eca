"""What SQLite says of a journal, in this project's words."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from matrix.model.errors import JournalFull, StoreError


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """An error of SQLite's as this project's, with the remedy."""
    text = str(error)
    if error.sqlite_errorname == "SQLITE_IOERR_SHORT_READ" or "malformed" in text:
        return damaged(path, text)
    if "full" in text or "disk I/O" in text:
        from matrix.store.run.run_folder import resume_command  # with every form of a run's file

        return JournalFull(
            f"no space left for {path}: {text}; free some space, then "
            f"`{resume_command(path.parent)}` goes on from the last acknowledged entry"
        )
    return StoreError(f"cannot use {path}: {text}")


def damaged(path: Path, what: str) -> StoreError:
    """The journal's structure is broken; ``what`` is how."""
    return StoreError(
        f"the journal {path} is damaged: {what}; {path.parent.name} cannot be gone on with, "
        "because what it has paid for is not known any more: put a copy of the journal in its "
        "place, or start a new run"
    )
