"""The floor to compare with: the same kinds and simulated models on a bare asyncio loop.

No processes, no governor, no journal, no retries: a context in memory whose calls go straight to
the provider. Seeds and slots are those of the engine, so that it makes the very same calls, and the
counts can be checked against each other.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from matrix.engine.prepare.prepared import Prepared
from matrix.engine.session.durable_session import messages_digest
from matrix.engine.session.session_log import SessionLog
from matrix.kinds.context import ChangedFiles, CommandResult, Context, MessageLog, MeteredAddress
from matrix.kinds.protocol import Kind
from matrix.model.plan import RoundPlan
from matrix.model.records import (
    JSON,
    Answer,
    Call,
    CallKey,
    CallParams,
    ChatMessage,
    Outcome,
    Phase,
    Player,
    SessionPlan,
    Tool,
)
from matrix.model.seeds import content_hash, derive_seed, stream
from matrix.providers.simulated.provider import SimulatedProvider
from matrix.providers.simulated.settings import SimulationSettings

T = TypeVar("T")


class BareLoop:
    """Plays the sessions of a plan, some at a time, and counts calls."""

    def __init__(self, prepared: Prepared, open_sessions: int) -> None:
        self.prepared = prepared
        self.provider = SimulatedProvider(
            SimulationSettings.model_validate(prepared.spec.simulation), sleep=asyncio.sleep
        )
        self.calls = 0
        self.ended = 0
        self._open = asyncio.Semaphore(open_sessions)

    async def play(self) -> None:
        """Play every round."""
        await asyncio.gather(*(self._round(r) for r in self.prepared.plan.all_rounds()))

    async def _round(self, planned: RoundPlan) -> None:
        ids = [plan.session_id for plan in planned.preludes]
        made = await asyncio.gather(*(self._prelude(plan) for plan in planned.preludes))
        preludes: dict[str | None, JSON] = dict(zip(ids, made, strict=True))
        await asyncio.gather(
            *(self._session(plan, preludes.get(plan.prelude_id)) for plan in planned.sessions)
        )

    async def _prelude(self, plan: SessionPlan) -> JSON:
        async with self._open:
            session = _Session(self, plan, None)
            made = await session.kind.prelude(_Scope(session, "start", 0, "", 0.0))
            return orjson.loads(orjson.dumps(made))

    async def _session(self, plan: SessionPlan, prelude: JSON) -> None:
        async with self._open:
            await _Session(self, plan, prelude).play()
        self.ended += 1


class _Session:
    """One session in memory."""

    def __init__(self, loop: BareLoop, plan: SessionPlan, prelude: JSON) -> None:
        self.loop, self.plan, self.prelude = loop, plan, prelude
        self.kind: Kind = loop.prepared.kind
        self.log = SessionLog(())
        self.outcome: Outcome | None = None

    async def play(self) -> None:
        """Play to the end, with the limits of the engine."""
        scope = _Scope(self, "start", 0, "", 0.0)
        state: BaseModel = await self.kind.start(scope)
        turn = 0
        while self.outcome is None and turn < self.plan.max_turns:
            if scope.elapsed_s >= self.plan.max_session_s:
                break
            turn += 1
            scope = _Scope(self, "turn", turn, "", scope.elapsed_s)
            state = await self.kind.turn(scope, state)
        if self.outcome in (None, "completed", "timeout"):
            await self.kind.finish(_Scope(self, "finish", turn, "", scope.elapsed_s), state)


class _Scope:
    """The smallest :class:`Context`: notes nothing down, asks at once."""

    def __init__(
        self, session: _Session, phase: Phase, turn: int, prefix: str, clock_s: float
    ) -> None:
        self._session, self._phase, self._turn, self._prefix = session, phase, turn, prefix
        self._clock_s = clock_s
        self._next = 0

    @property
    def plan(self) -> SessionPlan:
        return self._session.plan

    @property
    def turn(self) -> int:
        return self._turn

    @property
    def log(self) -> MessageLog:
        return self._session.log

    @property
    def prelude(self) -> JSON:
        return self._session.prelude

    @property
    def elapsed_s(self) -> float:
        return self._clock_s

    @property
    def workspace(self) -> Path:
        raise NotImplementedError("the bare loop plays kinds without files")

    async def copy_folder(self, name: str, to: str = "") -> None:
        raise NotImplementedError("the bare loop plays kinds without files")

    async def changed_files(self) -> ChangedFiles:
        raise NotImplementedError("the bare loop plays kinds without files")

    async def file_before(self, path: str) -> bytes | None:
        raise NotImplementedError("the bare loop plays kinds without files")

    async def effect(
        self, name: str, act: Callable[[], Awaitable[JSON]], *, arguments: JSON = None
    ) -> JSON:
        return await act()

    async def command(
        self,
        arguments: Sequence[str],
        *,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
    ) -> CommandResult:
        raise NotImplementedError("the bare loop plays kinds without files")

    def resource(self, name: str) -> JSON:
        return self._session.loop.prepared.resources[self.plan.resources[name]]

    def rng(self, name: str) -> random.Random:
        return stream(self.plan.seed, self._phase, self._turn, self._prefix, name)

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
        form = orjson.dumps(schema).decode() if schema else None
        asked = CallParams(max_tokens, temperature, form)
        call = self._call(role, model or self.plan.roles[role], tuple(messages), asked)
        await asyncio.sleep(0)  # sessions take turns, as they do where answers take time
        reply = await self._session.loop.provider.complete(call, 1)
        assert reply.usage is not None
        self._session.loop.calls += 1
        self._clock_s += reply.duration_s
        return Answer(reply.text, reply.usage, 0, reply.duration_s, call.model, reply.finish_reason)

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
        raise NotImplementedError("nobody here meters programs")

    async def parallel(self, children: Sequence[Callable[[Context], Awaitable[T]]]) -> list[T]:
        block = self._slot()
        scopes = [
            _Scope(self._session, self._phase, self._turn, f"{block}.{index}.", self._clock_s)
            for index in range(len(children))
        ]
        results = await asyncio.gather(
            *(child(scope) for child, scope in zip(children, scopes, strict=True))
        )
        self._clock_s = max([self._clock_s, *(scope.elapsed_s for scope in scopes)])
        return results

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
    ) -> None: ...

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
    ) -> None: ...

    def player(self, player: Player) -> None: ...

    def end(self, outcome: Outcome, reason: str) -> None:
        self._session.outcome = outcome

    def _call(
        self, role: str, model: str, messages: tuple[ChatMessage, ...], params: CallParams
    ) -> Call:
        plan, slot = self.plan, self._slot()
        digest = content_hash([role, model, messages_digest(messages), list(params)])
        return Call(
            key=CallKey(plan.session_id, self._phase, self._turn, slot),
            digest=digest,
            order=plan.order,
            role=role,
            model=model,
            messages=messages,
            params=params,
            seed=derive_seed("call", plan.seed, self._phase, self._turn, slot, digest),
            cell=plan.levels,
        )

    def _slot(self) -> str:
        slot = f"{self._prefix}{self._next}"
        self._next += 1
        return slot
