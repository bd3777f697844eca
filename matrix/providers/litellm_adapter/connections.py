"""Connections of this process: one HTTP session with this project's own limits.

litellm's transports stop at a few hundred connections, count waiting for one as part of the
request's time, and re-encode each message. Here the caller holds a slot before the clock starts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

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
        """Send one request and read the whole answer.

        Redirects are not followed: they would carry the key elsewhere.

        Raises:
            aiohttp.ClientError: No connection, or it broke.
            TimeoutError: No connection within :data:`CONNECT_S`.
        """
        session = self._session or self._open()
        async with session.post(
            url, data=body, headers=headers, allow_redirects=False, proxy=_proxy_for(url)
        ) as answer:
            raw = await answer.read()
            return HttpAnswer(
                answer.status, {name.lower(): text for name, text in answer.headers.items()}, raw
            )

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


@lru_cache(maxsize=256)
def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address (``HTTPS_PROXY``, ``NO_PROXY`` ...)."""
    proxies = getproxies()
    if not proxies:
        return None
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else proxies.get(parts.scheme, proxies.get("all"))
