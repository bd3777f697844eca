"""What of somebody else's folder no session is given: special files, and links that lead out.

A pipe would be waited for, and a device never ends. A link is put into the working folder as one,
and what it leads to would be read, or written, by the agent, and sent to a model.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from matrix.kinds.text_files import real

_SPECIAL: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def special_files_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Path inside the folder of what is no file, folder or link, and why that cannot be."""
    for path in _entries(folder):
        mode = (folder / path).lstat().st_mode
        if what := next((told for fits, told in _SPECIAL if fits(mode)), ""):
            yield path, f"is {what}; only files and folders are read: remove it"


def links_out_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Path inside the folder of a link that leads out of it, and why that cannot be.

    It has to stay inside wherever the folder is put, so an absolute one, and one that goes by the
    folder's own name, lead out as well.
    """
    top = real(folder)
    for path in _entries(folder):
        place = folder / path
        if not place.is_symlink():
            continue
        target = os.readlink(place)  # noqa: PTH115  a Path would tidy it up
        steps = os.path.normpath(Path(path).parent / target).split("/")
        if target.startswith("/") or steps[0] == ".." or not real(place).is_relative_to(top):
            yield path, f"is a link to {target!r}, out of its folder; put there what it leads to"


def _entries(folder: Path) -> Iterator[str]:
    """Every path inside a folder, in order; links are not followed."""
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            with os.scandir(folder / inside) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:  # who reads it says so
            continue
        for entry in found:
            path = f"{inside}/{entry.name}" if inside else entry.name
            yield path
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
