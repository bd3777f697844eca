"""What was seen on the wire during one attempt: the evidence about its money.

litellm names its errors by the words in them, and gives many a status that no provider sent: its
Gemini description, say, calls an answer that it cannot read a 422. So what may have been billed is
decided by what the connection has seen, on both ways that a request can take.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from matrix.providers.litellm_adapter.foreign import kind_of

if TYPE_CHECKING:
    from matrix.model.records import Usage
    from matrix.providers.litellm_adapter.connections import Connections

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_OURS = ("InvalidURL", "NonHttpUrlClientError")
"""Addresses that aiohttp refuses before it connects; redirects are never followed."""


def refuses(status: int) -> bool:
    """Whether a status says that the request was refused, so that nothing is billed.

    A 408 says that the provider gave up waiting, which it may do after it has begun.
    """
    return (400 <= status < 500 and status != 408) or status in REDIRECTS


class Exchange:
    """One request, and what came back.

    Attributes:
        sent: ``False`` only if no connection was made, which proves that nothing was sent.
        status: From a status line that was received and understood.
        failure: What was raised in place of a whole answer.
        reported: Tokens that an answer with an error status says were used all the same.
        filtered: Whether an answer with an error status speaks of a content filter, which what
            litellm makes of it may leave out.
    """

    __slots__ = ("failure", "filtered", "reported", "sent", "status")

    def __init__(self) -> None:
        self.sent = True
        self.status: int | None = None
        self.failure: Exception | None = None
        self.reported: Usage | None = None
        self.filtered = False

    def failed(self, error: Exception) -> None:
        """Note why there is no answer; a status in front of a broken one proves nothing."""
        self.failure = error
        if self.status is None or not refuses(self.status):
            self.status = None
        names = {cls.__name__ for cls in type(error).__mro__}
        self.sent = kind_of(error) != "unsent" and names.isdisjoint(_NOT_OURS)

    @property
    def is_free(self) -> bool:
        """Whether it provably cost nothing."""
        return not self.sent or (self.status is not None and refuses(self.status))


class Wire:
    """Every exchange of one attempt, in order."""

    def __init__(self, connections: Connections | None = None) -> None:
        """Watch; ``connections`` are what litellm's own clients are to send over."""
        self.connections = connections
        self.exchanges: list[Exchange] = []

    @property
    def last(self) -> Exchange | None:
        """The newest exchange; ``None`` if nothing was seen."""
        return self.exchanges[-1] if self.exchanges else None

    @property
    def is_free(self) -> bool:
        """Whether all that was seen provably cost nothing."""
        return all(exchange.is_free for exchange in self.exchanges)


_WATCHED: ContextVar[Wire | None] = ContextVar("wire", default=None)


@contextmanager
def watching(connections: Connections) -> Iterator[Wire]:
    """Collects what happens on the wire within this context."""
    wire = Wire(connections)
    token = _WATCHED.set(wire)
    try:
        yield wire
    finally:
        _WATCHED.reset(token)


def watched() -> Wire | None:
    """The wire of the attempt that is under way in this context, if there is one."""
    return _WATCHED.get()


def begin() -> Exchange:
    """Note that a request is about to be sent."""
    exchange, wire = Exchange(), _WATCHED.get()
    if wire is not None:
        wire.exchanges.append(exchange)
    return exchange
