"""Working folders on their way: out of a run into a file, and out of either into another run.

What comes from a file is untrusted. A tree names its parts by hash, so a few small blobs can stand
for a folder that no disk holds: a folder is measured before any of it is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from matrix.model.errors import StoreError
from matrix.model.moments.checkpoint import Contents
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.trees import MAX_DEPTH, blobs_of, decode_tree

MOST_EXPORTED: Final = 32 << 20
"""Most bytes of a working folder that go into a file."""


class Measure(NamedTuple):
    """What a folder holds: entries, bytes of all files and of the largest, folders inside it."""

    entries: int = 0
    total_bytes: int = 0
    largest: int = 0
    height: int = 0


def measure(contents: Contents, tree: str) -> Measure:
    """How large the folder would be that a tree stands for.

    Raises:
        StoreError: Some of its content is not there or damaged, or it is no tree of a folder.
    """
    if not tree:
        return Measure()
    rows = decode_tree(contents, tree)
    if [(row.name, row.kind) for row in rows] != [("", "folder")]:
        raise StoreError(f"blob {tree[:16]} in {contents.source} is no tree of a whole folder")
    return _inside(contents, rows[0].ref, 0, {})


def _inside(contents: Contents, tree: str, depth: int, known: dict[str, Measure]) -> Measure:
    if tree in known:
        return known[tree]
    rows = decode_tree(contents, tree)
    names = {row.name for row in rows}
    if "" in names or len(names) < len(rows):
        raise StoreError(f"tree {tree[:16]} in {contents.source} names nothing, or one thing twice")
    entries = total = largest = height = 0
    for row in rows:
        entries += 1
        if row.kind == "file":
            size = contents.size(row.ref)
            total, largest = total + size, max(largest, size)
        elif row.kind == "folder":
            if depth >= MAX_DEPTH:
                raise _too_deep(contents)
            inner = _inside(contents, row.ref, depth + 1, known)
            entries, total = entries + inner.entries, total + inner.total_bytes
            largest, height = max(largest, inner.largest), max(height, inner.height + 1)
    if depth + height > MAX_DEPTH:
        raise _too_deep(contents)
    known[tree] = Measure(entries, total, largest, height)
    return known[tree]


def _too_deep(contents: Contents) -> StoreError:
    return StoreError(
        f"the folder in {contents.source} has more than {MAX_DEPTH} folders inside each other"
    )


def exported_bytes(contents: Contents, *trees: str) -> int:
    """Bytes of all that trees are made of, each content once.

    Raises:
        StoreError: Some of it is not there, or it is more than goes into a file.
    """
    size = sum(contents.size(digest) for digest in blobs_of(contents, *trees))
    if size > MOST_EXPORTED:
        raise StoreError(
            f"the working folder in {contents.source} has {size:,} bytes at this checkpoint; a "
            f"file can hold {MOST_EXPORTED:,}: export a turn at which it is smaller, or copy the "
            "run's folder to where it is to be replayed"
        )
    return size


def exported(contents: Contents, *trees: str) -> dict[str, bytes]:
    """Everything that trees are made of, by hash in order; empty without a tree.

    Raises:
        StoreError: Some of it is not there or damaged, or it is more than goes into a file.
    """
    exported_bytes(contents, *trees)
    return {digest: contents.read(digest) for digest in sorted(blobs_of(contents, *trees))}


def carry(run_dir: Path, folders: Iterable[tuple[Contents, Iterable[str]]]) -> None:
    """Bring the content of trees into a run's blobs; at the return it is durable.

    Args:
        run_dir: The run's folder.
        folders: Where content is, with the trees that are wanted of it.

    Raises:
        StoreError: Some of it is not there or damaged.
        BlobsRefused: The run's folder takes no more.
    """
    with BlobStore(run_dir).batch() as batch:
        for contents, trees in folders:
            for digest in sorted(blobs_of(contents, *trees)):
                batch.take(digest, contents)
        batch.commit()
