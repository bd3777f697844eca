"""The processes of one run on Ray: started, and replaced when one of them dies.

Ray says that an actor has died; whoever dies is first made sure to be dead, because only then may
another take its place (and only then counts as spent what it had in flight). A process that dies
too often in a short time is not replaced any more: then something is wrong that a new one would
not cure, and the run ends, resumable.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from matrix.engine.governor.core import LostSession
from matrix.engine.prepare.registry import load_kind
from matrix.engine.wire.setup import RunSetup
from matrix.kinds.protocol import UsesFolder
from matrix.model.errors import MatrixError, RunLocked
from matrix_actors.process_address import ProcessAddress, here
from matrix_actors.waiting import aside

MOST_DEATHS, WITHIN_S = 10, 60.0
"""So many deaths of one process in so many seconds, and it is not replaced any more."""

LOCK_PATIENCE_S = 30.0
"""How long a new governor waits for the dead one to let go of the journal."""


UNREACHABLE, NODE_GONE = "it cannot be reached any more", "its node is gone"
"""Causes of death that concern a whole node."""

ANYWHERE = {"scheduling_strategy": "SPREAD"}
"""Workers and provider clients go to whichever machines there are."""


class ProcessGone(MatrixError):
    """A process of the run has died too often; what was acknowledged is in the journal."""

    exit_code = 4


def _actor(name: str) -> Any:
    """An actor class of ``processes``, which ray.remote turns into what mypy cannot know."""
    module, _, own = name.partition(".")
    return getattr(import_module(f"matrix_actors.processes.{module}"), own)


@dataclass(slots=True)
class Member:
    """One supervised place, and whoever has it now.

    Attributes:
        process: Where it is; ``None`` until it is up.
        cause: What is known of the death of the last one here.
        knows: Place -> name of those it was told of when it was made.
    """

    place: str
    kind: str
    index: int
    actor: Any = None
    name: str = ""
    process: ProcessAddress | None = None
    cause: str = ""
    knows: dict[str, str] = field(default_factory=dict)
    incarnations: int = 0
    deaths: deque[float] = field(default_factory=deque)

    @property
    def next_name(self) -> str:
        """A name of its own for every life, so that nobody takes one for another."""
        return f"{self.place}.{self.incarnations + 1}" if self.incarnations else self.place

    def live(self, name: str, actor: Any, knows: dict[str, str]) -> None:
        """The place is that of a new actor, which knows these others."""
        self.name, self.actor, self.knows, self.incarnations = (
            name,
            actor,
            knows,
            self.incarnations + 1,
        )

    def died_too_often(self, now: float) -> bool:
        """Count a death; whether there were too many of late."""
        self.deaths.append(now)
        while now - self.deaths[0] > WITHIN_S:
            self.deaths.popleft()
        return len(self.deaths) > MOST_DEATHS


class Supervisor:
    """Governor, provider clients, session workers, publisher and blob server, by place."""

    def __init__(
        self,
        setup: RunSetup,
        variables: str,
        *,
        one_node: bool = False,
        worker_options: Callable[[int], Mapping[str, Any]] = lambda _: ANYWHERE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Workers are hired one by one.

        Args:
            setup: What every process is told.
            variables: Where the driver is asked for variables of its environment.
            one_node: There is no other node than the journal's, and there will be none.
            worker_options: Number of a worker -> Ray's options for where it may be.
            clock: Seconds.
        """
        self._setup, self._clock, self._worker_options = setup, clock, worker_options
        self._variables = variables
        files_travel = not one_node and isinstance(
            load_kind(setup.kind, kept=setup.kept), UsesFolder
        )
        self.governor = Member("governor", "governor", 0)
        self.blobs = Member("blobs", "blobs", 0) if files_travel else None
        self.publisher = Member("publisher", "publisher", 0)
        self.clients = {
            provider: [
                Member(f"client-{provider}-{index}", provider, index) for index in range(count)
            ]
            for provider, count in setup.clients.items()
        }
        self.workers: dict[int, Member] = {}
        self.suspects: Member | None = None

    @property
    def all_clients(self) -> list[Member]:
        """Clients of every provider."""
        return [member for members in self.clients.values() for member in members]

    @property
    def all_workers(self) -> list[Member]:
        """Session workers, and the one that plays suspects, once there is one."""
        alone = [] if self.suspects is None else [self.suspects]
        return [*self.workers.values(), *alone]

    @property
    def members(self) -> list[Member]:
        """Everybody."""
        alone = [self.publisher] if self.blobs is None else [self.blobs, self.publisher]
        return [self.governor, *self.all_clients, *alone, *self.all_workers]

    # --- births -----------------------------------------------------------------------------------

    async def create(self) -> None:
        """Make everybody but session workers; Ray brings their processes up side by side."""
        for member in self.members:
            await self._create(member)

    async def start(self) -> None:
        """Bring them up: the governor first, because it may refuse, then who talks to it."""
        await self.begin(self.governor)
        others = [one for one in self.members[1:] if one.kind != "worker"]
        await asyncio.gather(*map(self.begin, others))

    async def hire(self, member: Member) -> None:
        """Make one more session worker; start it with :meth:`begin`."""
        await self._create(member)

    async def dismiss(self, member: Member) -> None:
        """A session worker goes for good, up or not."""
        await make_sure(member)

    async def begin(self, member: Member) -> None:
        """Start a member whose actor was made; it may have waited long for its place."""
        name, process = member.name, await member.actor.start.remote()
        if member.name != name:
            return
        member.process = process
        await self._introduce(member)

    async def _introduce(self, member: Member) -> None:
        """Tell a member of whoever has taken a place, and works, since it was made or told last.

        What it has been told of is noted before it is told, without a pause in between, so that
        two deaths at once make it know both successors.
        """
        now = {one.place: one.name for one in self.members if one.process is not None}
        changed = [place for place, name in member.knows.items() if now.get(place, name) != name]
        member.knows |= {place: now[place] for place in changed}
        if self.governor.place in changed:
            await member.actor.reconnect.remote(self.governor.actor)
        if self.blobs is not None and self.blobs.place in changed:
            await member.actor.reconnect_blobs.remote(self.blobs.actor)
        for provider, clients in self.clients.items():
            mine = clients[member.index % len(clients)]
            if mine.place in changed:
                await member.actor.reconnect_client.remote(provider, mine.actor)

    def _known_to(self, member: Member) -> dict[str, str]:
        """Whom a member talks to, as they are now."""
        if member.kind == "worker":
            return {one.place: one.name for one in self.members if one.kind != "worker"}
        talks = member.kind in self.clients
        return {self.governor.place: self.governor.name} if talks else {}

    async def _create(self, member: Member) -> None:
        """Have Ray make an actor, beside the event loop: it may wait for its head meanwhile."""
        name, knows = member.next_name, self._known_to(member)
        member.live(name, await aside(self._making(member, name)), knows)

    def _making(self, member: Member, name: str) -> Callable[[], Any]:
        """What makes the actor of a member, and is told now of everybody whom it is to know."""
        setup, governor = self._setup, self.governor.actor
        match member.kind:
            case "governor":
                peers = (*self.all_clients, *self.all_workers)
                alive = [one.name for one in peers if one.process]
                options = self._here()
                return partial(
                    _actor("governor.GovernorActor").options(**options).remote, setup, alive
                )
            case "publisher":
                made = _actor("publisher.PublisherActor").options(**self._here())
                return partial(made.remote, setup.run_dir)
            case "worker":
                clients = {p: [one.actor for one in m] for p, m in self.clients.items()}
                blobs = None if self.blobs is None else self.blobs.actor
                made = _actor("worker.SessionWorkerActor").options(
                    **self._worker_options(member.index)
                )
                told = (name, member.index, setup, governor, clients, self._home, blobs)
                return partial(made.remote, *told, self._variables)
            case "blobs":
                made = _actor("blobs.BlobServerActor").options(**self._here())
                return partial(made.remote, setup.run_dir)
            case provider:
                where = ANYWHERE if setup.spread else self._here()
                made = _actor("client.ProviderClientActor").options(**where)
                return partial(made.remote, name, provider, setup, governor, self._variables)

    def _here(self) -> dict[str, Any]:
        """On the driver's machine, where the journal is."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(self._home, soft=False)}

    @property
    def _home(self) -> str:
        import ray

        node: str = ray.get_runtime_context().get_node_id()
        return node

    # --- deaths -----------------------------------------------------------------------------------

    async def replace(self, member: Member) -> list[LostSession]:
        """Put a new process in the place of one that died; a session worker is yet to begin.

        Returns:
            The sessions that it played, if it was a session worker.

        Raises:
            ProcessGone: It died too often.
        """
        dead = member.name
        await make_sure(member)
        alone = member.kind in ("governor", "publisher", "blobs")
        lost = [] if alone else await self.lose(dead)
        # a suspect that took its worker along is given up at its second death: that comes to an end
        judged = member is self.suspects and bool(lost)
        if not judged and member.died_too_often(self._clock()):
            why = f" ({member.cause})" if member.cause else ""
            often = f"{member.place} has died {len(member.deaths)} times in a minute{why}"
            raise ProcessGone(often)
        if member.kind == "governor":
            await self._new_governor()
            await self._introduce_all()
            return []
        await self._create(member)
        if member.kind == "worker":
            return lost
        await self.begin(member)
        await self._introduce_all()
        return lost

    async def _introduce_all(self) -> None:
        """Everybody who works is told; who does not work yet will be told when it does."""
        # workers first: what clients ask for belongs to sessions that workers must rejoin
        for group in (self.all_workers, self.all_clients):
            await _all(self._introduce(one) for one in group if one.process is not None)

    async def lose(self, name: str) -> list[LostSession]:
        """Tell the governor of a death."""
        lost: list[LostSession] = await self.governor.actor.lose.remote(name)
        return lost

    async def _new_governor(self) -> None:
        deadline = self._clock() + LOCK_PATIENCE_S
        while True:
            await self._create(self.governor)
            try:
                await self.begin(self.governor)
                break
            except Exception as error:
                cause = getattr(error, "cause", error)
                if not isinstance(cause, RunLocked) or self._clock() > deadline:
                    raise cause from None
                await asyncio.sleep(0.2)


async def make_sure(member: Member) -> None:
    """Whatever Ray believes, nobody of this name acts any more.

    A process of another machine is left to Ray, which has said that it is dead.
    """
    end_process(member)
    await aside(partial(end_actors, [member.actor]))


def end_process(member: Member) -> None:
    """End a member's process, if it is on this machine, without asking Ray."""
    process, member.process = member.process, None
    if process is not None and process.world == here().world:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)


