"""A session worker: plays many sessions at once as tasks on one event loop.

Sessions share nothing but the process. Their calls go to a provider host in the same process
(simulated models) or to provider clients elsewhere; their checkpoints go to the governor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from matrix.engine.calls.hosting import agents_variables
from matrix.engine.calls.provider_host import ProviderHost
from matrix.engine.session.agent_turns import Agents
from matrix.engine.session.durable_session import CallPort, DurableSession
from matrix.engine.session.effects import EffectDesk
from matrix.engine.session.metered import upstreams_of
from matrix.engine.session.workspace import Workspaces, workspaces_in
from matrix.engine.wire.link import Link, Transport
from matrix.engine.wire.messages import (
    DiskRefused,
    EffectSaved,
    EndSession,
    FromGovernor,
    Granted,
    LetGo,
    OpenSession,
    Recorded,
    Refused,
    Rejoin,
    SaveTurn,
    SessionOpened,
    SuspendNow,
    SuspendSession,
    ToGovernor,
)
from matrix.engine.wire.setup import RunSetup
from matrix.kinds.protocol import Kind, OwnsTerminal
from matrix.model.errors import BlobsRefused, MatrixError
from matrix.model.records import Answer, Call, SessionPlan
from matrix.telemetry.process import SILENT, Telemetry
from matrix.telemetry.spans import session_span

MOST_OVER = 256
"""Ended sessions that a worker remembers before it looks whose ends are durable."""


def agents_of(setup: RunSetup, places: Workspaces) -> Agents:
    """The agents of a run, and where they and models with tools work."""
    asks = {name: setup.models[name].asks for name in setup.agents}
    variables = agents_variables(setup) if setup.agents else {}
    return Agents(setup.agents, asks, setup.project, variables, places)


class NoRoute(MatrixError):
    """A call for a model that no host of this worker serves; a defect of the set-up."""


class CallRouter:
    """Sends each call to the host or client that serves its model's provider."""

    def __init__(self, setup: RunSetup, routes: Mapping[str, CallPort]) -> None:
        """``routes``: provider name -> where its calls go."""
        self._models, self._routes = setup.models, routes

    async def ask(self, call: Call) -> Answer:
        provider = self._models[call.model].provider
        port = self._routes.get(provider)
        if port is None:
            raise NoRoute(f"model {call.model} needs provider {provider!r}, which nobody serves")
        return await port.ask(call)


