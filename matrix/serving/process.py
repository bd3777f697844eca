"""A simulated server in a process of its own, for tests and benchmarks.

::

    async with SimServer(ServeOptions(rpm=600)) as server:
        client = SomeClient(base_url=server.url)
        ...
        print(await server.stats())

The process ends with the block, and with this process however that ends: it holds the other end
of a pipe, and looks at who its parent is.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import orjson

from matrix.model.errors import MatrixError
from matrix.serving.options import ServeOptions

_STOP_S: Final = 5.0


class ServerDidNotStart(MatrixError):
    """The server's process ended, or said nothing in time."""


class SimServer:
    """A running server.

    Args:
        options: What to serve; the defaults answer any model without limits or faults.
        start_s: Seconds to wait for it to come up; a busy machine needs many, and a process that
            ended is not waited for.
    """

    def __init__(self, options: ServeOptions | None = None, *, start_s: float = 600.0) -> None:
        options = options or ServeOptions()
        self._options = options.model_copy(update={"stop_with_parent": True})
        self._start_s = start_s
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self.url = ""
        """Base URL for clients, e.g. ``http://127.0.0.1:40123/v1``."""
        self.pid = 0

    @property
    def root(self) -> str:
        """The server's address without ``/v1``."""
        return self.url.removesuffix("/v1")

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "matrix.serving.main",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            address = orjson.loads(await asyncio.wait_for(self._first_line(), self._start_s))
        except (TimeoutError, orjson.JSONDecodeError, ConnectionError):
            await self._end()
            raise ServerDidNotStart("the simulated server did not start; see its output") from None
        except BaseException:
            await self._end()
            raise
        self.url, self.pid = address["base_url"], address["pid"]
        key = self._options.api_key
        headers = {"Authorization": f"Bearer {key}"} if key else None
        self._session = aiohttp.ClientSession(headers=headers)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
        await self._end()

    async def stats(self) -> dict[str, Any]:
        """Counts since the start or the last reset; see :class:`~matrix.serving.stats.Stats`."""
        return await self._ask("GET", "/stats")

    async def reset_stats(self) -> dict[str, Any]:
        """Count anew; returns the counts until now."""
        return await self._ask("POST", "/stats/reset")

    async def schedule(self, faults: Iterable[str]) -> int:
        """Append faults for the coming requests, one each; returns how many are waiting."""
        return int((await self._ask("POST", "/faults", list(faults)))["pending"])

    async def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        assert self._session is not None, "use it as 'async with SimServer() as server'"
        data = None if body is None else orjson.dumps(body)
        async with self._session.request(method, self.root + path, data=data) as response:
            found: dict[str, Any] = orjson.loads(await response.read())
        if response.status != 200:
            raise ValueError(found["error"]["message"])
        return found

    async def _first_line(self) -> bytes:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(self._options.model_dump_json().encode() + b"\n")
        await process.stdin.drain()
        return await process.stdout.readline()

    async def _end(self) -> None:
        """Close the pipe, which ends the server; kill it if it takes its time."""
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _STOP_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
