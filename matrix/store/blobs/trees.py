"""Trees: the content of a working folder as blobs, and the folder made again from them.

A *tree* is a blob that lists one folder: names with modes, modification times, the blobs of files,
the targets of symbolic links, the trees of folders. The tree of a whole folder is therefore one
hash, and what did not change is not stored again. Kept are content, modes, modification times,
symbolic links (as such, never followed) and empty folders; a hard link is stored as a file of its
own, and owners and extended attributes are not kept.

A file counts as unchanged if its size, times and inode are those it had when it was last read,
unless it was changed so shortly before that reading that the clock of the file system could not
tell a change after it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from matrix.model.errors import FolderRefused, StoreError
from matrix.model.moments.checkpoint import Contents
from matrix.model.records import FolderLimits
from matrix.model.seeds import bytes_hash
from matrix.store.blobs.folder_store import Adding, FolderStore

EMPTY: Final = ""
"""The tree of a folder that was never stored: restoring it gives an empty folder."""

CLOCK_GRAIN_NS: Final = 2_000_000_000
"""Two changes of a file nearer than this may have the same time (FAT counts in two seconds)."""

MAX_DEPTH: Final = 100
"""Folders inside each other."""

COUNTED: Final = 1_000_000
"""Entries of a folder that are counted at most, to say how many there are."""

_LEAST_TIME, _MOST_TIME = -(2**63), 2**63 - 1
"""Modification times that can be kept, in ns since 1970: the years 1677 to 2262."""

_FORMAT: Final = "matrix tree 1"


class Stamp(NamedTuple):
    """What tells a changed file without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        """The stamp of a file."""
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


class Known(NamedTuple):
    """A file as it was last read, and when that was."""

    stamp: Stamp
    digest: str
    read_ns: int

    def is_still(self, stamp: Stamp) -> bool:
        """Whether the file surely has the same content."""
        return stamp == self.stamp and stamp.ctime_ns < self.read_ns - CLOCK_GRAIN_NS


@dataclass(slots=True)
class FolderIndex:
    """What is known of a folder since it was last stored or restored.

    Attributes:
        tree: Its tree.
        files: Path inside the folder -> the file as it was read.
        trees: The trees in it, which are durable.
    """

    tree: str = EMPTY
    files: dict[str, Known] = field(default_factory=dict)
    trees: set[str] = field(default_factory=set)


class Entry(NamedTuple):
    """One line of a tree. ``ref`` is a blob, a tree, or the target of a symbolic link."""

    name: str
    kind: str
    mode: int
    mtime_ns: int
    ref: str


def store_tree(
    root: Path, blobs: FolderStore, known: FolderIndex, limits: FolderLimits, now_ns: int
) -> FolderIndex:
    """Store what has changed in a folder; when this returns, its tree is durable.

    Args:
        root: The folder. Nobody else may write in it meanwhile.
        blobs: Where its content goes.
        known: What the last storing or restoring of it gave.
        limits: What it may hold.
        now_ns: The time by the clock of the file system, in ns since 1970.

    Raises:
        FolderRefused: It holds more than it may, or something that is no file, folder or link.
        BlobsRefused: Its content cannot be stored.
    """
    with blobs.batch() as batch:
        walk = Walk(root, batch, known, limits, now_ns)
        walk.found.tree = walk.whole()
        batch.commit()
    return walk.found


