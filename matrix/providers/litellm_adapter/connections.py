"""Connections of this process: one HTTP session with this project's own limits.

litellm's transports stop at a few hundred connections, count waiting for one as part of the
request's time, and read an answer however long it is. Here the caller holds a slot before the clock
starts, and an answer is bounded by what it takes when decompressed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from matrix.model.errors import RequestRejected
from matrix.providers.litellm_adapter.answers import usage_in
from matrix.providers.litellm_adapter.errors import AnswerTooLarge, speaks_of_a_filter
from matrix.providers.litellm_adapter.wire import REDIRECTS, begin

LONGEST_ANSWER = 64 << 20
"""Most bytes of one answer, decompressed; no model writes as much."""
CODED = ("content-encoding", "content-length", "transfer-encoding")
"""Headers that stop being true once a body is decompressed."""
CONNECT_S = 30.0
"""Longest wait for a connection."""
KEEP_ALIVE_S = 30.0
"""Idle connections are closed before a server does it in the middle of a request."""


class HttpAnswer(NamedTuple):
    """What came back over the wire, decompressed."""

    status: int
    headers: dict[str, str]
    body: bytes


class Connections:
    """Sends requests; opens its session on first use, in the loop that uses it."""

    def __init__(self, tls: Any = True) -> None:
        """Open nothing yet.

        Args:
            tls: TLS context, or ``False`` to check no certificates.
        """
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> HttpAnswer:
        """Send one ``POST`` request and read the whole answer; see :meth:`send`."""
        return await self.send("POST", url, body, headers.items())

    async def send(
        self, method: str, url: str | URL, body: bytes, headers: Iterable[tuple[str, str]]
    ) -> HttpAnswer:
        """Send one request and read the whole answer, and note both for whoever watches.

        Redirects are not followed: they would carry the key elsewhere.

        Raises:
            AnswerTooLarge: The answer is longer than :data:`LONGEST_ANSWER`.
            RequestRejected: The answer is a redirect.
            aiohttp.ClientError: No connection, or it broke, or the answer is no HTTP.
            TimeoutError: No connection within :data:`CONNECT_S`.
        """
        session = self._session or self._open()
        exchange = begin()
        try:
            async with session.request(
                method,
                url,
                data=body or None,
                headers=list(headers),
                allow_redirects=False,
                proxy=_proxy_for(str(url)),
            ) as answer:
                exchange.status = answer.status
                named = {name.lower(): _plain(text) for name, text in answer.headers.items()}
                if answer.status in REDIRECTS:
                    raise RequestRejected(_redirected(str(url), named.get("location", "")))
                whole = await _whole(answer)
                if answer.status >= 400:
                    exchange.reported = usage_in(whole)
                    exchange.filtered = speaks_of_a_filter(whole)
                return HttpAnswer(answer.status, named, whole)
        except Exception as error:
            exchange.failed(error)
            raise

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0, ssl=self._tls, ttl_dns_cache=300, keepalive_timeout=KEEP_ALIVE_S
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        )
        return self._session


def _redirected(url: str, to: str) -> str:
    """Where a service sends one to; a key goes there only if its user says so."""
    if urlsplit(to).netloc in ("", urlsplit(url).netloc):
        return f"redirected to {to}; give that address as api_base"
    return (
        f"redirected to another machine, {to}, which was sent nothing; if that is meant, give it "
        "as api_base"
    )


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    """The body of an answer, decompressed piece by piece, so that none is ever far too long.

    An error counts by its status line; if its body breaks off, what came of it is enough.
    """
    body = bytearray()
    try:
        async for piece in answer.content.iter_any():
            if len(body) + len(piece) > LONGEST_ANSWER:
                raise AnswerTooLarge(
                    f"an answer (HTTP {answer.status}) of more than {LONGEST_ANSWER >> 20} MiB, "
                    "which is not read to its end; no model writes as much, so look at the service"
                )
            body += piece
    except (aiohttp.ClientError, HttpProcessingError):
        if answer.status < 400:
            raise
    return bytes(body)


def _plain(text: str) -> str:
    """A header's value in ASCII, which is all that httpx takes."""
    return text if text.isascii() else text.encode("ascii", "backslashreplace").decode()


@lru_cache(maxsize=256)
def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address (``HTTPS_PROXY``, ``NO_PROXY`` ...)."""
    proxies = getproxies()
    if not proxies:
        return None
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else proxies.get(parts.scheme, proxies.get("all"))
