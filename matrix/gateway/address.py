"""A metered address on the loopback: opened for one program, closed when that has ended."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, NamedTuple

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError

from matrix.dialects.loopback import foreign
from matrix.dialects.requests import MAX_BODY
from matrix.dialects.shapes import FAULTS, OTHER, PATHS, error_event
from matrix.gateway.desk import Ask, Desk, GatewayResponse, refused
from matrix.gateway.upstreams import Upstreams

QUIET_S: Final = 10.0
"""After so long without an answer, a stream is begun and kept alive by comments, in seconds."""
_NO_HTTP: Final = (ConnectionError, web.RequestPayloadError, HttpProcessingError)
"""What reading from a client raises that goes away, or does not keep to HTTP."""
_LOG: Final = logging.getLogger(__name__)
_COMMENT: Final = b": still waiting\n\n"


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a failure may be a defect: what clients send is told to them and to nobody else."""
    return record.exc_info is None or not isinstance(record.exc_info[1], _NO_HTTP)


_LOG.addFilter(_is_ours)


class GatewayAddress(NamedTuple):
    """Where a program sends its requests, and what it has come to.

    Attributes:
        url: The root, without a path.
        token: The key that requests must carry; worthless elsewhere.
        desk: Who answers.
        serve: Answers at one more listening socket; may be called from any thread.
    """

    url: str
    token: str
    desk: Desk
    serve: Callable[[socket.socket], None]

    @property
    def requests(self) -> int:
        """Requests so far."""
        return self.desk.counts.requests

    @property
    def capped(self) -> int:
        """Those that were refused because a cap was reached, of clients that were still there."""
        return self.desk.counts.capped

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables by which clients find the address."""
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_BASE": f"{self.url}/v1",
            "OPENAI_API_KEY": self.token,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_BASE": self.url,
            "ANTHROPIC_API_KEY": self.token,
        }


@asynccontextmanager
async def open_address(
    ask: Ask, upstreams: Upstreams, *, port: int | None = None, quiet_s: float = QUIET_S
) -> AsyncIterator[GatewayAddress]:
    """Serve requests on a free port of the loopback until the block ends.

    With a ``port``, only at that port of sandboxes, whose sockets ``serve`` is given. Requests that
    are under way at the end are waited for, because they are paid.
    """
    token = f"matrix-gateway-{secrets.token_hex(16)}"
    desk = Desk(ask, upstreams, token)
    service = _Service(desk, upstreams, quiet_s)
    app = web.Application(client_max_size=MAX_BODY)
    for path in PATHS:
        app.router.add_post(path, service.ask)
    app.router.add_post("/v1/messages/count_tokens", service.ask)
    app.router.add_get("/v1/models", service.models)
    app.router.add_route("*", "/{tail:.*}", service.ask)
    runner = web.AppRunner(app, access_log=None, logger=_LOG, shutdown_timeout=0.1)
    await runner.setup()
    try:
        if port is None:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            port = runner.addresses[0][1]
        loop = asyncio.get_running_loop()

        def serve(listening: socket.socket) -> None:
            asyncio.run_coroutine_threadsafe(web.SockSite(runner, listening).start(), loop)

        yield GatewayAddress(f"http://127.0.0.1:{port}", token, desk, serve)
        desk.close()
        await service.settle()
    finally:
        await runner.cleanup()


class _Service:
    """The HTTP side of a desk."""

    def __init__(self, desk: Desk, upstreams: Upstreams, quiet_s: float) -> None:
        self._desk, self._upstreams, self._quiet_s = desk, upstreams, quiet_s
        self._under_way: set[asyncio.Task[GatewayResponse]] = set()

    async def settle(self) -> None:
        """Wait for what was asked, whether or not anybody is there to hear it."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def ask(self, request: web.Request) -> web.StreamResponse:
        shape = PATHS.get(request.path, "chat")
        if why := foreign(request.headers):
            return _response(refused(shape, FAULTS["key"], why))
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            told = f"The body is larger than {MAX_BODY} bytes."
            return _response(refused(shape, FAULTS["size"], told))
        except _NO_HTTP:
            return _response(refused(shape, FAULTS["request"], "The body came to no end."))
        # a task of its own: a client that goes away leaves a call that is paid for all the same
        task = asyncio.create_task(
            self._desk.answer(
                request.path,
                _headers(request),
                body,
                request.query_string,
                waits=partial(_is_there, request),
            )
        )
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        done, _ = await asyncio.wait([task], timeout=self._quiet_s)
        if not done and _streams(body):
            return await self._slowly(request, task)
        return _response(await asyncio.shield(task))

    async def _slowly(
        self, request: web.Request, task: asyncio.Task[GatewayResponse]
    ) -> web.StreamResponse:
        """Begin a stream before there is an answer, so that its client does not give up."""
        headers = {"Content-Type": "text/event-stream; charset=utf-8"}
        response = web.StreamResponse(status=200, headers=headers)
        await response.prepare(request)
        with suppress(
            ConnectionError
        ):  # nobody is there any more; the call is settled all the same
            while not (await asyncio.wait([task], timeout=self._quiet_s))[0]:
                await response.write(_COMMENT)
            said = task.result()
            if said.status < 400:
                await response.write(said.body)
            else:
                shape = PATHS.get(request.path, "chat")
                message = orjson.loads(said.body)["error"]["message"]
                await response.write(error_event(shape, OTHER, message))
        return response

    async def models(self, request: web.Request) -> web.StreamResponse:
        if not self._desk.admits(_headers(request)):
            return _response(refused("chat", FAULTS["key"], "This key is not of this address."))
        data = [
            {"id": name, "object": "model", "type": "model", "created": 0, "display_name": name}
            for name in self._upstreams.names()
        ]
        body = {"object": "list", "data": data, "has_more": False}
        return _response(GatewayResponse(200, orjson.dumps(body)))


def _headers(request: web.Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


def _is_there(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


def _streams(body: bytes) -> bool:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(data, dict) and data.get("stream") is True


def _response(said: GatewayResponse) -> web.Response:
    headers = {**said.headers, "Content-Type": said.media}
    return web.Response(status=said.status, body=said.body, headers=headers)
