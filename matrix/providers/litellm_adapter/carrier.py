"""litellm's own clients over this project's connections.

``litellm.acompletion`` builds an httpx client for each provider. Below it lies a transport, and
this is one: so the bound on answers, the refusal of redirects and the evidence of what was sent and
received are the same on that way as on the other. Whoever uses litellm in this process for
something else gets the transport that litellm would have made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
from yarl import URL

from matrix.providers.litellm_adapter.connections import CODED, Connections
from matrix.providers.litellm_adapter.wire import watched

_OF_THE_CONNECTION = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}
)
"""Request headers that the connection itself writes."""

Factory = Callable[..., httpx.AsyncBaseTransport | None]


class Carrier(httpx.AsyncBaseTransport):
    """Sends an attempt's requests over the connections of whoever makes the attempt."""

    def __init__(self, otherwise: httpx.AsyncBaseTransport) -> None:
        """``otherwise`` carries requests that are no attempt of a call."""
        self._otherwise = otherwise

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One request and its whole answer.

        Raises:
            httpx.ReadTimeout: It took longer than the client allows.
            Exception: What :meth:`Connections.send` raises, which the wire remembers.
        """
        wire = watched()
        if wire is None or wire.connections is None:
            return await self._otherwise.handle_async_request(request)
        return await _sent(wire.connections, request)

    async def aclose(self) -> None:
        """Close what carries other requests; the connections belong to the provider."""
        await self._otherwise.aclose()


async def _sent(connections: Connections, request: httpx.Request) -> httpx.Response:
    url, body = URL(str(request.url), encoded=True), await request.aread()
    named = request.headers.multi_items()
    headers = [(name, text) for name, text in named if name not in _OF_THE_CONNECTION]
    try:
        async with asyncio.timeout(_patience(request)):
            answer = await connections.send(request.method, url, body, headers)
    except TimeoutError as error:
        raise httpx.ReadTimeout("no answer in time", request=request) from error
    return httpx.Response(
        answer.status,
        headers={name: text for name, text in answer.headers.items() if name not in CODED},
        content=answer.body,
        request=request,
    )


def _patience(request: httpx.Request) -> float | None:
    given: Any = request.extensions.get("timeout") or {}
    limit = given.get("read")
    return None if limit is None else float(limit)


def carrying(factory: Factory) -> Factory:
    """A maker of transports that makes carriers in front of what ``factory`` makes."""

    def make(*args: Any, **more: Any) -> Carrier:
        return Carrier(factory(*args, **more) or httpx.AsyncHTTPTransport())

    return make
