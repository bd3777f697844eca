"""A working folder made again from its tree: exactly, modification times included."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

from matrix.model.errors import StoreError
from matrix.store.blobs.folder_store import FolderStore
from matrix.store.blobs.trees import Entry, FolderIndex, Known, Stamp, decode_tree


def restore_tree(root: Path, tree: str, blobs: FolderStore, now_ns: int) -> FolderIndex:
    """Make a folder what it was when ``tree`` was stored, whatever is in it now.

    Args:
        root: The folder; made if it is not there.
        tree: What it shall hold; ``EMPTY`` for nothing.
        blobs: Where its content is.
        now_ns: The time by the clock of the file system, in ns since 1970.

    Raises:
        StoreError: Some of the content is gone or damaged, or the folder cannot be written.
    """
    index = FolderIndex(tree)
    try:
        empty_folder(root)
        if tree:
            index.trees.add(tree)
            (top,) = decode_tree(blobs, tree)
            _fill(root, "", top, blobs, index, now_ns)
        else:
            os.utime(root, ns=(0, 0))  # empty folders are the same in every run
    except OSError as error:
        raise StoreError(
            f"cannot restore the working folder: {error.filename}: {error.strerror}"
        ) from None
    return index


def empty_folder(root: Path) -> None:
    """Make a folder that holds nothing, whatever is there now. Links are never followed."""
    if root.is_symlink() or root.is_file():
        root.unlink()
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    with os.scandir(root) as entries:
        found = list(entries)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            remove_folder(Path(entry.path))
        else:
            Path(entry.path).unlink()


def keep_usable(root: Path) -> None:
    """Give the owner back what is needed to work in a folder, whatever was done to its mode.

    Somebody who shuts a working folder has broken nobody's work but their own.
    """
    mode = stat.S_IMODE(root.lstat().st_mode)
    if not root.is_symlink() and mode & stat.S_IRWXU != stat.S_IRWXU:
        root.chmod(mode | stat.S_IRWXU)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, also where it forbids that, however deep it is."""
    try:
        _remove(folder)
    except (RecursionError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            raise
        # deeper than Python goes, or its paths are longer than the system takes
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            subprocess.run(  # noqa: S603  the system's own programs, on a folder of a session
                [*command, "--", str(folder)], capture_output=True, check=False
            )
        if folder.exists():
            raise OSError(errno.ENOTEMPTY, "cannot be removed", str(folder)) from None


def _remove(folder: Path) -> None:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        folder.chmod(stat.S_IRWXU)
    for path, names, _ in os.walk(folder):
        for name in names:
            inner = Path(path, name)
            if not inner.is_symlink() and not os.access(inner, os.R_OK | os.W_OK | os.X_OK):
                inner.chmod(stat.S_IRWXU)
    shutil.rmtree(folder)


def _fill(
    root: Path, inside: str, folder: Entry, blobs: FolderStore, index: FolderIndex, now_ns: int
) -> None:
    index.trees.add(folder.ref)
    entries = decode_tree(blobs, folder.ref)
    blobs.bring(entry.ref for entry in entries if entry.kind != "link")
    for entry in entries:
        inner = f"{inside}/{entry.name}" if inside else entry.name
        path = root / inner
        match entry.kind:
            case "folder":
                path.mkdir()
                _fill(root, inner, entry, blobs, index, now_ns)
            case "link":
                path.symlink_to(entry.ref)
                os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)
            case "file":
                with path.open("xb") as target:
                    for piece in blobs.pieces(entry.ref):
                        target.write(piece)
                _finish(path, entry)
                index.files[inner] = Known(Stamp.of(path.lstat()), entry.ref, now_ns)
            case _:
                raise StoreError(f"a tree in {blobs.source} lists a {entry.kind!r}: it is damaged")
    _finish(root / inside, folder)  # last: what is put into a folder changes its time


def _finish(path: Path, entry: Entry) -> None:
    path.chmod(entry.mode & 0o777)  # what runs as somebody else was never kept
    os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))
