"""The in-process executor: the same classes on one event loop, for tests, debuggers, tiny runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matrix.engine.calls.hosting import build_host, embedded_providers
from matrix.engine.calls.provider_client import ProviderClient, RemoteCalls
from matrix.engine.executors.executor import News, publishing
from matrix.engine.executors.publishing import open_publisher
from matrix.engine.governor.core import DRIVER
from matrix.engine.governor.governor import Governor
from matrix.engine.prepare.registry import load_kind
from matrix.engine.session.durable_session import CallPort
from matrix.engine.session.worker import SessionWorker
from matrix.engine.wire.background import Background
from matrix.engine.wire.link import Link, Talker
from matrix.engine.wire.messages import Picture, RunFailed
from matrix.engine.wire.setup import RunSetup
from matrix.engine.wire.telemetry_events import telemetry_of
from matrix.model.entries import Looked
from matrix.model.plan import Plan
from matrix.model.records import SessionPlan
from matrix.store.tables.publisher import Publisher
from matrix.telemetry.process import Telemetry


class InProcessExecutor:
    """Governor, one worker, provider clients and publisher in this process."""

    def __init__(self) -> None:
        self._news: list[News] = []
        self._something = asyncio.Event()
        self._governor: Governor | None = None
        self._worker: SessionWorker | None = None
        self._link: Link | None = None
        self._clients: list[ProviderClient] = []
        self._remotes: list[RemoteCalls] = []
        self._publisher: Publisher | None = None
        self._publishing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._watching = Background(self._on_failure)
        self._telemetry: list[Telemetry] = []

    async def start(self, setup: RunSetup) -> None:
        self._governor = governor = Governor(setup, log=self._open(setup, "governor").log)
        governor.start()
        telemetry = self._open(setup, "worker-0")
        self._worker = worker = SessionWorker(
            "worker-0",
            setup,
            {setup.kind: load_kind(setup.kind, kept=setup.kept)},
            governor,
            telemetry,
        )
        routes: dict[str, CallPort] = {}
        for provider in setup.clients:
            name = f"client-{provider}"
            client = ProviderClient(name, provider, setup, governor, self._open(setup, name, True))
            client.start()
            remote = RemoteCalls(worker.name, client)
            remote.start()
            self._clients.append(client)
            self._remotes.append(remote)
            routes[provider] = remote
        embedded = embedded_providers(setup)
        host = build_host(embedded, setup, worker.send, telemetry, worker.workspaces)
        worker.start(host=host, routes={**routes, **dict.fromkeys(embedded, host)})
        self._link = Link(DRIVER, governor, self._on_news)
        self._link.start()
        talkers: list[Talker] = [worker, *self._clients, *self._remotes, self._link]
        for talker in talkers:
            self._watching.begin(talker.failed())
        self._publisher = await asyncio.to_thread(open_publisher, Path(setup.run_dir))
        self._publishing = asyncio.create_task(self._publish())

    def open(self, plans: Sequence[SessionPlan]) -> None:
        assert self._worker is not None
        self._worker.open(plans)

    async def news(self) -> list[News]:
        await self._something.wait()
        self._something.clear()
        news, self._news = self._news, []
        return news

    async def picture(self) -> Picture:
        assert self._governor is not None
        return self._governor.picture()

    async def record(self, look: Looked) -> None:
        assert self._governor is not None
        await self._governor.record(look)

    async def drain(self) -> None:
        if self._governor is not None:
            self._governor.drain()

    async def finish(self, plan: Plan, reason: str) -> None:
        assert self._publisher is not None
        await self._stop_publishing()
        planned = (session for planned in plan.all_rounds() for session in planned.sessions)
        await asyncio.to_thread(self._publisher.finalize, planned, reason)

    async def stop(self, *, at_once: bool = False) -> None:
        await self._watching.stop()
        await self._stop_publishing()
        if self._worker is not None:
            await self._worker.stop()
        for remote in self._remotes:
            await remote.stop()
        for client in self._clients:
            await client.stop()
        if self._link is not None:
            await self._link.stop()
        if self._governor is not None:
            await self._governor.stop()
        if self._publisher is not None:
            self._publisher.close()
        for telemetry in self._telemetry:
            await telemetry.close()

    def _open(self, setup: RunSetup, name: str, sends: bool = False) -> Telemetry:
        telemetry = telemetry_of(setup, name, sends=sends)
        self._telemetry.append(telemetry)
        return telemetry

    async def _publish(self) -> None:
        assert self._publisher is not None
        step = partial(self._publisher.step, flush=True)
        try:
            await publishing(self._closing, lambda: asyncio.to_thread(step))
        except Exception as error:
            self._on_failure(error)

    async def _stop_publishing(self) -> None:
        self._closing.set()
        task, self._publishing = self._publishing, None
        if task is not None:
            await task  # never cancelled: its thread may be in the middle of a part

    def _on_failure(self, error: Exception) -> None:
        self._on_news(RunFailed.of(error))

    def _on_news(self, message: News) -> None:
        self._news.append(message)
        self._something.set()
