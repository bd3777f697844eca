"""The five actors. Each holds one plain class of ``matrix.engine`` and passes calls on.

Every actor is asynchronous and has one event loop. (Ray runs each concurrency group on a loop and
thread of its own, and these classes belong to one loop; so there is one group.) Only ``poll`` and
``serve`` park, once per peer, far below the actor's concurrency; nothing else ever waits. No actor
restarts by itself and no call is retried by Ray: what a lost process means is the engine's affair.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import ray

from matrix.engine.calls.hosting import build_host, embedded_providers
from matrix.engine.calls.provider_client import ProviderClient, RemoteCalls
from matrix.engine.executors.executor import publish_pause
from matrix.engine.executors.node_folder import NodeFolder
from matrix.engine.governor.core import LostSession
from matrix.engine.governor.governor import Governor
from matrix.engine.prepare.registry import load_kind
from matrix.engine.session.durable_session import CallPort
from matrix.engine.session.worker import SessionWorker
from matrix.engine.session.workspace import Workspaces, workspaces_in
from matrix.engine.wire.blob_line import BlobLine
from matrix.engine.wire.link import Mail, Talker
from matrix.engine.wire.messages import LogLine, Picture
from matrix.engine.wire.setup import RunSetup
from matrix.engine.wire.telemetry_events import telemetry_of
from matrix.model.entries import Looked
from matrix.model.plan import Plan
from matrix.model.records import SessionPlan
from matrix.store.blobs.blob_parts import BlobPart
from matrix.store.blobs.blob_server import BlobServer
from matrix.store.blobs.remote_blobs import RemoteBlobs
from matrix.telemetry.log import Forward
from matrix_actors.process_address import ProcessAddress, here
from matrix_actors.transport import RayBlobs, RayTransport
from matrix_actors.variables import take_variables

T = TypeVar("T")

MAX_CONCURRENCY = 1000
"""Actor calls under way at once; two are parked per peer."""

_actor: Any = ray.remote(
    num_cpus=0,
    max_restarts=0,
    max_task_retries=0,
    max_concurrency=MAX_CONCURRENCY,
    enable_task_events=False,  # Ray's GCS would keep 3 kB of every call, on others' clusters too
)


def _settle_down() -> None:
    """Keep the collector off what was loaded at start-up, and let it look less often.

    These processes make many short-lived values and no cycles to speak of; collecting took a
    tenth of their time (see docs/performance.md).
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _once_begun(method: Callable[..., Awaitable[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    """Of an actor that others know before it has begun to work: they wait until then."""

    @wraps(method)
    async def waiting(self: Any, *args: Any) -> T:
        await self._begun.wait()
        return await method(self, *args)

    return waiting


@_actor
class GovernorActor:
    """Money, rates and the journal."""

    def __init__(self, setup: RunSetup, alive: Sequence[str] = ()) -> None:
        """``alive`` are the processes that outlived the governor which this one replaces."""
        self._setup, self._alive = setup, alive
        self._begun = asyncio.Event()

    async def start(self) -> ProcessAddress:
        """Open the journal and begin to work; returns which process this is."""
        self._telemetry = telemetry_of(self._setup, "governor")
        self._governor = Governor(self._setup, alive=self._alive, log=self._telemetry.log)
        self._governor.start()
        _settle_down()
        self._begun.set()
        return here()

    @_once_begun
    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        await self._governor.post(peer, number, batch)

    @_once_begun
    async def poll(self, peer: str, after: int) -> Mail:
        return await self._governor.poll(peer, after)

    @_once_begun
    async def picture(self) -> Picture:
        return self._governor.picture()

    @_once_begun
    async def drain(self) -> None:
        self._governor.drain()

    @_once_begun
    async def record(self, look: Looked) -> None:
        await self._governor.record(look)

    @_once_begun
    async def lose(self, peer: str) -> list[LostSession]:
        return await self._governor.lose(peer)

    @_once_begun
    async def end_poisoned(self, plan: SessionPlan, reason: str) -> None:
        await self._governor.end_poisoned(plan, reason)

    async def stop(self) -> None:
        await self._governor.stop()
        await self._telemetry.close()

    @_once_begun
    async def serve(self) -> None:
        """Parks for ever; its failure tells the driver that this process is gone."""
        await asyncio.Event().wait()


@_actor
class ProviderClientActor:
    """Talks to models."""

    def __init__(
        self, name: str, provider: str, setup: RunSetup, governor: Any, variables: str
    ) -> None:
        """``variables`` is where the driver gives its keys to processes on its machine."""
        self._name, self._provider, self._setup = name, provider, setup
        self._variables = variables
        self._begun = asyncio.Event()
        self._transport = RayTransport(governor)

    async def start(self) -> ProcessAddress:
        """Begin to work; returns which process this is."""
        await take_variables(self._variables, os.environ)
        forward = Forward()
        self._telemetry = telemetry_of(self._setup, self._name, sends=True, forward=forward)
        self._client = ProviderClient(
            self._name, self._provider, self._setup, self._transport, self._telemetry
        )
        self._client.start()
        forward.attach(lambda line: self._client.send(LogLine(line)))
        _settle_down()  # litellm alone is 300,000 objects to look through
        self._begun.set()
        return here()

    @_once_begun
    async def reconnect(self, governor: Any) -> None:
        await self._client.reconnect(RayTransport(governor))

    @_once_begun
    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        await self._client.post(peer, number, batch)

    @_once_begun
    async def poll(self, peer: str, after: int) -> Mail:
        return await self._client.poll(peer, after)

    async def stop(self) -> None:
        await self._client.stop()
        await self._telemetry.close()

    @_once_begun
    async def serve(self) -> None:
        """Parks until talking to the governor fails."""
        await self._client.failed()


@_actor
class SessionWorkerActor:
    """Plays sessions."""

    def __init__(
        self,
        name: str,
        seat: int,
        setup: RunSetup,
        governor: Any,
        clients: Mapping[str, Sequence[Any]],
        home: str,
        blobs: Any,
        variables: str,
    ) -> None:
        """Workers spread over the clients by their ``seat``, and keep to one of each provider.

        ``home`` is the node of the journal; ``blobs`` serves elsewhere what is there, or is
        ``None``, if no session keeps files; ``variables`` as for provider clients.
        """
        self._variables = variables
        self._begun = asyncio.Event()
        self._name, self._seat, self._setup = name, seat, setup
        self._governor, self._clients, self._home = governor, clients, home
        self._remotes: dict[str, RemoteCalls] = {}
        self._blobs = None if blobs is None else BlobLine(RayBlobs(blobs))
        self._elsewhere: NodeFolder | None = None

    async def start(self) -> ProcessAddress:
        """Begin to work; returns which process this is."""
        setup = self._setup
        await take_variables(self._variables, os.environ)
        kinds = {setup.kind: load_kind(setup.kind, kept=setup.kept)}
        forward = Forward()
        self._telemetry = telemetry_of(setup, self._name, forward=forward)
        transport, workspaces = RayTransport(self._governor), await self._workspaces()
        self._worker = worker = SessionWorker(
            self._name, setup, kinds, transport, self._telemetry, workspaces
        )
        embedded = embedded_providers(setup)
        host = (
            build_host(embedded, setup, worker.send, self._telemetry, worker.workspaces)
            if embedded
            else None
        )
        routes: dict[str, CallPort] = dict.fromkeys(embedded, host) if host else {}
        for provider, actors in self._clients.items():
            remote = RemoteCalls(self._name, RayTransport(actors[self._seat % len(actors)]))
            remote.start()
            routes[provider] = self._remotes[provider] = remote
        worker.start(host=host, routes=routes)
        forward.attach(lambda line: worker.send(LogLine(line)))
        _settle_down()
        self._begun.set()
        return here()

    async def _workspaces(self) -> Workspaces:
        """Where folders are, by which node this is: a path may be there and be another one."""
        run_dir, node = Path(self._setup.run_dir), ray.get_runtime_context().get_node_id()
        if node == self._home:
            return workspaces_in(run_dir)
        self._elsewhere = await asyncio.to_thread(NodeFolder.open, node, run_dir)
        place = self._elsewhere.path
        if self._blobs is None:
            return Workspaces(place, None)
        return Workspaces(place, RemoteBlobs(place, self._blobs), give_up=self._blobs.close)

    @_once_begun
    async def open(self, plans: Sequence[SessionPlan]) -> None:
        self._worker.open(plans)

    @_once_begun
    async def sessions(self) -> list[str]:
        """What is played here, or will be."""
        return self._worker.sessions

    @_once_begun
    async def release(self, session_ids: Sequence[str]) -> list[str]:
        return await self._worker.release(session_ids)

    @_once_begun
    async def reconnect(self, governor: Any) -> None:
        await self._worker.reconnect(RayTransport(governor))

    @_once_begun
    async def reconnect_client(self, provider: str, client: Any) -> None:
        await self._remotes[provider].reconnect(RayTransport(client))

    @_once_begun
    async def reconnect_blobs(self, blobs: Any) -> None:
        assert self._blobs is not None
        self._blobs.reconnect(RayBlobs(blobs))

    async def stop(self) -> None:
        await self._worker.stop()
        for remote in self._remotes.values():
            await remote.stop()
        await self._telemetry.close()
        if self._elsewhere is not None:
            await asyncio.to_thread(self._elsewhere.close)

    @_once_begun
    async def serve(self) -> None:
        """Parks until talking to the governor or a client fails."""
        talkers: list[Talker] = [self._worker, *self._remotes.values()]
        await asyncio.gather(*(one.failed() for one in talkers))


@_actor
class BlobServerActor:
    """Takes and gives the files of sessions that are played on other nodes.

    Its work is done in threads; it is no part of the governor, which would be late for it.
    """

    def __init__(self, run_dir: str) -> None:
        self._server = BlobServer(Path(run_dir))

    async def start(self) -> ProcessAddress:
        """Nothing is to be prepared; returns which process this is."""
        return here()

    async def keep(self, digests: Sequence[str]) -> list[str]:
        return await asyncio.to_thread(self._server.keep, digests)

    async def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        await asyncio.to_thread(self._server.take, sender, parts)

    async def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        return await asyncio.to_thread(self._server.give, digests, offset)

    async def stop(self) -> None:
        """What it was told is durable is so."""

    async def serve(self) -> None:
        """Parks for ever; see :meth:`GovernorActor.serve`."""
        await asyncio.Event().wait()


@_actor
class PublisherActor:
    """Makes Parquet tables from the journal."""

    def __init__(self, run_dir: str) -> None:
        self._run_dir = Path(run_dir)
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()

    async def start(self) -> ProcessAddress:
        """Take the tables over; returns which process this is."""
        from matrix.engine.executors.publishing import (
            open_publisher,  # only this process loads Arrow
        )

        self._publisher = await asyncio.to_thread(open_publisher, self._run_dir)
        return here()

    async def finish(self, plan: Plan, reason: str) -> None:
        """Stop following the journal and write the final tables."""
        self._closing.set()
        await self._closed.wait()
        planned = (session for planned in plan.all_rounds() for session in planned.sessions)
        await asyncio.to_thread(self._publisher.finalize, planned, reason)

    async def serve(self) -> None:
        """Follow the journal until told to finish."""
        try:
            began = time.monotonic()
            while not self._closing.is_set():
                pause = publish_pause(time.monotonic() - began)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), pause)
                await asyncio.to_thread(self._publisher.step, flush=True)
        finally:
            self._closed.set()
