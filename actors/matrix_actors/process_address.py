"""Which process is whose: a number alone means nothing on another machine or in a container."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class ProcessAddress(NamedTuple):
    """A process, the world in which its number means something, and its node of Ray."""

    pid: int
    world: str
    node: str = ""
    host: str = ""


def here() -> ProcessAddress:
    """This process."""
    world = socket.gethostname()
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        world = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    node = ""
    if (ray := sys.modules.get("ray")) is not None and ray.is_initialized():
        node = ray.get_runtime_context().get_node_id()
    return ProcessAddress(os.getpid(), world, node, socket.gethostname())
