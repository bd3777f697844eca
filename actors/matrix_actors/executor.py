"""The Ray executor: the processes of a run as actors, on a laptop or a cluster."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from matrix.engine.executor import News
from matrix.engine.governor_core import DRIVER
from matrix.engine.link import Link
from matrix.engine.messages import (
    AskEnded,
    Picture,
    ProcessReplaced,
    RunFailed,
    SessionEnded,
    SessionSuspended,
)
from matrix.engine.setup import RunSetup
from matrix.model.entries import Looked
from matrix.model.plan import Plan
from matrix.model.records import Outcome, SessionPlan
from matrix_actors.cluster import (
    check_ray,
    is_local,
    leave_ray,
    prepare_environment,
    start_ray,
)
from matrix_actors.crew import Crew, Member, ProcessGone, make_sure
from matrix_actors.governed import PAUSE_S, Governed
from matrix_actors.lifelines import RayDied, RayWatch
from matrix_actors.metrics import RunMetrics
from matrix_actors.seating import Seating
from matrix_actors.transport import RayTransport

STOP_TIMEOUT_S = 10.0
"""How long an orderly stop of one actor may take before it is killed."""

HANG_S = 60.0
"""A governor that says nothing for so long is taken for dead, and made so."""


class RayExecutor:
    """Governor, workers, provider clients and publisher as Ray actors."""

    def __init__(
        self,
        *,
        address: str | None = None,
        workers: int | None = None,
        hang_s: float = HANG_S,
    ) -> None:
        """Choose where to run.

        Args:
            address: A Ray address to join; ``MATRIX_RAY_ADDRESS`` if left out, else a local Ray.
            workers: Session workers; one per core if left out.
            hang_s: A governor that says nothing for so long is taken for dead.
        """
        self._hang_s = hang_s
        self._address = address or os.environ.get("MATRIX_RAY_ADDRESS")
        self._count = workers or max(1, min(32, os.cpu_count() or 1))
        self._news: list[News] = []
        self._something = asyncio.Event()
        self._crew: Crew | None = None
        self._seating = Seating(self._count)
        self._suspects: Member | None = None
        self._link: Link | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._dead: asyncio.Queue[tuple[Member, str]] = asyncio.Queue()
        self._opening: asyncio.Queue[tuple[int, list[SessionPlan]]] = asyncio.Queue()
        self._governed: Governed | None = None
        self._failed: RunFailed | None = None
        self._ray = RayWatch()
        self._coming_up: asyncio.Future[None] | None = None
        self._stopping = self._draining = False
        self._metrics: RunMetrics | None = None
        self._outcomes: Counter[Outcome] = Counter()

    @property
    def pids(self) -> dict[str, int]:
        """Place -> process id, of everybody who is up."""
        found = self.crew.members if self._crew is not None else []
        return {one.place: one.process.pid for one in found if one.process is not None}

    @property
    def crew(self) -> Crew:
        """The processes; only while the run is up."""
        assert self._crew is not None
        return self._crew

    @property
    def governed(self) -> Governed:
        """The governor, to be asked; only while the run is up."""
        assert self._governed is not None
        return self._governed

    def check(self) -> str:
        prepare_environment()
        return check_ray(self._address)

    async def start(self, setup: RunSetup) -> None:
        prepare_environment()
        self._coming_up = asyncio.ensure_future(asyncio.to_thread(start_ray, self._address))
        await asyncio.shield(self._coming_up)
        self._begin(self._ray.watch(Path(setup.run_dir), ours=is_local(self._address)))
        import ray

        self._crew = crew = Crew(setup, self._count, one_node=is_local(self._address))
        self._governed = Governed(
            crew.governor,
            self._hang_s,
            give_up=self._give_up_if_failed,
            on_death=lambda dead: self._dead.put_nowait((dead, dead.name)),
        )
        try:
            await self._ray.needed_by(crew.start())
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayActorError as error:
            await self._ray.rule_out()
            text = "a process died while the run was being set up; `matrix resume` tries again"
            raise ProcessGone(text) from error
        self.governed.begin()
        self._metrics = RunMetrics(setup.run_id)
        self._link = Link(DRIVER, RayTransport(crew.governor.actor), self._on_news)
        self._link.start()
        self._begin(self._hand_out())
        self._begin(self._replace_the_dead())
        for member in crew.members:
            self._begin(self._watch(member))

    def open(self, plans: Sequence[SessionPlan]) -> None:
        for batch in self._seating.seat(plans).items():
            self._opening.put_nowait(batch)

    async def news(self) -> list[News]:
        await self._something.wait()
        self._something.clear()
        news, self._news = self._news, []
        return news

    async def picture(self) -> Picture:
        picture: Picture = await self._ask(lambda actor: actor.picture.remote())
        if self._metrics is not None:
            self._metrics.update(picture, self._outcomes)
        return picture

    async def record(self, look: Looked) -> None:
        await self._ask(lambda actor: actor.record.remote(look))

    async def drain(self) -> None:
        self._draining = True
        if self._crew is not None:
            await self._ask(lambda actor: actor.drain.remote())

    async def finish(self, plan: Plan, reason: str) -> None:
        await self._ray.needed_by(self._finish(plan, reason))

    async def _finish(self, plan: Plan, reason: str) -> None:
        from ray.exceptions import RayActorError, RayTaskError

        while True:
            publisher = self.crew.publisher
            name = publisher.name
            try:
                await publisher.actor.finish.remote(plan, reason)
            except RayTaskError as error:
                raise error.cause from None
            except RayActorError:
                while publisher.name == name or publisher.process is None:
                    self._give_up_if_failed()
                    await asyncio.sleep(PAUSE_S)
            else:
                return

    async def stop(self, *, at_once: bool = False) -> None:
        self._stopping = True
        if self._coming_up is not None:  # it cannot be called off, and must not outlive the run
            await asyncio.wait([self._coming_up])
        under_way = list(self._tasks)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._link is not None:
            await self._link.stop()
        crew = self._crew
        if crew is not None and self.pids and not at_once and not self._ray.is_dead:
            for group in ([*crew.workers, *self._extra], crew.all_clients, [crew.governor]):
                await asyncio.gather(*(_stop(member.actor) for member in group))
        if crew is not None:  # one that is stopped would keep its lock, and nobody could resume
            for member in [*crew.members, *self._extra]:
                if member.process is not None:
                    make_sure(member)
        with suppress(ImportError):
            await asyncio.to_thread(leave_ray)

    async def _ask(self, ask: Callable[[Any], Any]) -> Any:
        return await self._ray.needed_by(self.governed.ask(ask))

    # --- sessions ---------------------------------------------------------------------------------

    @property
    def _extra(self) -> list[Member]:
        return [] if self._suspects is None else [self._suspects]

    async def _hand_out(self) -> None:
        while True:
            seat, plans = await self._opening.get()
            await self._give(self.crew.workers[seat], plans)

    async def _give(self, worker: Member, plans: Sequence[SessionPlan]) -> None:
        """Give sessions to a worker; one that has died gives them to its heir later."""
        from ray.exceptions import RayActorError

        if plans:
            with suppress(RayActorError):
                await worker.actor.open.remote(plans)

    def _on_news(self, message: News) -> None:
        if isinstance(message, SessionEnded) and message.plan.part == "play":
            self._outcomes[message.ended.outcome] += 1
        if isinstance(message, SessionEnded | SessionSuspended):
            was_alone = self._seating.leave(message.plan.session_id)
            if was_alone:
                self._begin(self._play_next_suspect())
        if isinstance(message, RunFailed):
            self._failed = message
        self._news.append(message)
        self._something.set()

    # --- deaths -----------------------------------------------------------------------------------

    async def _watch(self, member: Member) -> None:
        """Wait for a process to die."""
        name = member.name
        try:
            await member.actor.serve.remote()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            from ray.exceptions import RayTaskError

            if self._stopping:
                return
            if isinstance(error, RayTaskError):  # it lives, and says that it cannot go on
                cause = error.cause
                self._on_news(RunFailed(type(cause).__name__, str(cause)))
            else:
                self._dead.put_nowait((member, name))

    async def _replace_the_dead(self) -> None:
        """One at a time, the governor first: nobody else can be replaced without one."""
        while True:
            member, name = await self._dead.get()
            if member.name != name:
                continue
            if member.kind == "governor":
                self.governed.end()
            try:
                await self._ray.needed_by(self._replace(member))
                self._on_news(ProcessReplaced(name))
            except RayDied:
                return  # whoever waits for something is told
            except ProcessGone as gone:
                text = f"{gone}; `matrix resume` goes on with the run"
                self._on_news(RunFailed("ProcessGone", text))
                return
            except asyncio.CancelledError:
                raise
            except Exception as error:
                from ray.exceptions import RayActorError

                if not isinstance(error, RayActorError):
                    self._on_news(RunFailed(type(error).__name__, str(error)))
                    return
                self._dead.put_nowait((member, member.name))  # others are down as well
                await asyncio.sleep(PAUSE_S)

    async def _replace(self, member: Member) -> None:
        lost = await self.crew.replace(member, self._extra)
        self._begin(self._watch(member))
        if member.kind == "governor":
            await self._govern()
        elif member.kind == "worker":
            reached = {one.plan.session_id: one.done for one in lost}
            fates = self._seating.bereave(member.index, reached)
            for plan in fates.condemned:
                await self.crew.governor.actor.condemn.remote(
                    plan, "its worker died again and again at the same turn, with nobody else in it"
                )
            await self._give(member, fates.again)
            await self._play_next_suspect()

    async def _govern(self) -> None:
        """A new governor is up: go on talking to it."""
        actor = self.crew.governor.actor
        if self._draining:
            await actor.drain.remote()
        assert self._link is not None
        await self._link.reconnect(RayTransport(actor), first=self._still_waited_for)
        self.governed.begin()

    def _still_waited_for(self) -> list[AskEnded]:
        return [AskEnded(tuple(self._seating.seated))]

    async def _play_next_suspect(self) -> None:
        """Sessions that may kill their worker are played one at a time, in one of their own."""
        if not self._seating.has_suspect:
            return
        if self._suspects is None:
            self._suspects = self.crew.hire("worker-suspects")
            self._seating.quarantine = self._suspects.index
            await self.crew.begin(self._suspects)
            self._begin(self._watch(self._suspects))
        plan = self._seating.next_suspect()
        await self._give(self._suspects, [] if plan is None else [plan])

    def _give_up_if_failed(self) -> None:
        if self._failed is not None:
            raise ProcessGone(self._failed.message)

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)


async def _stop(actor: Any) -> None:
    with suppress(Exception):  # it may be dead already; it is killed with Ray afterwards
        await asyncio.wait_for(actor.stop.remote(), STOP_TIMEOUT_S)
