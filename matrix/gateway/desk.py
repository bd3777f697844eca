"""A request in, an answer out: metered, or refused in the words that its client knows."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import orjson

from matrix.dialects.requests import BadRequest, ParsedRequest, parse_request, telling_usage
from matrix.dialects.shapes import FAULTS, FINAL, KEPT_HEADERS, OTHER, PATHS, ErrorShape, error_body
from matrix.gateway.neutral import Neutral, NotTranslatable
from matrix.gateway.upstreams import NoSuchModel, Upstream, Upstreams
from matrix.model.errors import (
    Censored,
    MatrixError,
    SessionCapReached,
    SessionStop,
    Suspended,
)
from matrix.model.records import Answer, CallParams, ChatMessage, Failure, RawRequest, Shape

_JSON: Final = "application/json"
_BYTES_PER_TOKEN: Final = 4


class GatewayRequest(NamedTuple):
    """What the session is asked to ask: a raw request, or one in this project's own words."""

    model: str
    raw: RawRequest | None
    messages: tuple[ChatMessage, ...]
    params: CallParams


Ask = Callable[[GatewayRequest], Awaitable[Answer]]
"""Asks as a call of the session; raises :class:`SessionStop` where no money may be spent."""


class GatewayResponse(NamedTuple):
    """What goes back to a client."""

    status: int
    body: bytes
    media: str = _JSON
    headers: Mapping[str, str] = {}


class Counts:
    """What came through an address, and what of it was refused here."""

    def __init__(self) -> None:
        self.requests = 0
        self.capped = 0
        """Requests that a cap refused to a client who was still there."""
        self.refused = 0
        """Requests that were wrong: another key, no such model, too much at once, no request."""
        self.refusal = ""
        """What the newest of those was told."""
        self.failed = 0
        """Requests that ended in an error of the provider's."""
        self.failure: Failure | None = None
        """The newest of those."""
        self.stopped: SessionStop | None = None
        self.starved: SessionStop | None = None
        """The first refusal at a cap."""


class Desk:
    """Answers requests. One for each address."""

    def __init__(self, ask: Ask, upstreams: Upstreams, token: str) -> None:
        """Take what it needs.

        Args:
            ask: How a model is asked.
            upstreams: Models by the names that clients use.
            token: The key that clients must send.
        """
        self._ask, self._upstreams, self._token = ask, upstreams, token.encode()
        self.counts = Counts()
        self._closed = False

    def close(self) -> None:
        """Answer nothing more: the program has ended, whatever it has left running."""
        self._closed = True

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether a request carries the key of this address."""
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        given = headers.get("x-api-key") or bearer
        return hmac.compare_digest(given.encode(errors="replace"), self._token)

    async def answer(
        self,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        query: str = "",
        *,
        waits: Callable[[], bool],
    ) -> GatewayResponse:
        """Answer a request for a completion, or for a count of its tokens.

        ``waits`` says whether its client is still there.
        """
        counting = path.endswith("/count_tokens")
        shape = PATHS.get(path.removesuffix("/count_tokens"), "chat")
        if not self.admits(headers):
            self.counts.requests += path in PATHS
            return self._wrong(shape, FAULTS["key"], "This key is not the one of this address.")
        if path not in PATHS and not counting:
            return refused(shape, FAULTS["address"], f"Nothing is served at {path}.")
        if counting:
            return GatewayResponse(
                200, orjson.dumps({"input_tokens": -(-len(body) // _BYTES_PER_TOKEN)})
            )
        if self._closed:
            return refused(shape, FAULTS["draining"], "The command that this was for has ended.")
        self.counts.requests += 1
        try:
            return await self._metered(shape, headers, body, query)
        except NoSuchModel as error:
            return self._wrong(shape, FAULTS["model"], str(error))
        except (BadRequest, NotTranslatable) as error:
            return self._wrong(shape, FAULTS["request"], str(error))
        except (Censored, SessionCapReached) as stop:
            self.counts.capped += waits()
            self.counts.starved = self.counts.starved or stop
            return refused(shape, FAULTS["cap"], f"Nothing more is sent: {stop}")
        except Suspended as stop:
            self.counts.stopped = stop
            return refused(shape, FAULTS["draining"], f"The run is ending: {stop}")
        except MatrixError as error:
            return refused(shape, OTHER, f"{type(error).__name__}: {error}")

    def _wrong(self, shape: Shape, fault: ErrorShape, told: str) -> GatewayResponse:
        self.counts.refused += 1
        self.counts.refusal = told
        return refused(shape, fault, told)

    async def _metered(
        self, shape: Shape, headers: Mapping[str, str], body: bytes, query: str
    ) -> GatewayResponse:
        asked = parse_request(shape, body)
        upstream = self._upstreams.find(asked.model, shape)
        neutral = None if upstream.speaks(shape) else Neutral.read(shape, body)
        request = (
            _raw(shape, headers, body, asked, upstream, query)
            if neutral is None
            else GatewayRequest(upstream.name, None, neutral.messages, neutral.params)
        )
        answer = await self._ask(request)
        if answer.failure is not None:
            self.counts.failed += 1
            self.counts.failure = answer.failure
            fault = FAULTS.get(answer.failure.error_class, OTHER)
            return refused(shape, fault, answer.failure.message)
        if neutral is None:
            return GatewayResponse(200, answer.text.encode(errors="replace"), answer.media)
        media, written = neutral.write(answer, asked)
        return GatewayResponse(200, written, media)


def _raw(
    shape: Shape,
    headers: Mapping[str, str],
    body: bytes,
    asked: ParsedRequest,
    upstream: Upstream,
    query: str,
) -> GatewayRequest:
    hides = asked.stream and not asked.tells_usage
    raw = RawRequest(
        shape,
        telling_usage(body) if hides else body,
        asked.model,
        upstream.input_bound(asked, body),
        asked.stream,
        hides,
        tuple((name, headers[name]) for name in KEPT_HEADERS if name in headers),
        query,
        asked.texts,
    )
    return GatewayRequest(upstream.name, raw, (), CallParams(upstream.output_bound(asked)))


def refused(shape: Shape, fault: ErrorShape, message: str) -> GatewayResponse:
    """An error, in the words of a shape."""
    return GatewayResponse(fault.status, error_body(shape, fault, message), headers=FINAL)
