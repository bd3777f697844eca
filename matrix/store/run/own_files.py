"""Files of a run are its own: no links, and read and written by nobody else.

A run's folder may come from somebody else. A link in it would have this program write, as its user,
wherever the sender says.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from errno import EINVAL
from itertools import islice
from pathlib import Path
from typing import IO, Final

from matrix.model.errors import StoreError

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
"""For nobody else on this machine, whatever the umask allows."""
SHARED: Final = 0o666
"""Of files that are for others: as far as the umask allows."""

_MOST_LOOKED_AT: Final = 100_000
"""Entries of a folder; nothing that a run writes into by name has as many."""


def make_anew(path: Path, mode: int = FILE_MODE) -> IO[bytes]:
    """A file that nobody had before, for writing; what has its name, a link too, is removed.

    Raises:
        OSError: It cannot be made.
    """
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, mode), "wb")


def open_lock(path: Path) -> IO[bytes]:
    """A file to lock, made if it is not there; links are not followed.

    Raises:
        OSError: It cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, FILE_MODE), "ab")


def make_private(path: Path) -> None:
    """See that a plain file is there before SQLite, which goes by the umask, opens it.

    Raises:
        OSError: It cannot be made, or is a link, a pipe or a device.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError):
        os.close(os.open(path, flags, FILE_MODE))
        return
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(EINVAL, "it is no plain file; it would write elsewhere, or wait for ever")


def make_private_with(path: Path, content: bytes) -> None:
    """A new file with this in it, which nobody else can read.

    Raises:
        OSError: It cannot be made, or is there.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as handle:
        handle.write(content)


def require_own(run_dir: Path) -> None:
    """See that a run's files and folders, and what is in these, are no links, pipes or devices.

    What agents have put deeper inside working folders is theirs.

    Raises:
        StoreError: One is, by its name.
    """
    try:
        with os.scandir(run_dir) as entries:
            inside = [_own(entry, run_dir) for entry in islice(entries, _MOST_LOOKED_AT)]
        for folder in filter(None, inside):
            with os.scandir(folder) as entries:
                for entry in islice(entries, _MOST_LOOKED_AT):
                    _own(entry, run_dir)
    except OSError:
        return  # gone meanwhile, or unreadable: whoever needs it says so


def _own(entry: os.DirEntry[str], run_dir: Path) -> str:
    """Its path if it is a folder."""
    name = Path(entry.path).relative_to(run_dir)
    if entry.is_symlink():
        raise StoreError(
            f"{name} in {run_dir} is a link to {Path(entry.path).readlink()}: files of a run are "
            "no links, because it would write elsewhere; remove it, or leave the run alone if "
            "somebody sent it to you"
        )
    if entry.is_dir(follow_symlinks=False):
        return entry.path
    if not entry.is_file(follow_symlinks=False):
        raise StoreError(
            f"{name} in {run_dir} is no plain file: it would be waited for, or never end; remove "
            "it, or leave the run alone if somebody sent it to you"
        )
    return ""
