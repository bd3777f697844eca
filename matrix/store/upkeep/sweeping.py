"""Removing the blobs of a run that nothing names any more, and folders that died sessions left."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from matrix.model.entries import Acted, Entry, Settled, TurnDone
from matrix.model.records import Answer
from matrix.store.blobs.blobs import UNFINISHED, BlobStore
from matrix.store.blobs.initial import initial_trees
from matrix.store.blobs.restoring import remove_folder
from matrix.store.blobs.trees import blobs_of
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter

FOLDERS: Final = "folders"
"""Folder of the sessions' working folders inside a run's folder."""


def tree_of(entry: Entry) -> str:
    """The working folder that an entry says was left; empty if it says nothing of one."""
    match entry:
        case Acted() | TurnDone():
            return entry.tree
        case Settled(answer=Answer(effect=effect)) if effect:
            return str(orjson.loads(effect).get("tree") or "")
    return ""


class Swept(NamedTuple):
    """What :func:`sweep` removed."""

    blobs: int
    size: int


def sweep(run_dir: Path) -> Swept:
    """Remove every blob that no checkpoint, effect or text of the journal names; sizes in bytes.

    Raises:
        RunLocked: The run is alive: what it has stored may not be named yet.
        StoreError: The journal or a tree cannot be read; nothing was removed.
    """
    blobs = BlobStore(run_dir)
    journal = JournalWriter(run_dir / JOURNAL_NAME)
    try:
        trees = {tree for row in journal.since(0) if (tree := tree_of(row.entry))}
        with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
            trees |= initial_trees(reader.resources().values())
        kept: set[Path] = set()
        for tree in trees:
            kept |= {blobs.path(digest) for digest in blobs_of(blobs, tree)}
        if (run_dir / FOLDERS).is_dir():
            remove_folder(run_dir / FOLDERS)
        return _remove_but(blobs, kept)
    finally:
        journal.close()


def _remove_but(blobs: BlobStore, kept: set[Path]) -> Swept:
    removed = size = 0
    for path in list(blobs.folder.rglob("*")):
        if path.is_file() and (path.parent.name == UNFINISHED or path not in kept):
            size += path.stat().st_size
            removed += 1
            path.unlink()
    return Swept(removed, size)
