"""The actor that plays sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray

from matrix.engine.calls.hosting import build_host, embedded_providers
from matrix.engine.calls.provider_client import RemoteCalls
from matrix.engine.executors.node_folder import NodeFolder
from matrix.engine.prepare.registry import load_kind
from matrix.engine.session.durable_session import CallPort
from matrix.engine.session.worker import SessionWorker
from matrix.engine.session.workspace import Workspaces, workspaces_in
from matrix.engine.wire.blob_line import BlobLine
from matrix.engine.wire.link import Talker
from matrix.engine.wire.messages import LogLine
from matrix.engine.wire.setup import RunSetup
from matrix.engine.wire.telemetry_events import telemetry_of
from matrix.model.records import SessionPlan
from matrix.store.blobs.remote_blobs import RemoteBlobs
from matrix.telemetry.log import Forward
from matrix_actors.process_address import ProcessAddress, here
from matrix_actors.processes.actor import actor, once_begun, settle_down
from matrix_actors.transport import RayBlobs, RayTransport
from matrix_actors.variables import take_variables


@actor
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
        settle_down()
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

    @once_begun
    async def open(self, plans: Sequence[SessionPlan]) -> None:
        self._worker.open(plans)

    @once_begun
    async def sessions(self) -> list[str]:
        """What is played here, or will be."""
        return self._worker.sessions

    @once_begun
    async def release(self, session_ids: Sequence[str]) -> list[str]:
        return await self._worker.release(session_ids)

    @once_begun
    async def reconnect(self, governor: Any) -> None:
        await self._worker.reconnect(RayTransport(governor))

    @once_begun
    async def reconnect_client(self, provider: str, client: Any) -> None:
        await self._remotes[provider].reconnect(RayTransport(client))

    @once_begun
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

    @once_begun
    async def serve(self) -> None:
        """Parks until talking to the governor or a client fails."""
        talkers: list[Talker] = [self._worker, *self._remotes.values()]
        await asyncio.gather(*(one.failed() for one in talkers))
