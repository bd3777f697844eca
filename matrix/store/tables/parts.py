"""The names of a table's files: which entries of the journal their rows were made from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

_PART: Final = re.compile(r"part-(\d{12})-(\d{12})\.parquet")
_WHOLE: Final = re.compile(r"all-(\d{12})\.parquet")


class PublishedPart(NamedTuple):
    """A published file: rows of the entries ``first`` to ``last``; ``whole`` after compaction."""

    first: int
    last: int
    path: Path
    whole: bool


def parts_in(folder: Path) -> list[PublishedPart]:
    """The parts in a table's folder, by range; none if the folder is missing."""
    parts = []
    for path in folder.glob("*.parquet"):
        if found := _PART.fullmatch(path.name):
            parts.append(PublishedPart(int(found[1]), int(found[2]), path, False))
        elif found := _WHOLE.fullmatch(path.name):
            parts.append(PublishedPart(0, int(found[1]), path, True))
    return sorted(parts)
