"""What a kind sees while it plays: the context of a turn, or of one child of a parallel block."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import orjson

from matrix.agents.turns import WorkingTime
from matrix.engine.prepare.judges import measuring_roles
from matrix.engine.session.agent_turns import (
    check_alone,
    folder_after,
    folder_before,
    metered_turn,
    turn_with_tools,
)
from matrix.engine.session.effects import Act
from matrix.engine.session.metered import MeteredCalls, Work
from matrix.kinds.context import ChangedFiles, CommandResult, Context, MessageLog, MeteredAddress
from matrix.model.entries import RoleShare, Tally
from matrix.model.errors import CallFailed, FolderUnavailable, UndeclaredConcurrency
from matrix.model.metrics import MOST_NUMBER, score_fault
from matrix.model.records import (
    JSON,
    OUTCOMES,
    Answer,
    Call,
    CallKey,
    CallParams,
    ChatMessage,
    Event,
    Outcome,
    Phase,
    Player,
    Score,
    SessionPlan,
    Tool,
)
from matrix.model.seeds import stream
from matrix.store.blobs.initial import initial_tree_of, resource_of

if TYPE_CHECKING:
    from matrix.engine.session.durable_session import DurableSession
    from matrix.engine.session.workspace import Workspace

T = TypeVar("T")


class StepResults:
    """What one phase or turn collects until its checkpoint."""

    def __init__(self, phase: Phase, turn: int, log_at: int) -> None:
        self.phase, self.turn, self.log_at = phase, turn, log_at
        self.events: list[Event] = []
        self.scores: list[Score] = []
        self.players: list[Player] = []
        self.ended: tuple[Outcome, str] | None = None

    def branch(self) -> StepResults:
        """What one child of a parallel block collects."""
        return StepResults(self.phase, self.turn, self.log_at)

    def join(self, branches: Iterable[StepResults]) -> None:
        """Take over what children collected, in list order, whichever came first in time."""
        for branch in branches:
            self.events += branch.events
            self.scores += branch.scores
            self.players += branch.players
            self.ended = branch.ended or self.ended


class KindRequest(NamedTuple):
    """What a kind asks for, before the run spec's parameters go over it."""

    role: str
    model: str | None
    messages: tuple[ChatMessage, ...]
    asked: CallParams
    params: Mapping[str, JSON]
    agent: str
    tag: str
    fields: Mapping[str, str] = MappingProxyType({})
    fresh: bool = False


