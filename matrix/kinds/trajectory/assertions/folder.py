"""A working folder as assertions see it: its files now, and what this turn did to them."""

from __future__ import annotations

import difflib
import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from matrix.kinds.context import ChangedFiles
from matrix.model.lines import in_line

MOST_READ: Final = 1 << 20
"""Bytes of a file that are read; notes are far smaller."""

MOST_OF_A_DIFF: Final = 4_000
"""Characters of one file's difference that are kept to be read."""

MOST_OF_A_TURN: Final = 400_000
"""The same of all files of a turn."""

NOTHING_CHANGED: Final = "nothing changed"
_MOST_COMPARED: Final = 100_000
_MOST_LINKS, _MOST_TARGET = 20, 200
"""Links of a turn that are told, and characters of where each leads."""


class View:
    """The files after a turn, beside those before it.

    Hidden files and folders, links, and what is no file are not looked at: an agent's own
    bookkeeping is nobody's notes, and a link may lead anywhere.
    """

    def __init__(
        self,
        root: Path,
        now: Mapping[str, int],
        before: Mapping[str, int] | None = None,
        changed: ChangedFiles | None = None,
        old_texts: Mapping[str, str] | None = None,
    ) -> None:
        """Look at a folder.

        Args:
            root: The folder; texts are read from it as they are asked for.
            now: Path -> modification time in ns, as :func:`scan` gives it.
            before: The same before the turn; ``None`` if nothing is compared.
            changed: What is other by content.
            old_texts: Path -> text before the turn, of files that were changed or removed.
        """
        self._root, self.now = root, now
        self.before = now if before is None else before
        self.changed = changed or ChangedFiles()
        self._old, self._texts = dict(old_texts or {}), dict[str, str]()

    def alone(self) -> View:
        """The same view with tables of its own, for somebody's code that may write into them."""
        before = None if self.before is self.now else dict(self.before)
        return View(self._root, dict(self.now), before, self.changed, self._old)

    def text(self, path: str) -> str:
        """A file's text, or its beginning if it is huge; bytes that are no UTF-8 are replaced."""
        if path not in self._texts:
            self._texts[path] = read_text(self._root / path) if path in self.now else ""
        return self._texts[path]

    def old_text(self, path: str) -> str | None:
        """What it was before the turn; ``None`` if it was not there."""
        if path not in self.before:
            return None
        return self._old[path] if path in self._old else self.text(path)

    def touched(self, path: str) -> bool:
        """Whether this turn made it, changed it, or wrote it again: by content or by time."""
        if path not in self.now:
            return False
        return path in self.changed.changed or self.before.get(path) != self.now[path]

    def has_folder(self, path: str) -> bool:
        """Whether there is such a folder, be there a file in it or not; ``""`` is the whole.

        None that is hidden or stands behind a link, as no file of it is looked at.
        """
        parts = path.split("/") if path else []
        if any(part.startswith(".") for part in parts):
            return False
        try:
            place = self._root
            for part in parts:
                place = place / part
                if place.is_symlink():
                    return False
            return place.is_dir()
        except (OSError, ValueError):  # a name that no file system has
            return False

    @property
    def notes(self) -> list[str]:
        """Markdown files, in order."""
        return [path for path in sorted(self.now) if path.lower().endswith((".md", ".markdown"))]


def scan(root: Path) -> dict[str, int]:
    """Path -> modification time in ns, of every plain file that is not hidden."""
    return {
        path: entry.stat(follow_symlinks=False).st_mtime_ns
        for path, entry in _entries(root)
        if entry.is_file(follow_symlinks=False)
    }


def links_in(root: Path) -> dict[str, str]:
    """Path -> target of every symbolic link that is not hidden; none is followed."""
    return {
        path: os.readlink(entry.path)  # noqa: PTH115  as it is
        for path, entry in _entries(root)
        if entry.is_symlink()
    }


def _entries(root: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Path and entry of all that is no folder and is not hidden; no link is followed."""
    waiting = [(root, "")]
    while waiting:
        folder, prefix = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((folder / entry.name, f"{prefix}{entry.name}/"))
                else:
                    yield prefix + entry.name, entry


def told_links(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Links that a turn made, a line each: nothing is read through them, so they are no files."""
    made = [path for path in sorted(now) if before.get(path) != now[path]]
    what = "made a link, which is not followed"
    told = [
        f"{what}: {in_line(path)} -> {in_line(now[path])[:_MOST_TARGET]}"
        for path in made[:_MOST_LINKS]
    ]
    left = len(made) - _MOST_LINKS
    return "\n".join([*told, *([f"and {left} more links"] if left > 0 else [])])


def read_text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        with path.open("rb", buffering=0) as handle:
            # asked for as much as there is: room for the most would be made and left empty
            size = os.fstat(handle.fileno()).st_size
            return as_text(handle.read(min(size, MOST_READ)) or b"")
    except OSError:
        return ""


def as_text(content: bytes) -> str:
    """Bytes of a note as text."""
    text = content[:MOST_READ].removeprefix(BOM_UTF8).decode(errors="replace")
    return text.replace("\r\n", "\n")


class FileChange(NamedTuple):
    """One file that a turn made other: how, and its lines as a unified diff."""

    path: str
    how: str
    lines: str


def differences(view: View) -> Iterator[FileChange]:
    """What a turn changed, file by file, in order."""
    changed = view.changed
    how = dict.fromkeys(_seen(changed.added), "added")
    how |= dict.fromkeys(_seen(changed.changed), "changed")
    how |= dict.fromkeys(_seen(changed.removed), "removed")
    for path in sorted(how):
        now = "" if how[path] == "removed" else view.text(path)
        old = (view.old_text(path) or "") if how[path] == "changed" else ""
        yield FileChange(path, how[path], _diff(old, now))


def told_changes(view: View) -> str:
    """What a turn changed, to be read: of very much the beginning, and how much is left out."""
    told, left = list[str](), MOST_OF_A_TURN
    there = {*view.changed.added, *view.changed.changed}
    for one in differences(view):
        text = f"{one.how} {one.path}\n{one.lines}"
        if (left := left - len(text)) < 0:
            count = sum(len(_seen(paths)) for paths in view.changed)
            told.append(f"and {count - len(told)} more files")
            break
        told.append(text)
    if again := [path for path in sorted(view.now) if view.touched(path) and path not in there]:
        more = f" and {len(again) - 20} more" * (len(again) > 20)
        told.append(f"written again with what was in it: {', '.join(again[:20])}{more}")
    return "\n\n".join(told) or NOTHING_CHANGED


def _seen(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]


def _diff(old: str, new: str) -> str:
    if len(old) + len(new) > _MOST_COMPARED:
        return f"[too long to be compared: {len(old)} and {len(new)} characters]"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
    text = "\n".join(line for line in lines if not line.startswith(("---", "+++")))
    return text if len(text) <= MOST_OF_A_DIFF else text[:MOST_OF_A_DIFF] + "\n[cut here]"
