"""Keys from the driver's environment to the processes of the run on its own machine, and no other.

Ray's processes have the environment in which Ray was started, which need not be the driver's. What
a run needs of that goes through a socket in a private folder of the driver's user: never through
Ray, a file or another machine. Whoever connects has to be of the same user.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import struct
import tempfile
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

LONGEST = 100
"""Bytes of a socket's path: systems allow 103 or 107."""

SHORT = "/tmp"  # noqa: S108  a folder of its own in it, of mode 700
"""Where temporary folders are elsewhere, and too deep for a socket."""

FETCH_S = 10.0
"""Longest wait for the driver, in seconds; it is on the same machine."""


class VariableServer:
    """Gives variables of the driver's environment to processes of its user on its machine."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        """Only ``variables`` are given, to whoever of this user asks."""
        self._said = json.dumps(dict(variables)).encode()
        self._folder = _private_folder()
        self._server: asyncio.Server | None = None

    @property
    def place(self) -> str:
        """Where it is asked; means nothing on another machine."""
        return str(self._folder / "asked")

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_unix_server(self._answer, self.place)

    async def stop(self) -> None:
        """Listen no more, and leave nothing."""
        if self._server is not None:
            self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _answer(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if _user_of(writer.get_extra_info("socket")) == os.getuid():
                writer.write(self._said)
                await writer.drain()
        except OSError:
            pass  # whoever asked has gone
        finally:
            writer.close()


def _private_folder() -> Path:
    """A new folder of mode 700 in which a socket can be."""
    folder = Path(tempfile.mkdtemp(prefix="matrix-env-"))
    if len(os.fsencode(folder / "asked")) <= LONGEST:
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="matrix-env-", dir=SHORT))


def _user_of(connected: socket.socket) -> int:
    """User at the other end; this one's own where the system does not say, as the folder is his."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return os.getuid()
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, option, size))
    return int(user)


async def take_variables(place: str, environment: MutableMapping[str, str]) -> None:
    """Add what the driver gives, if it is on this machine; its word counts before Ray's own."""
    if not place or not Path(place).exists():
        return
    with suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(FETCH_S):
            reader, writer = await asyncio.open_unix_connection(place)
            try:
                environment.update(json.loads(await reader.read()))
            finally:
                writer.close()
