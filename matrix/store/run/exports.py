"""Files for other machines: written whole or not at all, and never over others unasked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.files import read_plain
from matrix.store.run.disk import Disk
from matrix.store.run.own_files import SHARED


def write_files(
    folder: Path, files: Mapping[str, Callable[[], bytes]], *, force: bool, disk: Disk | None = None
) -> list[Path]:
    """Write files into a folder, each durably and in one step, and made when its turn comes.

    Raises:
        BadInput: Some are there already and ``force`` is not given, or are no plain files; nothing
            was written.
        StoreError: The folder cannot be written; no half-written file is left.
    """
    disk = disk or Disk()
    paths = {folder / name: made for name, made in files.items()}
    if odd := [path for path in paths if path.exists() and not path.is_file()]:
        told = "is no plain file, and is not replaced; choose another name"
        raise BadInput(Mistake(str(path), None, "", told) for path in odd)
    taken = [path for path in paths if path.exists()]
    if taken and not force:
        told = "is there already; choose another name, or --force to replace it"
        raise BadInput(Mistake(str(path), None, "", told) for path in taken)
    try:
        for path, made in paths.items():
            data = made()
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.tmp")
            disk.write(temporary, lambda handle, data=data: handle.write(data), SHARED)  # type: ignore[misc]
            disk.rename(temporary, path)
        for one in dict.fromkeys([*(path.parent for path in paths), folder]):
            disk.sync_folder(one)
    except OSError as error:
        raise StoreError(
            f"cannot write in {folder}: {error.strerror or error}; choose another place, or free "
            "some space"
        ) from error
    return list(paths)


def read_file(path: Path, most: int) -> bytes:
    """A file's content, at most one byte more than ``most``.

    Raises:
        BadInput: It cannot be read.
    """
    try:
        return read_plain(path, most)
    except OSError as error:
        told = f"cannot be read: {error.strerror or error}"
        raise BadInput([Mistake(str(path), None, "", told)]) from None
