"""Noticing that Ray itself has died: its process on this machine (raylet), or the cluster's (GCS).

Ray tells its driver of neither. Without the raylet, nothing that the driver asks for ever comes,
and nothing fails; without the GCS, Ray ends the driver's process after a minute, in C++ and with
words of its own. (Ray's agents need no watching: the raylet ends itself when one of them is gone.)
So the driver keeps a connection to each, on which nothing is ever said, and which ends with the
process at its other end. A process that is only stopped keeps its connections.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from matrix.model.errors import CutShort
from matrix.store.run.run_folder import resume_command
from matrix_actors.waiting import patiently

T = TypeVar("T")

PAUSE_S = 1.0
"""Pause before a connection that has ended is tried again."""

CONNECT_S = 1.0
"""Longest wait for a connection; both processes are on this machine or in its network."""

TRIES, PATIENT_TRIES = 2, 12
"""So many refusals in a row, and a process is dead. A GCS that others started may be started again
by them, and Ray then goes on with it; ours, and a raylet, nobody starts again."""

KEEP_ALIVE = (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 3), ("TCP_KEEPCNT", 3))
"""A machine that has vanished is noticed after so many seconds, seconds and times."""

CAUSE_S = 20.0
"""How long a failure that Ray reports may be the first sign that Ray itself is dying: longer than
it takes to be sure of a GCS that others started."""

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Lifeline(NamedTuple):
    """A process, how to connect to it, and how many refusals mean that it is dead."""

    process: str
    connect: Callable[[], Awaitable[Connection]]
    tries: int = TRIES


async def first_dead(lifelines: Sequence[Lifeline], pause_s: float = PAUSE_S) -> str:
    """Wait until one of these processes is dead; which one that is. Without any, wait for ever."""
    watches = [asyncio.create_task(_until_dead(line, pause_s)) for line in lifelines]
    if not watches:
        await asyncio.Event().wait()
    try:
        done, _ = await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
        return lifelines[watches.index(done.pop())].process
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


async def _until_dead(line: Lifeline, pause_s: float) -> None:
    refused = 0
    while refused < line.tries:
        try:
            async with asyncio.timeout(CONNECT_S):
                connection = await line.connect()
        except OSError:
            refused += 1
        else:
            refused = 0
            await _until_closed(connection)
        await asyncio.sleep(pause_s)


async def _until_closed(connection: Connection) -> None:
    reader, writer = connection
    try:
        while await reader.read(4096):
            pass
    except OSError:
        pass
    finally:
        writer.close()


class RayDied(CutShort):
    """Ray itself has died under a run; what was acknowledged is in the journal."""


class RayWatch:
    """Whether Ray is alive, for all who wait for something that only Ray can bring."""

    def __init__(self) -> None:
        self._died = asyncio.Event()
        self._error: RayDied | None = None

    @property
    def is_dead(self) -> bool:
        """Whether Ray is known to have died."""
        return self._error is not None

    async def watch(self, run_dir: Path, lifelines: Sequence[Lifeline]) -> None:
        """Look after the processes of a Ray until one of them dies."""
        who = await first_dead(lifelines)
        self._error = RayDied(
            f"Ray has died under the run ({who} is gone); `{resume_command(run_dir)}` goes on from "
            "the last turns\nthe journal has everything; tables have what was published before, "
            "until `matrix repair` makes them anew or the run goes on"
        )
        self._died.set()

    async def needed_by(self, work: Awaitable[T]) -> T:
        """Do something that needs Ray.

        Raises:
            RayDied: Ray has died before it was done.
        """
        doing, dying = asyncio.ensure_future(work), asyncio.ensure_future(self._died.wait())
        try:
            await asyncio.wait([doing, dying], return_when=asyncio.FIRST_COMPLETED)
            if self._error is not None:
                raise self._error
            return await doing
        except Exception as error:
            await self.rule_out_for(error)
            raise
        finally:
            doing.cancel()
            dying.cancel()
            if doing.done() and not doing.cancelled():
                doing.exception()  # looked at here: what Ray's death made fail, nobody else asks

    async def rule_out_for(self, error: Exception) -> None:
        """As :meth:`rule_out`, if this failure is one that Ray's death may have caused."""
        if _is_of_ray_itself(error):
            await self.rule_out()

    async def rule_out(self) -> None:
        """Something failed of which Ray's death may be the cause: return when it was not.

        Raises:
            RayDied: It was.
        """
        with suppress(TimeoutError):
            await patiently(self._died.wait(), CAUSE_S)
        if self._error is not None:
            raise self._error


def _is_of_ray_itself(error: Exception) -> bool:
    """Whether an error is neither of the code that an actor ran, nor the death of that actor."""
    from ray.exceptions import RayActorError, RayError, RayTaskError

    return isinstance(error, RayError) and not isinstance(error, (RayActorError, RayTaskError))


def lifelines_of_ray(*, ours: bool) -> list[Lifeline]:
    """To the raylet of the Ray that this process has joined; and to the GCS, where it is ours.

    Args:
        ours: Whether this process has started them.
    """
    from ray._private import worker  # no public name says where the raylet listens

    node = worker._global_node
    if node is None:  # a Ray client: what it depends on is elsewhere
        return []
    path = node.raylet_socket_name.removeprefix("unix://")

    async def raylet() -> Connection:
        return await asyncio.open_unix_connection(path)

    own = [Lifeline("the raylet", raylet)]
    return [*own, lifeline_to_head(node.gcs_address, TRIES)] if ours else own


def lifeline_to_head(address: str, tries: int = PATIENT_TRIES) -> Lifeline:
    """To the GCS of a cluster, which can be held before that is joined."""
    host, _, port = address.rpartition(":")

    async def gcs() -> Connection:
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        _keep_alive(writer.get_extra_info("socket"))
        return reader, writer

    return Lifeline("the GCS", gcs, tries)


def _keep_alive(connected: socket.socket) -> None:
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE:
        if (option := getattr(socket, name, None)) is not None:  # not every system has each
            connected.setsockopt(socket.IPPROTO_TCP, option, value)
