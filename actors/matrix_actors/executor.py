"""The Ray executor: the processes of a run as actors, on a laptop or a cluster."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from matrix.engine.executor import News
from matrix.engine.governor_core import DRIVER
from matrix.engine.link import Link
from matrix.engine.messages import Picture, RunFailed, SessionEnded, SessionSuspended
from matrix.engine.setup import RunSetup
from matrix.model.errors import MatrixError
from matrix.model.plan import Plan
from matrix.model.records import Outcome, SessionPlan
from matrix_actors.cluster import check_ray, leave_ray, prepare_environment, start_ray
from matrix_actors.metrics import RunMetrics
from matrix_actors.transport import RayTransport

STOP_TIMEOUT_S = 10.0
"""How long an orderly stop of one actor may take before it is killed."""


class ProcessGone(MatrixError):
    """A process of the run has died; what was acknowledged is in the journal."""


class RayExecutor:
    """Governor, workers, provider clients and publisher as Ray actors."""

    def __init__(self, *, address: str | None = None, workers: int | None = None) -> None:
        """Choose where to run.

        Args:
            address: A Ray address to join; ``MATRIX_RAY_ADDRESS`` if left out, else a local Ray.
            workers: Session workers; one per core if left out.
        """
        self._address = address or os.environ.get("MATRIX_RAY_ADDRESS")
        self._count = workers or max(1, min(32, os.cpu_count() or 1))
        self._news: list[News] = []
        self._something = asyncio.Event()
        self._governor: Any = None
        self._publisher: Any = None
        self._workers: list[Any] = []
        self._clients: dict[str, list[Any]] = {}
        self._link: Link | None = None
        self._watchers: list[asyncio.Task[None]] = []
        self._load: dict[int, int] = {}
        self._where: dict[str, int] = {}
        self._opening: asyncio.Queue[tuple[int, list[SessionPlan]]] = asyncio.Queue()
        self._stopping = False
        self._metrics: RunMetrics | None = None
        self._outcomes: Counter[Outcome] = Counter()
        self.pids: dict[str, int] = {}

    def check(self) -> str:
        prepare_environment()
        return check_ray(self._address)

    async def start(self, setup: RunSetup) -> None:
        prepare_environment()
        await asyncio.to_thread(start_ray, self._address)
        import ray

        from matrix_actors import actors as _actors

        actors: Any = _actors  # ray.remote turns the classes into what mypy cannot know

        self._governor = actors.GovernorActor.remote(setup)
        self._publisher = actors.PublisherActor.remote(setup.run_dir)
        for provider, count in setup.clients.items():
            self._clients[provider] = [
                actors.ProviderClientActor.remote(
                    f"client-{provider}-{index}", provider, setup, self._governor
                )
                for index in range(count)
            ]
        self._workers = [
            actors.SessionWorkerActor.remote(f"worker-{i}", setup, self._governor, self._clients)
            for i in range(self._count)
        ]
        self._load = dict.fromkeys(range(self._count), 0)
        try:
            # the governor first: it may refuse (locked, unwritable), and nobody else can begin
            self.pids["governor"] = await self._governor.start.remote()
            await self._start_others()
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        self._metrics = RunMetrics(setup.run_id)
        self._link = Link(DRIVER, RayTransport(self._governor), self._on_news)
        self._link.start()
        self._watchers.append(asyncio.create_task(self._hand_out()))
        for name, actor in self._named():
            self._watchers.append(asyncio.create_task(self._watch(name, actor)))

    async def _start_others(self) -> None:
        others = [(name, actor) for name, actor in self._named() if name != "governor"]
        clients = [(n, a) for n, a in others if n.startswith("client")]
        rest = [(n, a) for n, a in others if not n.startswith("client")]
        for group in (clients, rest):
            pids = await asyncio.gather(*(actor.start.remote() for _, actor in group))
            self.pids.update(zip((name for name, _ in group), pids, strict=True))

    def open(self, plans: Sequence[SessionPlan]) -> None:
        batches: dict[int, list[SessionPlan]] = {}
        for plan in plans:
            index = min(self._load, key=lambda i: (self._load[i], i))
            self._load[index] += 1
            self._where[plan.session_id] = index
            batches.setdefault(index, []).append(plan)
        for batch in batches.items():
            self._opening.put_nowait(batch)

    async def news(self) -> list[News]:
        await self._something.wait()
        self._something.clear()
        news, self._news = self._news, []
        return news

    async def picture(self) -> Picture:
        picture: Picture = await self._call("governor", self._governor.picture)
        if self._metrics is not None:
            self._metrics.update(picture, self._outcomes)
        return picture

    async def drain(self) -> None:
        if self._governor is not None:
            await self._call("governor", self._governor.drain)

    async def finish(self, plan: Plan, reason: str) -> None:
        await self._call("publisher", self._publisher.finish, plan, reason)

    async def stop(self, *, at_once: bool = False) -> None:
        self._stopping = True
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)
        if self._link is not None:
            await self._link.stop()
        if self.pids and not at_once:
            for group in (self._workers, list(itertools.chain(*self._clients.values()))):
                await asyncio.gather(*(_stop(actor) for actor in group))
            await _stop(self._governor)
        with suppress(ImportError):
            await asyncio.to_thread(leave_ray)

    async def _hand_out(self) -> None:
        while True:
            index, plans = await self._opening.get()
            await self._workers[index].open.remote(plans)

    async def _watch(self, name: str, actor: Any) -> None:
        try:
            await actor.serve.remote()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if not self._stopping:
                self._on_news(RunFailed(type(error).__name__, self._gone(name, error)))

    async def _call(self, name: str, method: Any, *arguments: Any) -> Any:
        """Call an actor; Ray's errors become this project's own."""
        from ray.exceptions import RayActorError, RayTaskError

        try:
            return await method.remote(*arguments)
        except RayTaskError as error:
            raise error.cause from None
        except RayActorError as error:
            raise ProcessGone(self._gone(name, error)) from None

    def _gone(self, name: str, error: Exception) -> str:
        process = f"{name} (process {self.pids.get(name)})"
        return f"{process} is gone: {_first_line(error)}; `matrix resume` goes on with the run"

    def _named(self) -> list[tuple[str, Any]]:
        clients = [
            (f"client-{provider}-{index}", actor)
            for provider, actors in self._clients.items()
            for index, actor in enumerate(actors)
        ]
        workers = [(f"worker-{index}", actor) for index, actor in enumerate(self._workers)]
        return [("governor", self._governor), *clients, *workers, ("publisher", self._publisher)]

    def _on_news(self, message: News) -> None:
        if isinstance(message, SessionEnded) and message.plan.part == "play":
            self._outcomes[message.ended.outcome] += 1
        if isinstance(message, SessionEnded | SessionSuspended):
            index = self._where.pop(message.plan.session_id, None)
            if index is not None:
                self._load[index] -= 1
        self._news.append(message)
        self._something.set()


async def _stop(actor: Any) -> None:
    with suppress(Exception):  # it may be dead already; it is killed with Ray afterwards
        await asyncio.wait_for(actor.stop.remote(), STOP_TIMEOUT_S)


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].partition(" Some common")[0][:300] if lines else type(error).__name__
