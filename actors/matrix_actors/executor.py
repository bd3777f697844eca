"""The Ray executor: the processes of a run as actors, on a laptop or a cluster."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from matrix.engine.executors.executor import News
from matrix.engine.governor.core import DRIVER
from matrix.engine.prepare.keys import key_needs, keys_among
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.wire.background import Background
from matrix.engine.wire.link import Link
from matrix.engine.wire.messages import (
    AskEnded,
    NodeNews,
    Picture,
    ProcessDied,
    ProcessReplaced,
    RunFailed,
    SessionEnded,
    SessionSuspended,
)
from matrix.engine.wire.setup import ModelEntry, RunSetup
from matrix.model.entries import Looked
from matrix.model.errors import BadInput, Mistake
from matrix.model.plan import Plan
from matrix.model.records import Outcome, SessionPlan
from matrix.model.spec.agents import AgentSpec
from matrix.report.text import plural
from matrix.store.run.run_folder import resume_command
from matrix_actors.cluster.fitness import Needs
from matrix_actors.cluster.joining import RayUnavailable, look_at_cluster, ray_address
from matrix_actors.cluster.nodes import Nodes
from matrix_actors.cluster.ray_environment import prepare_environment
from matrix_actors.cluster.starting import Starting, check_ray, leave_ray
from matrix_actors.governed import PAUSE_S, Governed
from matrix_actors.lifelines import RayDied, RayWatch, lifeline_to_head, lifelines_of_ray
from matrix_actors.metrics import RunMetrics
from matrix_actors.seating import QUARANTINE, Seating
from matrix_actors.staffing import Batches, Staffing
from matrix_actors.supervisor import (
    Member,
    ProcessGone,
    Supervisor,
    cause_of,
    end_actors,
    end_process,
    is_of_node,
)
from matrix_actors.transport import RayTransport
from matrix_actors.variables import VariableServer
from matrix_actors.waiting import aside, patiently

STOP_TIMEOUT_S = 10.0
"""How long an orderly stop of one actor may take before it is killed."""

LEAVE_S = 30.0
"""How long Ray may take to let go of this process, or to end with it."""

HANG_S = 60.0
"""A governor that says nothing for so long is taken for dead, and made so."""


LOOK_AFTER_S = 10.0
"""Pause between looks at whether every worker has the sessions that it was given."""

TOLD_S = 30.0
"""Deaths on one node within so many seconds are told of by their first, as they have one cause."""


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
            address: A Ray to join; that of a variable if left out, else a local one.
            workers: Session workers; as many as there are CPUs for if left out.
            hang_s: A governor that says nothing for so long is taken for dead.
        """
        self._hang_s = hang_s
        self._address, self._origin = ray_address(address, os.environ)
        self._given = address if self._address is not None else None
        self._asked = workers
        self._nodes: Nodes | None = None
        self._news: list[News] = []
        self._something = asyncio.Event()
        self._supervisor: Supervisor | None = None
        self._seating = Seating()
        self._staffing: Staffing | None = None
        self._variables: VariableServer | None = None
        self._link: Link | None = None
        self._background = Background(self._on_failure)
        self._dead: asyncio.Queue[tuple[Member, str]] = asyncio.Queue()
        self._opening: asyncio.Queue[tuple[int, list[SessionPlan]]] = asyncio.Queue()
        self._governed: Governed | None = None
        self._failed: RunFailed | None = None
        self._ray = RayWatch()
        self._starting: Starting | None = None
        self._stopping = self._draining = False
        self._metrics: RunMetrics | None = None
        self._outcomes: Counter[Outcome] = Counter()
        self._told: dict[str, float] = {}
        self._told_dead: dict[str, tuple[ProcessDied, bool]] = {}

    @property
    def pids(self) -> dict[str, int]:
        """Place -> process id, of everybody who is up."""
        found = self.supervisor.members if self._supervisor is not None else []
        return {one.place: one.process.pid for one in found if one.process is not None}

    @property
    def supervisor(self) -> Supervisor:
        """The processes; only while the run is up."""
        assert self._supervisor is not None
        return self._supervisor

    @property
    def governed(self) -> Governed:
        """The governor, to be asked; only while the run is up."""
        assert self._governed is not None
        return self._governed

    def check(self) -> str:
        prepare_environment()
        if self._address is None:
            return check_ray()
        self._look(Needs())
        assert self._nodes is not None
        places = self._nodes.places
        cpus = sum(place.cpus for place in places)
        nodes = plural(len(places), "node")
        found = f"the Ray at {self._address} can be joined: {nodes} that fit, with {cpus:g} CPUs"
        return "; ".join((found, *self._nodes.misfits))

    @property
    def joined(self) -> str:
        return self._address or ""

    @property
    def rejoins(self) -> str:
        return "" if self._given is None else f" --address {self._given}"

    def require(self, prepared: Prepared) -> list[str]:
        """See that the cluster can be joined, and which of its nodes can play this run."""
        if self._address is None:
            return []
        prepare_environment()
        spread = prepared.spec.providers.spread
        kind, agents, env_file = prepared.kind.name, prepared.agents, str(prepared.env_file)
        needs = _needs(kind, agents, env_file, prepared.models if spread else {})
        self._look(needs)
        assert self._nodes is not None
        self._nodes.require_keys()
        return [f"no session is played there: {why}" for why in self._nodes.misfits]

    def _look(self, needs: Needs) -> None:
        """Look at the cluster.

        Raises:
            BadInput: It cannot be joined, or not from this machine.
        """
        assert self._address is not None
        try:
            cluster = look_at_cluster(self._address, needs)
            self._address, self._nodes = cluster.address, Nodes(cluster, needs)
            self._nodes.require_home()
        except RayUnavailable as error:
            raise BadInput([Mistake(self._origin, None, "", str(error))]) from error

    async def start(self, setup: RunSetup) -> None:
        prepare_environment()
        if self._address is not None and self._nodes is None:
            needs = _needs(setup.kind, setup.agents, setup.env_file or "", {})
            await asyncio.to_thread(self._look, needs)
        run_dir, local = Path(setup.run_dir), self._address is None
        if self._address is not None:
            self._background.begin(self._ray.watch(run_dir, [lifeline_to_head(self._address)]))
        self._starting = Starting(self._address)
        try:
            await self._ray.needed_by(self._starting.wait())
        except RayUnavailable as error:  # the run is there by now, and its name is taken
            here = resume_command(run_dir, " --executor in-process" if local else "")
            raise RayUnavailable(f"{error}; this run goes on with `{here}`") from error
        self._background.begin(self._ray.watch(run_dir, lifelines_of_ray(ours=local)))
        import ray

        self._variables = server = VariableServer(_variables(setup))
        await server.start()
        self._staffing = staffing = Staffing(
            self._seating,
            asked=self._asked,
            nodes=self._nodes,
            tell=self._tell,
            give=self._give_all,
            up=lambda worker: self._background.begin(self._watch(worker)),
            down=self._died,
            failed=self._on_failure,
        )
        self._supervisor = supervisor = Supervisor(
            setup, server.place, one_node=local, worker_options=staffing.options
        )
        self._governed = Governed(
            supervisor.governor,
            self._hang_s,
            give_up=self._give_up_if_failed,
            on_death=self._hangs,
        )
        try:
            await self._ray.needed_by(supervisor.create())
            await self._ray.needed_by(staffing.attach(supervisor))
            await self._ray.needed_by(supervisor.start())
            self._take_care(setup)
            await self._ray.needed_by(staffing.begin(self._is_given_up))
            self._give_up_if_failed()
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayActorError as error:
            await self._ray.rule_out()
            text = f"a process died while the run was being set up: {cause_of(error)}"
            raise ProcessGone(
                f"{text}; `{resume_command(Path(setup.run_dir))}` tries again"
            ) from error

    def _take_care(self, setup: RunSetup) -> None:
        """All but workers are up: from now on whoever dies is replaced."""
        assert self._staffing is not None
        self.governed.begin()
        self._metrics = RunMetrics(setup.run_id)
        self._link = Link(DRIVER, RayTransport(self.supervisor.governor.actor), self._on_news)
        self._link.start()
        self._background.begin(self._link.failed())
        self._background.begin(self._hand_out())
        self._background.begin(self._replace_the_dead())
        self._background.begin(self._look_after())
        self._background.begin(self._staffing.keep())
        for member in self.supervisor.members:
            if member.kind != "worker":
                self._background.begin(self._watch(member))

    def open(self, plans: Sequence[SessionPlan]) -> None:
        self._give_all(self._seating.seat(plans))

    def _give_all(self, batches: Batches) -> None:
        for seat, plans in batches.items():
            self._opening.put_nowait((seat, list(plans)))

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
        if self._supervisor is not None:
            await self._ask(lambda actor: actor.drain.remote())

    async def finish(self, plan: Plan, reason: str) -> None:
        await self._ray.needed_by(self._finish(plan, reason))

    async def _finish(self, plan: Plan, reason: str) -> None:
        from ray.exceptions import RayActorError, RayTaskError

        while True:
            publisher = self.supervisor.publisher
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
        if self._starting is not None:
            await self._starting.give_up()
        await self._background.stop()
        if self._staffing is not None:
            await self._staffing.stop()
        if self._variables is not None:
            await self._variables.stop()
        if self._link is not None:
            await self._link.stop()
        supervisor = self._supervisor
        if supervisor is not None and self.pids and not at_once and not self._ray.is_dead:
            for group in (supervisor.all_workers, supervisor.all_clients, [supervisor.governor]):
                up = [member for member in group if member.process is not None]
                await asyncio.gather(*(_stop(member.actor) for member in up))
        if (
            supervisor is not None
        ):  # one that is stopped would keep its lock, and nobody could resume
            for member in supervisor.members:
                end_process(member)
        if self._starting is None or self._starting.is_over:
            await self._leave()

    async def _leave(self) -> None:
        """Leave Ray, or end ours. Nobody waits for a cluster that has died: it never lets go."""
        if self._ray.is_dead and self._address is not None:
            return
        with suppress(ImportError, TimeoutError):
            if self._supervisor is not None and not self._ray.is_dead:
                actors = [one.actor for one in self._supervisor.members]
                await patiently(aside(lambda: end_actors(actors)), STOP_TIMEOUT_S)
            await patiently(aside(leave_ray), LEAVE_S)

    async def _ask(self, ask: Callable[[Any], Any]) -> Any:
        return await self._ray.needed_by(self.governed.ask(ask))

    # --- sessions ---------------------------------------------------------------------------------

    async def _hand_out(self) -> None:
        while True:
            seat, plans = await self._opening.get()
            mine = [plan for plan in plans if self._seating.seat_of(plan.session_id) == seat]
            if (worker := self._at(seat)) is not None:  # as it is by now
                await self._give(worker, mine)

    def _at(self, seat: int) -> Member | None:
        return self.supervisor.suspects if seat == QUARANTINE else self.supervisor.workers.get(seat)

    async def _look_after(self) -> None:
        """See, again and again, that every worker has the sessions that it was given.

        A session that was lost on its way, for whatever reason, would otherwise wait for ever.
        """
        while True:
            await asyncio.sleep(LOOK_AFTER_S)
            up = [one for one in self.supervisor.all_workers if one.process is not None]
            await asyncio.gather(*map(self._compare, up))
            if self._draining:
                self._let_go(self._seating.waiting)

    async def _compare(self, worker: Member) -> None:
        from ray.exceptions import RayActorError

        name = worker.name
        with suppress(RayActorError, TimeoutError):
            held = await patiently(worker.actor.sessions.remote(), LOOK_AFTER_S)
            if worker.name == name and (again := self._seating.astray(worker.index, held)):
                self._give_again(worker, again)

    def _give_again(self, worker: Member, sessions: list[SessionPlan]) -> None:
        if self._draining:  # nobody plays them any more
            self._let_go(sessions)
            return
        self._opening.put_nowait((worker.index, sessions))
        told = f"{plural(len(sessions), 'session')} did not reach {worker.name}; given again"
        self._tell(NodeNews("sessions.given_again", told))

    def _let_go(self, sessions: Sequence[SessionPlan]) -> None:
        for session in sessions:
            self._on_news(SessionSuspended(session))

    async def _give(self, worker: Member, plans: Sequence[SessionPlan]) -> None:
        """Give sessions to a worker; one that has died gives them to its successor later."""
        from ray.exceptions import RayActorError

        if plans:
            with suppress(RayActorError):
                await worker.actor.open.remote(plans)

    def _on_news(self, message: News) -> None:
        if isinstance(message, SessionEnded) and message.plan.part == "play":
            self._outcomes[message.ended.outcome] += 1
        if isinstance(message, SessionSuspended) and not self._draining:
            return  # let go by one worker for another
        if isinstance(message, SessionEnded | SessionSuspended):
            was_alone = self._seating.leave(message.plan.session_id)
            if was_alone:
                self._background.begin(self._play_next_suspect())
        if isinstance(message, RunFailed):
            self._failed = message
        self._tell(message)

    def _tell(self, message: News) -> None:
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
                self._on_news(RunFailed.of(cause))
            elif member.name == name and member.process is not None:
                self._died(member, error)

    def _died(self, member: Member, error: Exception) -> None:
        """A process is gone; whether it had begun to work or not."""
        if self._stopping:
            return
        member.cause = cause_of(error)
        if self._nodes is not None and member.process is not None and is_of_node(member.cause):
            self._nodes.shun(member.process.node)
        self._dead.put_nowait((member, member.name))

    def _hangs(self, governor: Member) -> None:
        governor.cause = governor.cause or "it said nothing any more"
        self._dead.put_nowait((governor, governor.name))

    async def _replace_the_dead(self) -> None:
        """One at a time, the governor first: nobody else can be replaced without one."""
        while True:
            member, name = await self._dead.get()
            if member.name != name:
                continue
            if member.kind == "governor":
                self.governed.end()
            died, told = self._tell_death(member, name)
            come = partial(self._tell, ProcessReplaced(name, told))
            try:
                await self._ray.needed_by(self._replace(member))
                if member.kind != "worker" or member is self.supervisor.suspects:
                    come()
                else:
                    assert self._staffing is not None
                    self._staffing.replace(member, "" if told else died.text, come)
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
                    self._on_news(RunFailed.of(error))
                    return
                self._dead.put_nowait((member, member.name))  # others are down as well
                await asyncio.sleep(PAUSE_S)

    def _tell_death(self, member: Member, name: str) -> tuple[ProcessDied, bool]:
        """Tell of a death once, however many attempts it takes to replace who died.

        Returns:
            What was told, and whether the death was told with another one.
        """
        if name not in self._told_dead:
            died = ProcessDied(name, self._called(member), member.cause)
            self._told_dead[name] = died, self._is_told(member)
            self._tell(died)
        return self._told_dead[name]

    async def _replace(self, member: Member) -> None:
        if member.process is None and self._staffing is not None:
            await self._staffing.look()  # nobody knows where it was to be; that may be gone
        lost = await self.supervisor.replace(member)
        if member.kind != "worker":
            self._background.begin(self._watch(member))
        if member.kind == "governor":
            await self._govern()
        elif member.kind == "worker":
            reached = {one.plan.session_id: one.done for one in lost}
            fates = self._seating.fail_over(member.index, reached)
            for plan in fates.poisoned:
                await self.supervisor.governor.actor.end_poisoned.remote(
                    plan, "its worker died again and again at the same turn, with nobody else in it"
                )
            self._give_all(fates.again)
            if member is self.supervisor.suspects:
                await self._bring_up_suspects(member)
            await self._play_next_suspect()

    async def _govern(self) -> None:
        """A new governor is up: go on talking to it."""
        actor = self.supervisor.governor.actor
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
        if (worker := self.supervisor.suspects) is None:
            worker = Member("worker-suspects", "worker", QUARANTINE)
            await self.supervisor.hire(worker)
            self.supervisor.suspects = worker
            await self._bring_up_suspects(worker)
        plan = self._seating.next_suspect()
        await self._give(worker, [] if plan is None else [plan])

    async def _bring_up_suspects(self, worker: Member) -> None:
        from ray.exceptions import RayActorError

        try:
            await self.supervisor.begin(worker)
        except RayActorError as error:
            self._died(worker, error)
        else:
            self._background.begin(self._watch(worker))

    def _is_told(self, member: Member) -> bool:
        """Whether another death on the same node was told of a moment ago; it is told of now."""
        node = member.process.node if member.process is not None else ""
        if self._nodes is None or not node:
            return False
        now = time.monotonic()
        last, self._told[node] = self._told.get(node, -math.inf), now
        return now - last < TOLD_S

    def _called(self, member: Member) -> str:
        process = member.process
        if process is None:
            return ""
        return process.host if self._nodes is None else self._nodes.name_of(process.node)

    def _is_given_up(self) -> bool:
        return self._draining or self._failed is not None

    def _give_up_if_failed(self) -> None:
        if self._failed is not None:
            raise ProcessGone(self._failed.message)

    def _on_failure(self, error: Exception) -> None:
        """Something that the run depends on goes on no more: the run ends, and says why."""
        if not self._stopping and not isinstance(error, RayDied):
            self._background.begin(self._fail(error))

    async def _fail(self, error: Exception) -> None:
        with suppress(RayDied):  # whoever waits for something is told of that
            await self._ray.rule_out_for(error)
            self._on_news(RunFailed.of(error))


async def _stop(actor: Any) -> None:
    with suppress(Exception):  # it may be dead already; it is killed with Ray afterwards
        await asyncio.wait_for(actor.stop.remote(), STOP_TIMEOUT_S)


def _variables(setup: RunSetup) -> dict[str, str]:
    """What of this environment processes of the run may need: keys, and what agents are given."""
    names = {name for agent in setup.agents.values() for name in agent.pass_env}
    names |= {name for need in key_needs(setup.models, {}) for name in need.names or ()}
    known = keys_among(os.environ, names)
    return known | {name: os.environ[name] for name in names if name in os.environ}


def _needs(
    kind: str, agents: Mapping[str, AgentSpec], env_file: str, models: Mapping[str, ModelEntry]
) -> Needs:
    """What a run needs of a node: what its agents are given, and keys of ``models``."""
    programs = [one.command[0] for one in agents.values() if one.command is not None]
    return Needs(
        kind,
        tuple(dict.fromkeys(name for one in agents.values() for name in one.pass_env)),
        tuple(dict.fromkeys(name for name in programs if "{" not in name)),
        tuple(dict.fromkeys(need.names for need in key_needs(models, {}) if need.names)),
        env_file,
    )
