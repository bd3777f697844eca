"""A server that means harm, over plain sockets, with a log of its own of what it has billed.

Its address says what it does: below ``/<world>/<group>/<first>/v1``, the calls of a counting
session meet the behaviours of that group from the first on, each once, and are answered well when
they are tried again. Below ``/<world>/mixed/0/v1`` every third request meets a behaviour, in turn.
It runs in a thread, so that whole runs with loops of their own can ask it.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

import orjson

from matrix.model.money import NanoUSD
from tests.badinput.world import COST, REPORTED, SECOND_ASKS_FROM
from tests.providers_litellm.service import chat

MIXED = "mixed"
PATH = "v1/chat/completions"
START = SECOND_ASKS_FROM - 1
"""The number that a session counts on from at first."""


class Act(Enum):
    """What a connection does besides sending."""

    HANG = "says nothing more"
    FLOOD = "goes on with chunks for ever"
    RESET = "breaks"


Script: TypeAlias = Sequence[bytes | Act]
"""What is sent, byte for byte, and done; then the connection is closed."""


class Behaviour(NamedTuple):
    """What the server does, and whether it bills for that as for a good answer."""

    script: Script
    bills: bool = True


class Request(NamedTuple):
    """One request as it came in; ``number`` is that of the call, from 0."""

    world: str
    group: str
    number: int
    path: str


def http(
    body: Any, status: str = "200 OK", *headers: str | bytes, length: int | None = -1
) -> bytes:
    """An answer as it stands on the wire; ``length`` other than -1 replaces the true one."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    lines = [f"HTTP/1.1 {status}", "connection: close", *headers]
    if not any(str(line).lower().startswith("content-type") for line in headers):
        lines.append("content-type: application/json")
    if length is not None:
        lines.append(f"content-length: {len(raw) if length == -1 else length}")
    head = [line if isinstance(line, bytes) else line.encode() for line in lines]
    return b"\r\n".join([*head, b"", raw])


GOOD = http(chat("on", usage=REPORTED))
"""The answer that a counting session hopes for, with an honest report."""


class HostileServer:
    """Answers on loopback from a thread; ``with`` starts and stops it.

    Attributes:
        billed: What each world was charged, in nano-dollars: the honest cost of every request that
            was answered, whatever the answer said and whether it arrived.
        free: How many requests of each world it charged nothing for.
        requests: All of them, in order.
        waited_for: Called, in the server's thread, when it says nothing more and somebody waits.
    """

    def __init__(self, groups: Mapping[str, Sequence[Behaviour]]) -> None:
        self._groups = {title.replace(" ", "-"): found for title, found in groups.items()}
        self.billed: Counter[str] = Counter()
        self.free: Counter[str] = Counter()
        self.requests: list[Request] = []
        self.waited_for: Callable[[], None] = lambda: None
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.Task[Any]] = set()
        self._met: Counter[Request] = Counter()
        mixed = [(None, None, behaviour) for behaviour in self._groups.get(MIXED, ())]
        self._mixed = itertools.cycle(itertools.chain.from_iterable(mixed))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 24)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self._server, self.port = server, server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def url(self, world: str, group: str, first: int = 0) -> str:
        """The address under which a world meets the behaviours of a group."""
        return f"http://127.0.0.1:{self.port}/{world}/{group.replace(' ', '-')}/{first}/v1"

    async def _stop(self) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await _play(self._script(await self._request(reader)), writer, self.waited_for)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side had enough, as it should
        finally:
            self._open.discard(task)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> Request:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.splitlines()
        named = dict(line.lower().split(": ", 1) for line in lines if line)
        body = orjson.loads(await reader.readexactly(int(named["content-length"])))
        _, world, group, first, path = first.split()[1].split("/", 4)
        asked_from = int(body["messages"][-1]["content"].rstrip(".").rpartition(" ")[2])
        request = Request(world, group, int(first) + asked_from - START, path)
        self.requests.append(request)
        return request

    def _script(self, request: Request) -> Script:
        """What to do, after it has been entered in the log."""
        met = self._meets(request)
        bills = met is None or met.bills
        self.billed[request.world] += COST if bills else 0
        self.free[request.world] += not bills
        return [GOOD] if met is None else met.script

    def _meets(self, request: Request) -> Behaviour | None:
        self._met[request] += 1
        if request.group == MIXED:
            return next(self._mixed)
        first_time = self._met[request] == 1 and request.path == PATH
        return self._groups[request.group][request.number] if first_time else None


async def _play(
    script: Script, writer: asyncio.StreamWriter, waited_for: Callable[[], None]
) -> None:
    for step in script:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif step is Act.HANG:
            waited_for()
            await asyncio.Event().wait()
        elif step is Act.FLOOD:
            piece = b"100000\r\n" + bytes(0x100000) + b"\r\n"
            while True:
                writer.write(piece)
                await writer.drain()
        elif step is Act.RESET:
            connection: socket.socket = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


def total(books: Any) -> NanoUSD:
    """What a run says that it has spent: settled, presumed, and stated as above a hold."""
    return int(books.settled + books.presumed + books.overrun)