class Meter:
    """Adds up what a session uses; order of parallel answers makes no difference."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def add(self, role: str, answer: Answer) -> None:
        self._tally = self._tally.plus(role, answer)

    def take(self, role: str, share: RoleShare) -> None:
        """Add what a role used in an earlier life of the session."""
        self._tally = self._tally.with_share(role, share)

    def tally(self, clock_s: float) -> Tally:
        return self._tally._replace(clock_s=clock_s)


class Scope:
    """The :class:`Context` of one scope: a turn, or one child of a parallel block."""

    def __init__(
        self, session: DurableSession, step: StepResults, prefix: str, clock_s: float
    ) -> None:
        self._session, self._step, self._prefix = session, step, prefix
        self._clock_s = clock_s
        self._next = 0
        self._busy = False

    @property
    def plan(self) -> SessionPlan:
        return self._session.plan

    @property
    def turn(self) -> int:
        return self._step.turn

    @property
    def log(self) -> MessageLog:
        return self._session.log

    @property
    def prelude(self) -> JSON:
        return self._session.prelude

    @property
    def elapsed_s(self) -> float:
        return self._clock_s

    def resource(self, name: str) -> JSON:
        return self._session.resource(name)

    def rng(self, name: str) -> random.Random:
        step = self._step
        return stream(self.plan.seed, step.phase, step.turn, self._prefix, name)

    async def ask(
        self,
        role: str,
        messages: Sequence[ChatMessage],
        *,
        model: str | None = None,
        max_tokens: int = 512,
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        tool_choice: str = "",
        params: Mapping[str, JSON] | None = None,
        agent: str = "",
        tag: str = "",
        fields: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> Answer:
        with self._exclusive():
            slot = self._take_slot()
            asked = CallParams(
                max_tokens,
                temperature,
                orjson.dumps(schema).decode() if schema else None,
                orjson.dumps([tool._asdict() for tool in tools]).decode() if tools else "",
                tool_choice if tools else "",
            )
            request = KindRequest(
                role, model, tuple(messages), asked, params or {}, agent, tag, fields or {}, fresh
            )
            answer = await self._answer(self._session.call(self._step, slot, request))
        self._clock_s += answer.duration_s
        if answer.failure is not None:
            raise CallFailed(answer.failure.error_class, answer.failure.message, role)
        return answer

    async def _answer(self, call: Call) -> Answer:
        """The answer of a model, or of the agent that goes by this name."""
        session = self._session
        agents = session.agents
        agent = None if agents is None else agents.specs.get(call.model)
        if agent is None and not call.params.tools:
            agent = session.works_as(call)
        if agents is None or agent is None:
            session.effects.check_call(call.key)
            answer = await session.calls.ask(call)
            session.meter.add(call.role, answer)
            return answer
        # who measures must not change what is measured, and may be asked several times at once
        apart = call.role in measuring_roles(session.kind)
        call = replace(call, agent=call.agent or call.model, apart=apart)
        workspace = None if apart else session.effects.workspace
        check_alone(call.model, workspace, self._prefix)
        if agent.meter is not None:
            return await metered_turn(self, agents, agent, call)
        if agent.tools is not None:
            inner = Scope(session, self._step, f"{call.key.slot}.", self._clock_s)
            return await turn_with_tools(inner, agents, agent, call)
        session.effects.check_call(call.key)
        await folder_before(workspace)
        answer = await session.calls.ask(call)
        await folder_after(workspace, answer)
        session.meter.add(call.role, answer)
        return answer

    @property
    def workspace(self) -> Path:
        return self._folder().path

    async def copy_folder(self, name: str, to: str = "") -> None:
        await self._folder().copy_in(initial_tree_of(self.resource(resource_of(name))), to)

    async def changed_files(self) -> ChangedFiles:
        return await self._folder().changes()

    async def file_before(self, path: str) -> bytes | None:
        return await self._folder().read_before(path)

    async def effect(
        self, name: str, act: Callable[[], Awaitable[JSON]], *, arguments: JSON = None
    ) -> JSON:
        effects, step = self._session.effects, self._step
        if effects.workspace is not None and self._prefix:
            raise UndeclaredConcurrency(
                f"effect {name!r} inside ctx.parallel: what it finds in the working folder, and "
                "what is recorded of it, would depend on timing; do it before or after the block"
            )
        with self._exclusive():
            key = CallKey(self.plan.session_id, step.phase, step.turn, self._take_slot())
            return await effects.do(key, name, arguments, act)

    async def command(
        self,
        arguments: Sequence[str],
        *,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
    ) -> CommandResult:
        folder, more = self._folder(), dict(environment or {})

        async def run() -> JSON:
            return list(await folder.command(arguments, stdin, more, timeout_s))

        what = [list(arguments), stdin, more, timeout_s]
        name = arguments[0] if arguments else ""
        return CommandResult(*await self.effect(f"command {name}", run, arguments=what))

    async def metered(
        self,
        role: str,
        work: Callable[[MeteredAddress], Awaitable[JSON]],
        *,
        name: str,
        arguments: JSON = None,
        agent: str = "",
        stand_in: str = "",
    ) -> JSON:
        with self._exclusive():
            slot = self._take_slot()
            asking = MeteredCalls(self._session, self._step, slot, role, agent)

            async def alone(address: MeteredAddress, working: WorkingTime) -> JSON:
                return await work(address)

            return await self._metered(
                slot, name, arguments, asking, lambda: asking.during(alone, stand_in)
            )

    async def metered_by(
        self, call: Call, name: str, models: Sequence[str], work: Work, port: int | None
    ) -> JSON:
        """A turn of the agent of this call, as a metered effect in the call's place."""
        slot = call.key.slot
        asking = MeteredCalls(self._session, self._step, slot, call.role, call.model, models)
        return await self._metered(
            slot, name, call.digest, asking, lambda: asking.during(work, port=port)
        )

    async def _metered(
        self, slot: str, name: str, arguments: JSON, asking: MeteredCalls, act: Act
    ) -> JSON:
        key = CallKey(self.plan.session_id, self._step.phase, self._step.turn, slot)
        return asking.result(await self._session.effects.do(key, name, arguments, act))

    def _folder(self) -> Workspace:
        folder = self._session.effects.workspace
        if folder is None:
            raise FolderUnavailable(
                f"sessions of kind {self.plan.kind} have no working folder"
                + (" in their prelude" if self.plan.part == "prelude" else "")
                + "; a kind that needs one declares `folder_limits`"
            )
        return folder

    async def parallel(self, children: Sequence[Callable[[Context], Awaitable[T]]]) -> list[T]:
        with self._exclusive(), self._session.log.closed():
            block = self._take_slot()
            scopes = [
                Scope(self._session, self._step.branch(), f"{block}.{index}.", self._clock_s)
                for index in range(len(children))
            ]
            results = await asyncio.gather(
                *(child(scope) for child, scope in zip(children, scopes, strict=True)),
                return_exceptions=True,
            )
        self._step.join(scope._step for scope in scopes)
        self._clock_s = max([self._clock_s, *(scope.elapsed_s for scope in scopes)])
        for result in results:
            if isinstance(result, BaseException):
                raise result  # the first in list order, so that it never depends on timing
        return cast(list[T], results)

    async def in_scope(self, name: str, act: Callable[[Scope], Awaitable[None]]) -> None:
        """Do something whose calls have places by this name, however many calls came before it."""
        inner = Scope(self._session, self._step, f"{self._prefix}{name}.", self._clock_s)
        with self._exclusive():
            await act(inner)
        self._clock_s = inner.elapsed_s

    def event(
        self,
        kind: str,
        *,
        subject: str = "",
        detail: str = "",
        value: float | None = None,
        severity: str = "",
        turn: int | None = None,
        data: Mapping[str, JSON] | None = None,
    ) -> None:
        if value is not None and abs(value) >= MOST_NUMBER:  # no table could be read again
            told = f"ctx.event: the value of {kind!r} is {value:g}"
            raise ValueError(f"{told}; it is a finite number below {MOST_NUMBER:g}, or None")
        about = self.turn if turn is None else turn
        self._step.events.append(Event(kind, about, subject, detail, value, severity, data))

    def score(
        self,
        name: str,
        value: float | None,
        *,
        whole_session: bool = True,
        label: str = "",
        reason: str = "",
        judge_model: str = "",
        rubric_hash: str = "",
    ) -> None:
        if fault := score_fault(name, value):  # no mean has it, and no table could be read again
            raise ValueError(fault)
        turn = None if whole_session else self.turn
        self._session.check_score(name)
        self._step.scores.append(Score(name, value, turn, label, reason, judge_model, rubric_hash))

    def player(self, player: Player) -> None:
        self._step.players.append(player)

    def end(self, outcome: Outcome, reason: str) -> None:
        if outcome not in OUTCOMES:
            raise ValueError(f"ctx.end: found {outcome!r}; there are: {', '.join(OUTCOMES)}")
        self._step.ended = (outcome, reason)

    def _take_slot(self) -> str:
        slot = f"{self._prefix}{self._next}"
        self._next += 1
        return slot

    def _exclusive(self) -> _Exclusive:
        return _Exclusive(self)


class _Exclusive:
    """Refuses a second ask while one is under way in the same scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __enter__(self) -> None:
        if self._scope._busy:
            raise UndeclaredConcurrency(
                "two calls at once in one scope; wrap them in ctx.parallel([...]) so that each "
                "has a slot of its own"
            )
        self._scope._busy = True

    def __exit__(self, *_: object) -> None:
        self._scope._busy = False
