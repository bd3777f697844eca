"""Which process is whose: a number alone means nothing on another machine or in a container."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Whereabouts(NamedTuple):
    """A process, and the world in which its number means something."""

    pid: int
    world: str


def here() -> Whereabouts:
    """This process."""
    world = socket.gethostname()
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        world = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return Whereabouts(os.getpid(), world)
