"""Post and poll: how two processes talk without parking calls on each other.

The client posts batches, one in flight; what gathers meanwhile is the next batch. The server puts
answers into a mailbox per peer, and the client keeps one parked poll that returns whatever is
there. Both directions are numbered: a batch posted twice is taken once, and mail is kept until
the next poll acknowledges it. So a lost reply loses nothing.

A server may die and be replaced. What it took but had not yet made durable is lost with it, so the
client keeps every batch until the server says, with the mail, that it is durable; a replacement
gets the kept ones again. Whoever learns of the replacement calls :meth:`Link.reconnect`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from matrix.model.errors import MatrixError

TELL_EVERY = 16
"""A peer without mail is told after so many batches that they are durable."""


class ServerGone(MatrixError):
    """The server's process has died; its client waits for a replacement."""


class Mail(NamedTuple):
    """Messages of one mailbox; ``last`` is the number of the newest of them.

    ``durable`` is the number of the newest batch of this peer that will survive the server.
    """

    last: int
    messages: Sequence[Any]
    durable: int = 0


class Transport(Protocol):
    """How a client reaches its server: a direct call in process, an actor call on Ray."""

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        """Deliver a batch; delivering the same number again must be harmless.

        Raises:
            ServerGone: There is nobody any more to deliver it to.
        """
        ...

    async def poll(self, peer: str, after: int) -> Mail:
        """Wait for mail numbered above ``after``; acknowledges everything up to it.

        Raises:
            ServerGone: There will be no mail any more.
        """
        ...


class Talker(Protocol):
    """Whoever depends on a link to go on."""

    async def failed(self) -> None:
        """Return only by raising, when talking has failed for good."""
        ...


class Mailboxes:
    """Server side: one ordered mailbox per peer, and duplicate batches told apart."""

    def __init__(self) -> None:
        self._mail: dict[str, deque[tuple[int, Any]]] = {}
        self._numbers: dict[str, int] = {}
        self._events: dict[str, asyncio.Event] = {}
        self._taken: dict[str, int] = {}
        self._durable: dict[str, int] = {}
        self._told: dict[str, int] = {}

    def is_new(self, peer: str, number: int) -> bool:
        """Whether a batch is new; batches of a peer arrive in order."""
        if number <= self._taken.get(peer, 0):
            return False
        self._taken[peer] = number
        return True

    def done(self, peer: str, number: int) -> None:
        """A batch is durable; the peer is told with its next mail, and need not keep it.

        A peer that gets no mail is told now and then all the same, or it would keep everything.
        """
        self._durable[peer] = number
        if number - self._told.get(peer, 0) >= TELL_EVERY:
            self._event(peer).set()

    def forget(self, peer: str) -> None:
        """A peer has died: nobody will collect its mail."""
        for kept in (self._mail, self._numbers, self._taken, self._durable, self._told):
            kept.pop(peer, None)
        if (event := self._events.pop(peer, None)) is not None:
            event.set()

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
        self._told[peer] = self._durable.get(peer, 0)
        messages = [message for _, message in box]
        return Mail(box[-1][0] if box else after, messages, self._durable.get(peer, 0))

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
        self._kept: deque[tuple[int, Sequence[Any]]] = deque()
        self._passing: dict[int, Any] = {}
        self._number = 0
        self._something = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: asyncio.Future[None] | None = None
        self._reconnecting = asyncio.Lock()

    def start(self) -> None:
        """Begin to post and to poll."""
        if self._failure is None:
            self._failure = asyncio.get_running_loop().create_future()
        self._tasks = [
            asyncio.create_task(self._guard(self._post_loop), name=f"post:{self._peer}"),
            asyncio.create_task(self._guard(self._poll_loop), name=f"poll:{self._peer}"),
        ]

    def send(self, message: Any) -> None:
        """Queue a message for the next batch."""
        self._out.append(message)
        self._something.set()

    async def reconnect(
        self,
        transport: Transport,
        first: Callable[[], Sequence[Any]] = tuple,
        last: Callable[[], Sequence[Any]] = tuple,
    ) -> None:
        """Go on with a replacement of the server, which knows only what was durable.

        It is sent ``first``, then everything that may not have survived, then what is new, and then
        ``last``. Messages may so come twice; the server must take that. ``first`` and ``last`` are
        asked for when no more mail of the old server can arrive; they are true at this moment only,
        and never repeated to the next server.

        Servers may be replaced faster than a client goes over to them; it ends up with the last.
        """
        async with self._reconnecting:
            await self.stop()
            self._go_on_with(transport, first(), last())

    def _go_on_with(
        self, transport: Transport, before: Sequence[Any], after: Sequence[Any]
    ) -> None:
        again = [message for _, batch in self._kept for message in batch]
        new = [message for message in self._out if id(message) not in self._passing]
        self._passing = {id(message): message for message in (*before, *after)}
        self._out = [*before, *again, *new, *after]
        self._kept.clear()
        self._number = 0
        self._transport = transport
        if self._out:
            self._something.set()
        self.start()

    def unsure(self) -> Iterator[Any]:
        """Messages that the server has not yet said are durable, oldest first."""
        for _, batch in self._kept:
            yield from batch
        yield from self._out

    async def failed(self) -> None:
        """Return only by raising: whatever ended the loops, but for a server that has died."""
        assert self._failure is not None
        await asyncio.shield(self._failure)

    async def stop(self) -> None:
        """Stop both loops."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _guard(self, loop: Callable[[], Awaitable[None]]) -> None:
        try:
            await loop()
        except ServerGone:
            pass  # somebody will call reconnect
        except Exception as error:
            assert self._failure is not None
            if not self._failure.done():
                self._failure.set_exception(error)
                self._failure.exception()  # nobody may be listening

    async def _post_loop(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            batch, self._out = self._out, []
            if batch:
                self._number += 1
                lasting = [m for m in batch if self._passing.pop(id(m), None) is None]
                self._kept.append((self._number, lasting))
                await self._transport.post(self._peer, self._number, batch)

    async def _poll_loop(self) -> None:
        last = 0
        while True:
            mail = await self._transport.poll(self._peer, last)
            last = mail.last
            while self._kept and self._kept[0][0] <= mail.durable:
                self._kept.popleft()
            for message in mail.messages:
                self._on_message(message)