def end_actors(actors: Sequence[Any]) -> None:
    """Have Ray end actors; without a head it waits in C++, so never on the event loop."""
    import ray

    for actor in actors:
        with suppress(Exception):
            ray.kill(actor)


def placed(members: Sequence[Member]) -> int:
    """How many of these Ray has given a process, and with it a CPU; may wait for Ray's head.

    An actor that still waits for one has a node already, where Ray began to look, and no process.
    """
    from ray._private.state import actors

    known = actors()
    ids = [one.actor._actor_id.hex() for one in members if one.actor is not None]
    found = (known[one] for one in ids if one in known)
    return sum(one["State"] != "DEAD" and one["Pid"] > 0 for one in found)


def cause_of(error: Exception) -> str:
    """Why a process died, as far as Ray knows, in a line."""
    said = " ".join(str(error).split())
    if "unavailable" in said:
        return UNREACHABLE
    found = re.search(r"(?:because|Reason|reason|Cause|cause)(?: of)?:? (.+)", said)
    text = found.group(1) if found else said
    killed = ("worker process has died", "unexpected system-level", "SIGKILL")
    if "Connection reset" in text or any(one in said for one in killed):  # whatever Ray advises
        text = "it was killed, or crashed"
    elif "node" in text.lower() and ("died" in text or "dead" in text or "lost" in text):
        text = NODE_GONE
    return text[:300]


def is_of_node(cause: str) -> bool:
    """Whether a process died of what has become of its node, or seems to have."""
    return cause in (UNREACHABLE, NODE_GONE)


async def _all(replies: Iterable[Awaitable[None]]) -> None:
    """Wait for all; one that has died meanwhile will be replaced in its turn."""
    from ray.exceptions import RayActorError

    for result in await asyncio.gather(*replies, return_exceptions=True):
        if isinstance(result, BaseException) and not isinstance(result, RayActorError):
            raise result
