"""Asking a simulated server: without sockets, inside this process, and over the wire."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from matrix.serving.app import build_app
from matrix.serving.chat import ChatService, Outcome
from matrix.serving.options import ServeOptions

PATH = "/v1/chat/completions"
USER = [{"role": "user", "content": "Say something."}]


def request_body(**fields: Any) -> dict[str, Any]:
    """A request that is fine, with these fields in it."""
    return {"model": "sim-gpt", "messages": USER} | fields


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A service without sockets."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        self.service = ChatService(
            ServeOptions.model_validate(options), self.clock, lambda: 1_700_000_000.0
        )

    def ask(self, body: Any = None, headers: Mapping[str, str] | None = None) -> Outcome:
        data = body if isinstance(body, bytes) else orjson.dumps(body or request_body())
        return self.service.answer(data, headers or {})

    def json(self, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        return orjson.loads(b"".join(self.ask(body, headers).parts))

    def text(self, body: Any = None, headers: Mapping[str, str] | None = None) -> str:
        return str(self.json(body, headers)["choices"][0]["message"]["content"])

    def events(self, body: dict[str, Any]) -> list[Any]:
        return read_events(b"".join(self.ask(body | {"stream": True}).parts))


def read_events(body: bytes) -> list[Any]:
    """The data of server-sent events; the end mark must be there and is left out."""
    *events, done, rest = body.split(b"\n\n")
    assert (done, rest) == (b"data: [DONE]", b"")
    return [orjson.loads(event.removeprefix(b"data: ")) for event in events]


@contextlib.asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """A server inside this process, as a client session whose base address it is."""
    app = build_app(ServeOptions.model_validate(options))
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        base = f"http://127.0.0.1:{site.port}"
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(base, connector=connector) as client:
            yield client
    finally:
        await runner.cleanup()