class SessionWorker:
    """Hosts sessions. Give it sessions with ``open``; it reports to the governor only."""

    def __init__(
        self,
        name: str,
        setup: RunSetup,
        kinds: Mapping[str, Kind],
        transport: Transport,
        telemetry: Telemetry = SILENT,
        workspaces: Workspaces | None = None,
    ) -> None:
        """``workspaces`` are those in the run's folder, if left out."""
        self.name = name
        self._setup, self._kinds, self._telemetry = setup, kinds, telemetry
        self._link = Link(name, transport, self._on_message)
        self._model_params = {name: m.params for name, m in setup.models.items() if m.params}
        self._effects = EffectDesk(self._link.send)
        self.workspaces = workspaces or workspaces_in(Path(setup.run_dir))
        self._agents = agents_of(setup, self.workspaces)
        self._router: CallRouter | None = None
        self._host: ProviderHost | None = None
        self._plans: dict[str, SessionPlan] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._over: dict[str, SessionPlan] = {}
        self._leaving: dict[str, asyncio.Future[bool]] = {}
        self._stopped: set[str] = set()  # in the middle of a turn, for the run drains

    def start(self, *, host: ProviderHost | None, routes: Mapping[str, CallPort]) -> None:
        """Begin to work; ``host`` serves embedded providers, ``routes`` all of them."""
        self._host = host
        self._router = CallRouter(self._setup, routes)
        self._link.start()

    def send(self, message: ToGovernor) -> None:
        """Post to the governor."""
        self._link.send(message)

    def open(self, plans: Sequence[SessionPlan]) -> None:
        """Take sessions on; giving one twice is harmless."""
        for plan in plans:
            if plan.session_id not in self._plans:
                self._plans[plan.session_id] = plan
                self.send(OpenSession(plan))

    @property
    def sessions(self) -> list[str]:
        """Those that it has taken on, and not ended or let go."""
        return list(self._plans)

    async def release(self, session_ids: Sequence[str]) -> list[str]:
        """Let sessions go at the end of the turn that each is in, to be played on elsewhere.

        Returns:
            Those that were let go, once all that was said of them is durable; the others have
            ended, or not begun yet, or were let go for somebody else who asked.
        """
        loop = asyncio.get_running_loop()
        mine = {
            key: self._leaving.setdefault(key, loop.create_future())
            for key in session_ids
            if key in self._tasks
        }
        if mine:
            await asyncio.wait(mine.values())
        return [key for key, gone in mine.items() if self._leaving.pop(key, None) and gone.result()]

    async def reconnect(self, transport: Transport) -> None:
        """Go on under another governor, in the place of one that died."""
        await self._link.reconnect(transport, self._rejoin, self._ask_again)

    def _rejoin(self) -> list[ToGovernor]:
        """Whatever is played here, and whatever is over but may not be in the journal yet."""
        self._forget_what_is_durable()
        played = [plan for key, plan in self._plans.items() if key in self._tasks]
        return [Rejoin((*played, *self._over.values()))]

    def _forget_what_is_durable(self) -> None:
        unsure = {
            message.ended.session_id if isinstance(message, EndSession) else message.session_id
            for message in self._link.unsure()
            if isinstance(message, (EndSession, SuspendSession))
        }
        self._over = {key: plan for key, plan in self._over.items() if key in unsure}

    def _ask_again(self) -> list[ToGovernor]:
        host = [] if self._host is None else self._host.resume()
        opening = [plan for key, plan in self._plans.items() if key not in self._tasks]
        effects = self._effects.unanswered()
        return [*host, *effects, *(OpenSession(plan) for plan in opening)]

    async def stop(self) -> None:
        """Cancel every session and stop talking."""
        for task in list(self._tasks.values()):
            task.cancel()
        self.workspaces.give_up()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._link.stop()

    async def failed(self) -> None:
        """Return only by raising, when talking to the governor has failed."""
        await self._link.failed()

    def _on_message(self, message: FromGovernor) -> None:
        match message:
            case Granted() | Recorded() | Refused():
                if self._host is not None:
                    self._host.deliver(message)
            case SessionOpened():
                self._begin(message)
            case EffectSaved():
                self._effects.saved(message)
            case SuspendNow(session_id):
                self._suspend_now(session_id)
            case LetGo(session_id):
                self._over.pop(session_id, None)
                self._has_left(session_id, let_go=True)
            case _:
                raise MatrixError(f"worker {self.name} got {type(message).__name__}")

    def _begin(self, opened: SessionOpened) -> None:
        session_id = opened.session_id
        if session_id in self._tasks or session_id not in self._plans:
            return
        task = asyncio.create_task(self._play(self._plans[session_id], opened))
        self._tasks[session_id] = task

    def _suspend_now(self, session_id: str) -> None:
        """Stop a session in its kind's code; a program that has the terminal ends by itself."""
        task = self._tasks.get(session_id)
        if task is None or isinstance(self._kinds[self._plans[session_id].kind], OwnsTerminal):
            return
        self._stopped.add(session_id)
        task.cancel()

    async def _play(self, plan: SessionPlan, opened: SessionOpened) -> None:
        assert self._router is not None
        spans = self._telemetry.spans
        session = DurableSession(
            self._kinds[plan.kind],
            plan,
            opened.snapshot,
            self._setup.resources,
            self._router,
            lambda turn: self.send(SaveTurn(turn)),
            save_effect=self._effects.save,
            leaves=lambda: plan.session_id in self._leaving,
            workspaces=self.workspaces,
            measure=self._setup.measure,
            model_params=self._model_params,
            upstreams=partial(upstreams_of, self._setup.models),
            agents=self._agents,
            spans=spans,
        )
        start = spans.now_ns() if spans is not None else 0
        try:
            ended = await session.play()
        except BlobsRefused as refused:
            self.send(DiskRefused(str(refused)))
            return
        except asyncio.CancelledError:
            if plan.session_id not in self._stopped:
                raise
            ended = None
        if plan.session_id in self._stopped:  # whatever its code made of it
            self._stopped.discard(plan.session_id)
            ended = None
        if spans is not None:
            spans.ended(session_span(plan, start, spans.now_ns(), ended))
        self.send(SuspendSession(plan.session_id) if ended is None else EndSession(ended))
        del self._plans[plan.session_id], self._tasks[plan.session_id]
        if ended is not None:
            self._has_left(plan.session_id, let_go=False)
        self._over[plan.session_id] = plan
        if len(self._over) >= MOST_OVER:
            self._forget_what_is_durable()

    def _has_left(self, session_id: str, *, let_go: bool) -> None:
        waited_for = self._leaving.get(session_id)
        if waited_for is not None and not waited_for.done():
            waited_for.set_result(let_go)
