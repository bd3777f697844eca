"""Whether a project's own files changed while a run went on.

For runs whose system under test may read the project and nothing more. Sizes and times are
compared, not contents, so that looking at a large project takes no time worth naming.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

MOST_FILES: Final = 100_000
"""Files of a project beyond which it is not watched."""

_NOT_ITS_OWN: Final = frozenset(
    (".git", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache")
)
_OUTPUT: Final = frozenset((".log", ".out", ".err", ".pid"))
"""What commands are made to print into, such as this one's own output."""
_NAMED: Final = 20

Survey = Mapping[str, tuple[int, int]]
"""File -> its size and when it was written, in nanoseconds."""


def survey(project: Path, leave_out: Collection[Path]) -> Survey | None:
    """The files of a project, links not followed; ``None`` if there are too many.

    Args:
        project: The folder.
        leave_out: Folders that runs write to.
    """
    apart = {path.resolve() for path in leave_out}
    found: dict[str, tuple[int, int]] = {}
    printed_to = set(_printed_to())
    for place, folders, names in os.walk(project.resolve()):
        here = Path(place)
        folders[:] = [
            name for name in folders if name not in _NOT_ITS_OWN and here / name not in apart
        ]
        for name in names:
            path = here / name
            if path.suffix in _OUTPUT:
                continue
            try:
                stat = path.lstat()
            except OSError:
                continue
            if (stat.st_dev, stat.st_ino) in printed_to:
                continue
            found[str(path.relative_to(project.resolve()))] = (stat.st_size, stat.st_mtime_ns)
        if len(found) > MOST_FILES:
            return None
    return found


def _printed_to() -> Iterator[tuple[int, int]]:
    """The files that this process prints into."""
    for descriptor in (1, 2):
        try:
            stat = os.fstat(descriptor)
        except OSError:
            continue
        yield stat.st_dev, stat.st_ino


def changes(before: Survey, after: Survey, grow: Collection[str] = ()) -> tuple[str, ...]:
    """What became of files, in words, by name; of very many the first ones and their number.

    In the folders ``grow``, other runs may put files that were not there.
    """
    places = tuple(f"{folder}/" for folder in grow)
    told = [
        f"{name} was added" for name in after.keys() - before.keys() if not name.startswith(places)
    ]
    told += [f"{name} was removed" for name in before.keys() - after.keys()]
    told += [f"{name} was changed" for name in before.keys() & after if before[name] != after[name]]
    told.sort()
    more = len(told) - _NAMED
    return (*told[:_NAMED], *([f"and {more} more"] if more > 0 else []))
