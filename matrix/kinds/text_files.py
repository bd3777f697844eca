"""Reading the text files of packs: bounded, UTF-8, and every failure a mistake with a remedy."""

from __future__ import annotations

import os
from pathlib import Path

from matrix.model.errors import BadInput, Mistake
from matrix.model.files import MOST_TEXT_BYTES, read_plain


def is_markdown(said: object) -> bool:
    """Whether this is the path of a markdown file, by how it ends."""
    return isinstance(said, str) and Path(said).suffix.casefold() in (".md", ".markdown")


def real(path: Path) -> Path:
    """Where a path really leads, links followed; ``Path.resolve`` raises for links in circles."""
    return Path(os.path.realpath(path))


def read_text(path: Path, max_bytes: int = MOST_TEXT_BYTES, *, source: str | None = None) -> str:
    """The text of a file of at most ``max_bytes``.

    Raises:
        BadInput: Missing, unreadable, no file, too large, or not UTF-8.
    """
    try:
        raw = read_plain(path, max_bytes)
    except OSError as error:
        problem = "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise _bad(path, source, f"cannot be read: {problem}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(
            [Mistake(source or str(path), line, "", "is not UTF-8 text; save it as UTF-8")]
        ) from None


def links_in(folder: Path, most: int = 10_000) -> list[Path]:
    """Links inside a folder, however deep; none of them is followed. Looks at so many entries."""
    found, waiting, seen = [], [folder], 0
    while waiting and seen < most:
        try:
            inside = sorted(waiting.pop().iterdir())
        except OSError:  # whoever reads it says so
            continue
        seen += len(inside)
        found += [path for path in inside if path.is_symlink()]
        waiting += [path for path in inside if path.is_dir() and not path.is_symlink()]
    return found


def _bad(path: Path, source: str | None, message: str) -> BadInput:
    return BadInput([Mistake(source or str(path), None, "", message)])