class Walk:
    """One pass over a folder, which leaves its content with ``batch``.

    Raises:
        FolderRefused: It holds more than it may, or something that is no file, folder or link.
    """

    def __init__(
        self,
        root: Path,
        batch: Adding,
        known: FolderIndex,
        limits: FolderLimits,
        now_ns: int,
        *,
        plain: Callable[[Entry], Entry] = lambda entry: entry,
    ) -> None:
        """``plain`` is asked what is kept of each entry."""
        self._root, self._batch, self._known = root, batch, known
        self._limits, self._now_ns, self._plain = limits, now_ns, plain
        self._bytes = 0
        self.found = FolderIndex()

    def whole(self) -> str:
        """The folder's tree."""
        try:
            found = self._root.lstat()
            if not stat.S_ISDIR(found.st_mode):
                raise FolderRefused(f"the working folder {self._root} is no longer a folder")
            self._check_count()  # before anything of it is read and stored
            return self._tree([self._entry("", "", found, 0)])
        except OSError as error:
            raise FolderRefused(
                f"the working folder cannot be stored: {error.filename}: {error.strerror}"
            ) from None

    def _check_count(self) -> None:
        count = count_entries(self._root, COUNTED)
        if count > self._limits.entries:
            told = f"more than {COUNTED:,}" if count > COUNTED else f"{count:,}"
            raise FolderRefused(
                f"the working folder holds {told} files, folders and links, and at most "
                f"{self._limits.entries:,} are kept; remove what is not needed before the turn ends"
            )

    def _folder(self, inside: str, depth: int) -> str:
        if depth > MAX_DEPTH:
            raise FolderRefused(f"{inside}: more than {MAX_DEPTH} folders inside each other")
        with os.scandir(self._root / inside) as entries:
            names = sorted(entry.name for entry in entries)
        rows = []
        for name in names:
            path = f"{inside}/{name}" if inside else name
            rows.append(self._entry(name, path, (self._root / path).lstat(), depth))
        return self._tree(rows)

    def _entry(self, name: str, path: str, found: os.stat_result, depth: int) -> Entry:
        return self._plain(self._whole_entry(name, path, found, depth))

    def _whole_entry(self, name: str, path: str, found: os.stat_result, depth: int) -> Entry:
        _check_name(path)
        if not _LEAST_TIME <= found.st_mtime_ns <= _MOST_TIME:
            raise FolderRefused(
                f"{path or 'the working folder'} has a modification time {found.st_mtime:.0f} s "
                "after 1970, which cannot be kept: give it one before the year 2262"
            )
        mode = stat.S_IMODE(found.st_mode) & 0o777
        if stat.S_ISDIR(found.st_mode):
            ref = self._folder(path, depth + 1)
            return Entry(name, "folder", mode, found.st_mtime_ns, ref)
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(self._root / path)  # noqa: PTH115  a Path would tidy it up
            return Entry(name, "link", 0, found.st_mtime_ns, target)
        if stat.S_ISREG(found.st_mode):
            return Entry(name, "file", mode, found.st_mtime_ns, self._file(path, found))
        raise FolderRefused(
            f"{path} in the working folder is no file, folder or symbolic link (a pipe, a socket "
            "or a device); it cannot be kept: remove it before the turn ends"
        )

    def _file(self, path: str, found: os.stat_result) -> str:
        self._check_size(path, found.st_size)
        stamp = Stamp.of(found)
        known = self._known.files.get(path)
        if known is None or not known.is_still(stamp):
            # a link that took the file's place meanwhile is not followed, a pipe does not block
            handle = os.open(self._root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as source:
                known = Known(stamp, self._batch.add_stream(source).digest, self._now_ns)
        self.found.files[path] = known
        return known.digest

    def _check_size(self, path: str, size: int) -> None:
        if size > self._limits.file_bytes:
            raise FolderRefused(
                f"{path} in the working folder has {size:,} bytes; at most "
                f"{self._limits.file_bytes:,} are kept: remove it before the turn ends"
            )
        self._bytes += size
        if self._bytes > self._limits.total_bytes:
            raise FolderRefused(
                f"the working folder holds more than {self._limits.total_bytes:,} bytes ({path} "
                "goes beyond); remove what is not needed before the turn ends"
            )

    def _tree(self, rows: list[Entry]) -> str:
        content = encode_tree(rows)
        digest = bytes_hash(content)
        if digest not in self._known.trees:
            self._batch.add(content)
        self.found.trees.add(digest)
        return digest


def count_entries(root: Path, most: int) -> int:
    """Entries below a folder, as deep as is kept; beyond ``most`` they are counted no further."""
    count, waiting = 0, [(os.fspath(root), 0)]
    while waiting and count <= most:
        folder, depth = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if depth < MAX_DEPTH and entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, depth + 1))
    return count


def _check_name(path: str) -> None:
    """Names go into tables and texts, which are UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        told = repr(os.fsencode(path).decode(errors="backslashreplace"))
        shown = told.replace("\\\\x", "\\x")
        raise FolderRefused(
            f"the name {shown} in the working folder is no UTF-8; it cannot be kept: give it "
            "another one before the turn ends"
        ) from None


def encode_tree(rows: list[Entry]) -> bytes:
    """The bytes of a tree. Names that are no UTF-8 are carried as lone surrogates."""
    return json.dumps([_FORMAT, rows], separators=(",", ":")).encode()


def decode_tree(blobs: Contents, digest: str) -> list[Entry]:
    """The lines of a stored tree, which may be somebody else's.

    Raises:
        StoreError: It is not there, damaged, of a later version, or names what no folder holds.
    """
    content = blobs.read(digest)
    try:
        version, rows = json.loads(content)
        entries = [Entry(*row) for row in rows]
    except (ValueError, TypeError, RecursionError):
        raise StoreError(f"blob {digest[:16]} in {blobs.source} is no tree") from None
    if version != _FORMAT:
        raise StoreError(
            f"tree {digest[:16]} in {blobs.source} has the format {version!r}, this version of "
            f"matrix reads {_FORMAT!r}; upgrade matrix to restore it"
        )
    for entry in entries:
        if not _can_be(entry):
            raise StoreError(
                f"tree {digest[:16]} in {blobs.source} names {entry.name!r}, which no folder can "
                "hold like that: it is damaged"
            )
    return entries


def _can_be(entry: Entry) -> bool:
    """Whether a line is one that :func:`encode_tree` may have written."""
    texts = isinstance(entry.name, str) and isinstance(entry.ref, str)
    numbers = type(entry.mode) is int and type(entry.mtime_ns) is int
    if not (texts and numbers and entry.kind in ("folder", "file", "link")):
        return False
    if "/" in entry.name or "\0" in entry.name + entry.ref or entry.name in (".", ".."):
        return False
    try:
        os.fsencode(entry.name + entry.ref)
    except UnicodeEncodeError:
        return False
    is_hash = re.fullmatch(r"[0-9a-f]{64}", entry.ref) is not None
    in_range = 0 <= entry.mode <= 0o7777 and _LEAST_TIME <= entry.mtime_ns <= _MOST_TIME
    return in_range and (is_hash or entry.kind == "link")


def blobs_of(blobs: Contents, *trees: str) -> set[str]:
    """Every blob that some trees are made of, the trees included.

    Raises:
        StoreError: A tree cannot be read.
    """
    found: set[str] = set()
    todo = [tree for tree in trees if tree]
    while todo:
        digest = todo.pop()
        if digest in found:
            continue
        found.add(digest)
        for entry in decode_tree(blobs, digest):
            if entry.kind == "folder":
                todo.append(entry.ref)
            elif entry.kind == "file":
                found.add(entry.ref)
    return found
