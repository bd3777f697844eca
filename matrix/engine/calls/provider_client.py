"""A provider client: a process of its own that answers calls of sessions elsewhere.

Session workers post calls to it and poll for answers; it talks to the governor for admission and
to models over the network. It is the only kind of process that may load a provider's library.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from matrix.engine.calls.hosting import build_host
from matrix.engine.wire.link import Link, Mail, Mailboxes, Transport
from matrix.engine.wire.messages import FromGovernor, Granted, Recorded, Refused, ToGovernor
from matrix.engine.wire.setup import RunSetup
from matrix.model.errors import (
    Censored,
    DigestMismatch,
    MatrixError,
    ProviderError,
    SessionCapReached,
    SessionStop,
    Suspended,
)
from matrix.model.records import Answer, Call, CallKey
from matrix.telemetry.process import SILENT, Telemetry

_STOPS: dict[str, type[SessionStop]] = {
    stop.__name__: stop for stop in (Censored, SessionCapReached, Suspended, DigestMismatch)
}


class CallDone(NamedTuple):
    """To a session worker: its call has an answer, or the session must stop."""

    key: CallKey
    answer: Answer | None
    stop: str
    reason: str


class ProviderClient:
    """Serves calls of session workers through one provider."""

    def __init__(
        self,
        name: str,
        provider: str,
        setup: RunSetup,
        governor: Transport,
        telemetry: Telemetry = SILENT,
    ) -> None:
        self.name = name
        self._link = Link(name, governor, self._on_message)
        self._host = build_host([provider], setup, self._link.send, telemetry)
        self._mailboxes = Mailboxes()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin to work; needs a running event loop."""
        self._link.start()

    def send(self, message: ToGovernor) -> None:
        """Post to the governor."""
        self._link.send(message)

    async def post(self, peer: str, number: int, batch: Sequence[Call]) -> None:
        """Take calls; answers come by mail, singly, as they finish."""
        if not self._mailboxes.is_new(peer, number):
            return
        self._mailboxes.done(peer, number)  # what is lost with this process is asked again
        for call in batch:
            task = asyncio.create_task(self._answer(peer, call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def reconnect(self, governor: Transport) -> None:
        """Go on under another governor, in the place of one that died."""
        await self._link.reconnect(governor, last=self._host.resume)

    async def poll(self, peer: str, after: int) -> Mail:
        """Finished calls of this worker; parks until there are some."""
        return await self._mailboxes.collect(peer, after)

    async def failed(self) -> None:
        """Return only by raising, when talking to the governor has failed."""
        await self._link.failed()

    async def stop(self) -> None:
        """Drop what is in flight and stop talking."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._link.stop()
        await self._host.close()
        self._mailboxes.close()

    def _on_message(self, message: FromGovernor) -> None:
        if isinstance(message, Granted | Recorded | Refused):
            self._host.deliver(message)

    async def _answer(self, peer: str, call: Call) -> None:
        try:
            done = CallDone(call.key, await self._host.ask(call), "", "")
        except (SessionStop, ProviderError) as stop:
            done = CallDone(call.key, None, type(stop).__name__, str(stop))
        except Exception as defect:  # or the session would wait for ever
            done = CallDone(call.key, None, "", f"{type(defect).__name__}: {defect}")
        self._mailboxes.deliver(peer, [done])


class RemoteCalls:
    """A session worker's side: calls go out in batches, answers come back singly."""

    def __init__(self, worker: str, client: Transport) -> None:
        self._link = Link(worker, client, self._on_message)
        self._waiting: dict[CallKey, tuple[Call, asyncio.Future[CallDone]]] = {}

    def start(self) -> None:
        """Begin to talk; needs a running event loop."""
        self._link.start()

    async def stop(self) -> None:
        """Stop talking."""
        await self._link.stop()

    async def reconnect(self, client: Transport) -> None:
        """Go on with another client; every call that has no answer yet is asked again."""
        await self._link.reconnect(client, last=self._unanswered)

    async def failed(self) -> None:
        """Return only by raising, when talking to the client has failed."""
        await self._link.failed()

    def _unanswered(self) -> list[Call]:
        return [call for call, future in self._waiting.values() if not future.done()]

    async def ask(self, call: Call) -> Answer:
        """The answer to a call. Raises what the client's host raised."""
        future: asyncio.Future[CallDone] = asyncio.get_running_loop().create_future()
        self._waiting[call.key] = call, future
        self._link.send(call)
        done = await future
        if done.answer is None:
            raise _STOPS.get(done.stop, MatrixError)(done.reason)
        return done.answer

    def _on_message(self, message: CallDone) -> None:
        _, future = self._waiting.pop(message.key, (None, None))
        if future is not None and not future.done():
            future.set_result(message)
