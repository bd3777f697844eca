"""Session workers coming and going: as many as there are CPUs for, wherever there are nodes.

On a laptop that is settled at the start. On a cluster, Ray is asked for a CPU for each worker, so
that an autoscaler sees what is wanted; nodes that come get workers, nodes that are drained lose
theirs at the next turn of each of their sessions, and nodes that do not fit the run get none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from matrix.engine.executors.executor import News
from matrix.engine.wire.background import Background
from matrix.engine.wire.messages import NodeNews
from matrix.model.records import SessionPlan
from matrix_actors.cluster.joining import RayUnavailable
from matrix_actors.cluster.nodes import Nodes
from matrix_actors.cluster.placing import (
    Waiting,
    avoided,
    cpus_here,
    room,
    waiting_text,
    wanted_workers,
)
from matrix_actors.seating import Seating
from matrix_actors.supervisor import ANYWHERE, Member, Supervisor, placed
from matrix_actors.waiting import aside, patiently

LOOK_S: Final = 3.0
"""Pause between looks at which nodes there are."""

GRACE_S: Final = 5.0
"""How long, once one worker is up, a run waits for others before it begins."""

WAIT_S: Final = 900.0
"""Longest wait for a CPU to be free for a first worker: nodes of a cloud take minutes to come."""

TELL_S: Final = 15.0
"""Pause between lines that say what is waited for."""

LOOK_AGAIN_S: Final = 0.1
"""Pause between looks at whether a first worker is up."""

ASK_S: Final = 5.0
"""Longest wait for Ray to say who has which CPU."""

NODE_LABEL: Final = "ray.io/node-id"
"""Label that Ray gives every node."""

Batches = Mapping[int, Sequence[SessionPlan]]


class Staffing:
    """The session workers of a run."""

    def __init__(
        self,
        seating: Seating,
        *,
        asked: int | None,
        nodes: Nodes | None,
        tell: Callable[[News], None],
        give: Callable[[Batches], None],
        up: Callable[[Member], object],
        down: Callable[[Member, Exception], None],
        failed: Callable[[Exception], None],
        wait_s: float = WAIT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what is needed; :meth:`attach` says whose workers these are.

        Args:
            seating: Who plays what.
            asked: Workers that the user wants; as many as there are CPUs for, if left out.
            nodes: The nodes of the cluster; ``None`` for a Ray that comes and goes with the run.
            tell: Takes news.
            give: Takes sessions for workers.
            up: Told of every worker that begins to work.
            down: Told of every worker that died before it could.
            failed: Told of what nobody can mend.
            wait_s: Longest wait for a first worker.
            clock: Seconds.
        """
        self._seating, self._asked, self._nodes = seating, asked, nodes
        self._tell, self._give, self._up, self._down = tell, give, up, down
        self._wait_s, self._clock = wait_s, clock
        self._supervisor: Supervisor | None = None
        self._next = 0
        self._leaving: set[int] = set()
        self._background = Background(failed)
        self._refused: Exception | None = None
        self._looking = asyncio.Lock()

    @property
    def supervisor(self) -> Supervisor:
        """Whose workers these are."""
        assert self._supervisor is not None
        return self._supervisor

    async def attach(self, supervisor: Supervisor) -> None:
        """Hire the first workers; they come up while the others do."""
        self._supervisor = supervisor
        places = [] if self._nodes is None else self._nodes.places
        count = self._asked or cpus_here() if self._nodes is None else None
        for _ in range(wanted_workers(places, self._asked) if count is None else min(count, 1000)):
            await self._hire()

    def options(self, number: int) -> dict[str, Any]:
        """Where a worker may be, for Ray."""
        if self._nodes is None:
            return ANYWHERE
        if number < 0:  # one for suspects, which must not wait for its turn
            return ANYWHERE
        rank = sorted({*self.supervisor.workers, number} - self._leaving).index(number)
        not_there = avoided(rank, self._nodes.places, self._nodes.unusable)
        labels = {NODE_LABEL: f"!in({','.join(not_there)})"} if not_there else None
        return {**ANYWHERE, "num_cpus": 1, "label_selector": labels}

    async def begin(self, given_up: Callable[[], bool]) -> None:
        """Until sessions can be played: by all workers here, by a first one on a cluster.

        Args:
            given_up: Whether nobody wants it any more.

        Raises:
            RayUnavailable: There was no CPU for a worker.
        """
        workers = list(self.supervisor.workers.values())
        if self._nodes is None:
            await asyncio.gather(*map(self.supervisor.begin, workers))
            for member in workers:
                self._has_come(member)
            return
        coming = [self._background.begin(self._bring_up(member)) for member in workers]
        await self._first_of(given_up)
        await asyncio.wait(coming, timeout=GRACE_S)

    async def _first_of(self, given_up: Callable[[], bool]) -> None:
        began = self._clock()
        told = began - TELL_S + GRACE_S
        while not given_up():
            if self._refused is not None:
                raise self._refused
            if any(member.process is not None for member in self.supervisor.workers.values()):
                return
            await asyncio.sleep(LOOK_AGAIN_S)
            now = self._clock()
            if now - began > self._wait_s:
                raise RayUnavailable(
                    f"no worker came up in {self._wait_s / 60:g} min: {await self._said()}"
                )
            if now - told > TELL_S:
                told = now
                self._tell(NodeNews("workers.waiting", await self._said()))

    async def _said(self) -> str:
        assert self._nodes is not None
        waiting, workers = await self._waiting(), len(self.supervisor.workers)
        return waiting_text(waiting, workers, room(self._nodes.places))

    async def _waiting(self) -> Waiting | None:
        """What workers that are not up yet wait for; ``None`` if Ray does not say."""
        assert self._nodes is not None
        workers = list(self.supervisor.workers.values())
        coming = [member for member in workers if member.process is None]
        try:
            given = await patiently(aside(partial(placed, coming)), ASK_S)
            free, used = await patiently(self._nodes.cpus(), ASK_S)
        except Exception:  # Ray's own words for it, which another version may not have
            return None
        own = len(workers) - len(coming) + given
        return Waiting(len(coming), given, free, used, own)

    # --- one worker -------------------------------------------------------------------------------

    async def _hire(self) -> Member:
        number, self._next = self._next, self._next + 1
        member = Member(f"worker-{number}", "worker", number)
        await self.supervisor.hire(member)
        self.supervisor.workers[number] = member
        return member

    def replace(self, member: Member, died: str, come: Callable[[], None]) -> None:
        """The place of a worker that died was given to another one, which has yet to come up.

        Args:
            member: Whose place it is.
            died: What to say of the death if that takes a while; empty to say nothing.
            come: Called once the other one works.
        """
        self._background.begin(self._replace(member, died, come))

    async def _replace(self, member: Member, died: str, come: Callable[[], None]) -> None:
        name, coming = member.name, self._background.begin(self._bring_up(member))
        await asyncio.wait([coming], timeout=GRACE_S)
        if died and (member.name != name or member.process is None):
            self._tell(NodeNews("workers.waiting", f"{died}; {await self._heir_said(member)}"))
        await asyncio.wait([coming])
        if member.name == name and member.process is not None:
            come()

    async def _heir_said(self, member: Member) -> str:
        if self.supervisor.workers.get(member.index) is not member:
            return "no CPU is left for another one, so others play its sessions on"
        waiting = None if self._nodes is None else await self._waiting()
        if self._nodes is None or (waiting is not None and waiting.is_starting):
            return "another one is starting"
        return "waiting for a CPU to replace it; others play its sessions on"

    async def _bring_up(self, member: Member) -> None:
        name = member.name
        try:
            await self.supervisor.begin(member)
        except Exception as error:
            if member.name == name and self.supervisor.workers.get(member.index) is member:
                self._refuse(error)
                self._down(member, error)
            return
        if self.supervisor.workers.get(member.index) is not member:
            await self.supervisor.dismiss(member)  # it was let go while it came up
        elif member.name == name and member.index not in self._leaving:
            self._has_come(member)

    def _refuse(self, error: Exception) -> None:
        """A process that came up, and would not work: others would not, either."""
        from ray.exceptions import RayTaskError

        if isinstance(error, RayTaskError):
            self._refused = error

    def _has_come(self, member: Member) -> None:
        self._up(member)
        self._give(self._seating.open(member.index))
        for seat, sessions in self._seating.surplus(member.index).items():
            for session in sessions:  # each by itself: none waits for another's turn to end
                self._background.begin(self._move(self.supervisor.workers[seat], [session]))

    async def _move(self, worker: Member, sessions: Sequence[str]) -> None:
        """Have sessions played on by others; one that dies meanwhile loses them anyway."""
        from ray.exceptions import RayError

        with suppress(RayError):
            gone = await worker.actor.release.remote(sessions)
            self._give(self._seating.move(gone))
        self._seating.stay(sessions)

    async def _retire(self, member: Member) -> None:
        """Take a worker off a node that is leaving, without a death."""
        self._seating.close(member.index)
        name = member.name
        while self._seating.at(member.index) and member.name == name:
            await self._move(member, self._seating.at(member.index))
            await asyncio.sleep(0.2)
        if member.name == name:
            self._dismiss(member)

    def _dismiss(self, member: Member) -> None:
        """A worker goes for good, and its seat with it: what it may still have is for others."""
        self.supervisor.workers.pop(member.index, None)
        self._leaving.discard(member.index)
        self._seating.close(member.index)
        self._background.begin(self.supervisor.dismiss(member))
        self._give(self._seating.move(self._seating.at(member.index)))

    # --- the nodes --------------------------------------------------------------------------------

    async def keep(self) -> None:
        """See which nodes there are, again and again, and have workers accordingly."""
        from ray.exceptions import RayError

        while self._nodes is not None:
            await asyncio.sleep(LOOK_S)
            with suppress(RayError):  # its head may be away for a moment
                await self.look()
                self._let_go()
                await self._adjust()

    async def look(self) -> None:
        """See which nodes there are now, and tell what is new."""
        if self._nodes is not None:
            async with self._looking:
                for news in await self._nodes.look():
                    self._tell(news)

    def _let_go(self) -> None:
        assert self._nodes is not None
        for member in list(self.supervisor.workers.values()):
            process = member.process
            leaves = process is not None and process.node in self._nodes.leaving
            if leaves and member.index not in self._leaving:
                self._leaving.add(member.index)
                self._background.begin(self._retire(member))

    async def _adjust(self) -> None:
        assert self._nodes is not None
        staying = [m for i, m in self.supervisor.workers.items() if i not in self._leaving]
        requested = wanted_workers(self._nodes.places, self._asked)
        for _ in range(requested - len(staying)):
            self._background.begin(self._bring_up(await self._hire()))
        waiting = [member for member in staying if member.process is None]
        for member in waiting[: max(0, len(staying) - requested)]:
            self._dismiss(member)

    async def stop(self) -> None:
        """Follow nothing any more."""
        await self._background.stop()
