"""Working folders of continuations: looked at before the start, brought along with the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matrix.kinds.protocol import Kind, UsesFolder
from matrix.model.documents.mistakes import Mistakes
from matrix.model.errors import FolderRefused, Mistake, StoreError
from matrix.model.moments.checkpoint import Checkpoint, Contents
from matrix.model.records import FolderLimits
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.carrying import Measure, carry, measure
from matrix.store.blobs.initial import initial_trees, keep_folder


def check_folders(kind: Kind, moments: Sequence[Checkpoint], mistakes: Mistakes) -> None:
    """Collect the moments whose working folder is not whole, or is one that the kind refuses."""
    limits = kind.folder_limits if isinstance(kind, UsesFolder) else None
    for moment in moments:
        for tree in filter(None, [moment.tree, *sorted(initial_trees(moment.texts.values()))]):
            if moment.contents is None or limits is None:
                told = f"has a working folder, and sessions of the {kind.name} kind have none here"
            else:
                told = _told(moment.contents, tree, limits)
            if told:
                place = f"session {moment.plan.session_id} after turn {moment.turn}"
                mistakes.add([Mistake(place, None, "", told)])
                break


def keep_initial_folders(kind: Kind, folders: Mapping[str, Path], run_dir: Path) -> None:
    """Keep the folders that sessions begin with, durably, before any of them is opened.

    Raises:
        StoreError: One has changed since it was looked at, or the run's folder takes no more.
    """
    if not isinstance(kind, UsesFolder):
        return
    for tree, folder in folders.items():
        try:
            keep_folder(folder, tree, kind.folder_limits, BlobStore(run_dir))
        except FolderRefused as error:
            raise StoreError(f"{folder}: {error}") from None


def carry_folders(moments: Sequence[Checkpoint], run_dir: Path) -> None:
    """Bring along what the turns of moments name, durably, before a journal names it.

    Raises:
        StoreError: Some of it is gone or damaged, or the run's folder cannot be written.
    """
    requested: dict[str, tuple[Contents, set[str]]] = {}
    for moment in moments:
        trees = {done.tree for done in moment.turns if done.tree}
        trees |= initial_trees(moment.texts.values())
        if trees and moment.contents is not None:
            _, known = requested.setdefault(moment.contents.source, (moment.contents, set()))
            known |= trees
    if requested:
        carry(run_dir, requested.values())


def _told(contents: Contents, tree: str, limits: FolderLimits) -> str:
    try:
        found = measure(contents, tree)
    except StoreError as error:
        return str(error)
    return _too_large(found, limits)


def _too_large(found: Measure, limits: FolderLimits) -> str:
    """What of a folder goes beyond what the kind allows; empty if nothing does."""
    bounds = (
        ("files, folders and links", found.entries, limits.entries),
        ("bytes", found.total_bytes, limits.total_bytes),
        ("bytes in one file", found.largest, limits.file_bytes),
    )
    over = [f"{n:,} {what} (at most {most:,})" for what, n, most in bounds if n > most]
    return f"its working folder has {', '.join(over)}, more than its kind allows" if over else ""
