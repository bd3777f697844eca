"""Reading files that anybody may have written: plain ones only, never waited for, and bounded."""

from __future__ import annotations

import os
import stat
from errno import EFBIG, EINVAL
from pathlib import Path
from typing import IO, Final

MOST_BYTES: Final = 64_000_000
"""What a file of this program's own may have; what people write has tighter bounds of its own."""
MOST_TEXT_BYTES: Final = 8_000_000
"""What a text may have that is read before anything is known of it; no model takes as much."""


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """A file's content.

    A pipe that nobody writes to would be waited for, and a device never ends.

    Raises:
        OSError: It cannot be read, is no plain file, or is larger than ``most`` bytes;
            ``strerror`` says which.
    """
    with open_plain(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(EFBIG, f"it is larger than the {most:,} bytes that it may have", str(path))
    return content


def open_plain(path: Path) -> IO[bytes]:
    """A plain file, open for reading.

    Raises:
        OSError: It cannot be read, or is no plain file.
    """
    file = open(path, "rb", opener=_opened)  # noqa: SIM115  it is handed on
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, "it is no plain file, and no other is read", str(path))
    return file


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
