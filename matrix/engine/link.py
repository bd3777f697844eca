"""Post and poll: how two processes talk without parking calls on each other.

The client posts batches, one in flight; what gathers meanwhile is the next batch. The server puts
answers into a mailbox per peer, and the client keeps one parked poll that returns whatever is
there. Both directions are numbered: a batch posted twice is taken once, and mail is kept until
the next poll acknowledges it. So a lost reply loses nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol


class Mail(NamedTuple):
    """Messages of one mailbox; ``last`` is the number of the newest of them."""

    last: int
    messages: Sequence[Any]


class Transport(Protocol):
    """How a client reaches its server: a direct call in process, an actor call on Ray."""

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        """Deliver a batch; delivering the same number again must be harmless."""
        ...

    async def poll(self, peer: str, after: int) -> Mail:
        """Wait for mail numbered above ``after``; acknowledges everything up to it."""
        ...


class Mailboxes:
    """Server side: one ordered mailbox per peer, and duplicate batches told apart."""

    def __init__(self) -> None:
        self._mail: dict[str, deque[tuple[int, Any]]] = {}
        self._numbers: dict[str, int] = {}
        self._events: dict[str, asyncio.Event] = {}
        self._taken: dict[str, int] = {}

    def is_new(self, peer: str, number: int) -> bool:
        """Whether a batch is new; batches of a peer arrive in order."""
        if number <= self._taken.get(peer, 0):
            return False
        self._taken[peer] = number
        return True

    def deliver(self, peer: str, messages: Iterable[Any]) -> None:
        """Put messages into a mailbox and wake its poll."""
        box = self._mail.setdefault(peer, deque())
        number = self._numbers.get(peer, 0)
        for message in messages:
            number += 1
            box.append((number, message))
        self._numbers[peer] = number
        self._event(peer).set()

    async def collect(self, peer: str, after: int) -> Mail:
        """Everything numbered above ``after``, waiting until there is something."""
        box = self._mail.setdefault(peer, deque())
        while box and box[0][0] <= after:
            box.popleft()
        event = self._event(peer)
        if not box:
            event.clear()
            await event.wait()
        return Mail(box[-1][0] if box else after, [message for _, message in box])

    def close(self) -> None:
        """Let every parked poll return, so that nobody waits for a server that is gone."""
        for event in self._events.values():
            event.set()

    def _event(self, peer: str) -> asyncio.Event:
        return self._events.setdefault(peer, asyncio.Event())


class Link:
    """Client side: sends in batches, hands every received message to a callback."""

    def __init__(self, peer: str, transport: Transport, on_message: Callable[[Any], None]) -> None:
        self._peer = peer
        self._transport = transport
        self._on_message = on_message
        self._out: list[Any] = []
        self._something = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Begin to post and to poll."""
        self._tasks = [
            asyncio.create_task(self._post_loop(), name=f"post:{self._peer}"),
            asyncio.create_task(self._poll_loop(), name=f"poll:{self._peer}"),
        ]

    def send(self, message: Any) -> None:
        """Queue a message for the next batch."""
        self._out.append(message)
        self._idle.clear()
        self._something.set()

    async def flush(self) -> None:
        """Wait until everything queued has been posted."""
        await self._idle.wait()

    async def failed(self) -> None:
        """Return only by raising: whatever ended the loops."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def stop(self) -> None:
        """Stop both loops."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _post_loop(self) -> None:
        number = 0
        while True:
            await self._something.wait()
            self._something.clear()
            batch, self._out = self._out, []
            if batch:
                number += 1
                await self._transport.post(self._peer, number, batch)
            if not self._out:
                self._idle.set()

    async def _poll_loop(self) -> None:
        last = 0
        while True:
            mail = await self._transport.poll(self._peer, last)
            last = mail.last
            for message in mail.messages:
                self._on_message(message)
