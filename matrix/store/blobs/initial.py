"""Folders that sessions are given to begin with: kept once in a run's blobs, named by their hash.

A run's texts name such a folder by its tree, so that plans and their hashes depend on its content,
and on nothing that differs from one checkout of it to the next: times and permissions are the same
for every file, but for whether it can be run.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final

from matrix.model.errors import FolderRefused, StoreError
from matrix.model.records import JSON, FolderLimits
from matrix.model.seeds import bytes_hash
from matrix.store.blobs.blobs import BlobStore, Piece
from matrix.store.blobs.folder_store import Adding, FolderStore
from matrix.store.blobs.trees import Entry, FolderIndex, Walk, decode_tree

_KEY: Final = "initial folder"
_NAME: Final = f"{_KEY}: "
_TIME_NS: Final = 315_532_800_000_000_000
"""1980-01-01, the earliest time that every archive format can carry."""
_PIECE: Final = 1 << 20


def resource_of(name: str) -> str:
    """The name among a session's texts and data of a folder that a kind has named so."""
    return _NAME + name


def as_resource(tree: str) -> JSON:
    """A folder among a run's texts and data."""
    return {_KEY: tree}


def initial_tree_of(resource: JSON) -> str:
    """The tree that a text or data of a run names as such a folder; empty if it names none."""
    found = resource.get(_KEY) if isinstance(resource, Mapping) and len(resource) == 1 else None
    return found if isinstance(found, str) else ""


def initial_trees(resources: Iterable[JSON]) -> set[str]:
    """All that texts and data of a run name."""
    return {tree for value in resources if (tree := initial_tree_of(value))}


def hash_folder(root: Path, limits: FolderLimits) -> str:
    """The tree of such a folder, without keeping any of it.

    Raises:
        FolderRefused: It cannot be read, or holds more than sessions' folders may.
    """
    return _walk(root, _Hashing(), limits)


def keep_folder(root: Path, tree: str, limits: FolderLimits, blobs: BlobStore) -> None:
    """Keep a folder that was hashed before; durable at the return.

    Raises:
        FolderRefused: It cannot be read.
        StoreError: It is not what was hashed.
        BlobsRefused: The run's folder takes no more.
    """
    with blobs.batch() as batch:
        if _walk(root, batch, limits) != tree:
            raise StoreError(f"{root} has changed while the run was being set up; start it again")
        batch.commit()


def copy_tree(root: Path, to: str, tree: str, blobs: FolderStore) -> None:
    """Put the content of a tree into a working folder, over files that are there.

    Args:
        root: The working folder.
        to: Where in it; empty for the folder itself.
        tree: What :func:`hash_folder` gave.
        blobs: Where its content is.

    Raises:
        FolderRefused: A link, or something that is no folder, stands where a folder is to be, or
            ``to`` is no place inside the folder.
        StoreError: Some of the content is gone or damaged.
    """
    parts = Path(to).parts
    if Path(to).is_absolute() or ".." in parts:
        raise FolderRefused(f"{to} is no place inside the working folder")
    try:
        places = [root]
        for part in parts:
            places.append(_folder(root, places[-1] / part))
        (top,) = decode_tree(blobs, tree)
        _copy(root, places[-1], top, blobs)
        for place in places:
            _date(place)
    except OSError as error:
        raise FolderRefused(
            f"files cannot be copied into the working folder: {error.filename}: {error.strerror}"
        ) from None


def _copy(root: Path, place: Path, folder: Entry, blobs: FolderStore) -> None:
    entries = decode_tree(blobs, folder.ref)
    blobs.bring(entry.ref for entry in entries if entry.kind != "link")
    for entry in entries:
        path = place / entry.name
        if entry.kind == "folder":
            _copy(root, _folder(root, path), entry, blobs)
            _date(path)  # what is put into a folder changes its time
            continue
        if path.is_symlink() or path.is_file():
            path.unlink()
        if entry.kind == "link":
            path.symlink_to(entry.ref)
        else:
            with path.open("xb") as target:
                for piece in blobs.pieces(entry.ref):
                    target.write(piece)
            path.chmod(entry.mode & 0o777)
        _date(path)


def _date(path: Path) -> None:
    os.utime(path, ns=(_TIME_NS, _TIME_NS), follow_symlinks=False)


def _folder(root: Path, path: Path) -> Path:
    """A folder that is one; what an agent left in its place is not followed."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise FolderRefused(f"{path.relative_to(root)} in the working folder is no folder")
    path.mkdir(exist_ok=True)
    return path


def _walk(root: Path, batch: Adding, limits: FolderLimits) -> str:
    return Walk(root, batch, FolderIndex(), limits, 0, plain=_plain).whole()


def _plain(entry: Entry) -> Entry:
    mode = {"folder": 0o755, "link": 0}.get(
        entry.kind, 0o755 if entry.mode & stat.S_IXUSR else 0o644
    )
    return entry._replace(mode=mode, mtime_ns=_TIME_NS)


class _Hashing:
    """Names contents and forgets them."""

    def add(self, content: bytes) -> str:
        return bytes_hash(content)

    def add_stream(self, source: IO[bytes]) -> Piece:
        found: Any = hashlib.blake2b(digest_size=32)
        size = 0
        while piece := source.read(_PIECE):
            found.update(piece)
            size += len(piece)
        return Piece(found.hexdigest(), size)
