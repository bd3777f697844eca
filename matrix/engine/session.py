"""A durable session: plays one kind's state machine so that it can die and go on anywhere.

After every phase and turn the whole small state, with what the turn added to the log, goes to the
governor as a checkpoint. Inside a turn every answer is journalled before the kind sees it. So a
session taken up again starts from its newest checkpoint and is given the same answers, until it
reaches the call that nobody answered.
"""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar, cast

import orjson
from pydantic import BaseModel

from matrix.engine.messages import EMPTY_TALLY, Snapshot
from matrix.engine.storable import MAX_REASON, check_result, check_turn, storable_text
from matrix.kinds.protocol import Context, Kind, Log
from matrix.model.entries import Ended, Share, Tally, TurnDone
from matrix.model.errors import (
    CallFailed,
    Censored,
    MatrixError,
    Suspended,
    UndeclaredConcurrency,
)
from matrix.model.records import (
    JSON,
    Answer,
    Call,
    CallKey,
    CallParams,
    ChatMessage,
    Event,
    Message,
    Outcome,
    Phase,
    Player,
    Score,
    SessionPlan,
)
from matrix.model.seeds import content_hash, derive_seed, stream

T = TypeVar("T")

CLOCK_DIGITS = 6
"""Decimals of a session's clock at a checkpoint: rounded in memory as well as on the disk, so that
a session that went on and one that was taken up again read the same time."""


class CallPort(Protocol):
    """Where a session's calls go."""

    async def ask(self, call: Call) -> Answer: ...


class SessionLog:
    """The append-only messages of one session, indexed by channel."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages: list[Message] = []
        self._channels: dict[str, list[Message]] = {}
        self._blocks = 0
        for message in messages:
            self.append(message)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, position: int) -> Message:
        return self._messages[position]

    def append(self, message: Message) -> int:
        """Add a message; returns its position.

        Raises:
            UndeclaredConcurrency: A parallel block is under way.
        """
        if self._blocks:
            raise UndeclaredConcurrency(
                "a message was added to the log inside ctx.parallel, where its place would depend "
                "on timing; return it from the child and add it after the block"
            )
        self._messages.append(message)
        self._channels.setdefault(message.channel, []).append(message)
        return len(self._messages) - 1

    def tail(self, channel: str, count: int) -> list[Message]:
        """The last ``count`` messages of a channel, oldest first."""
        return self._channels.get(channel, [])[-count:] if count > 0 else []

    def channel(self, channel: str) -> Sequence[Message]:
        """Every message of a channel, oldest first. Not to be changed."""
        return self._channels.get(channel, [])

    def since(self, position: int) -> tuple[Message, ...]:
        """Messages from ``position`` on."""
        return tuple(self._messages[position:])

    @contextmanager
    def closed(self) -> Iterator[None]:
        """No message may be added for as long as a parallel block is under way."""
        self._blocks += 1
        try:
            yield
        finally:
            self._blocks -= 1


class _Step:
    """What one phase or turn collects until its checkpoint."""

    def __init__(self, phase: Phase, turn: int, log_at: int) -> None:
        self.phase, self.turn, self.log_at = phase, turn, log_at
        self.events: list[Event] = []
        self.scores: list[Score] = []
        self.players: list[Player] = []
        self.ended: tuple[Outcome, str] | None = None

    def branch(self) -> _Step:
        """What one child of a parallel block collects."""
        return _Step(self.phase, self.turn, self.log_at)

    def join(self, branches: Iterable[_Step]) -> None:
        """Take over what children collected, in list order, whichever came first in time."""
        for branch in branches:
            self.events += branch.events
            self.scores += branch.scores
            self.players += branch.players
            self.ended = branch.ended or self.ended


class _Meter:
    """Adds up what a session uses; order of parallel answers makes no difference."""

    def __init__(self, tally: Tally) -> None:
        self._roles = dict(tally.roles)

    def add(self, role: str, answer: Answer) -> None:
        calls, tokens_in, tokens_out, cost = self._roles.get(role, Share())
        self._roles[role] = Share(
            calls + 1,
            tokens_in + answer.usage.input,
            tokens_out + answer.usage.output,
            cost + answer.cost,
        )

    def tally(self, clock_s: float) -> Tally:
        return Tally(clock_s, dict(self._roles))


class Scope:
    """The :class:`Context` of one scope: a turn, or one child of a parallel block."""

    def __init__(self, session: DurableSession, step: _Step, prefix: str, clock_s: float) -> None:
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
    def log(self) -> Log:
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
    ) -> Answer:
        with self._exclusive():
            slot = self._take_slot()
            params = CallParams(
                max_tokens, temperature, orjson.dumps(schema).decode() if schema else None
            )
            call = self._session.call(self._step, slot, role, model, tuple(messages), params)
            answer = await self._session.calls.ask(call)
        self._clock_s += answer.duration_s
        self._session.meter.add(role, answer)
        if answer.failure is not None:
            raise CallFailed(answer.failure.error_class, answer.failure.message)
        return answer

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

    def event(
        self,
        kind: str,
        *,
        subject: str = "",
        detail: str = "",
        value: float | None = None,
        severity: str = "",
    ) -> None:
        self._step.events.append(Event(kind, self.turn, subject, detail, value, severity))

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
        turn = None if whole_session else self.turn
        self._step.scores.append(Score(name, value, turn, label, reason, judge_model, rubric_hash))

    def player(self, player: Player) -> None:
        self._step.players.append(player)

    def end(self, outcome: Outcome, reason: str) -> None:
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


class DurableSession:
    """One session being played: kind, plan, log, meter, and where its calls go."""

    def __init__(
        self,
        kind: Kind,
        plan: SessionPlan,
        snapshot: Snapshot,
        resources: Mapping[str, JSON],
        calls: CallPort,
        save: Callable[[TurnDone], None],
        *,
        utc: Callable[[], float] = time.time,
    ) -> None:
        self.kind, self.plan, self.calls = kind, plan, calls
        self.prelude = snapshot.prelude
        self._prelude_failure = snapshot.prelude_failure
        self.log = SessionLog(snapshot.log)
        self._resources, self._save, self._utc = resources, save, utc
        self._checkpoint = snapshot.checkpoint
        self._score = snapshot.score
        tally = self._checkpoint.tally if self._checkpoint else EMPTY_TALLY
        self.meter = _Meter(tally)
        self._clock_s = tally.clock_s
        self._turn = self._checkpoint.turn if self._checkpoint else 0
        self._end: tuple[Outcome, str] | None = self._checkpoint.ended if self._checkpoint else None

    async def play(self) -> Ended | None:
        """Play to the end; ``None`` when the run drains and the session stays open."""
        error_class = ""
        result: JSON = None
        try:
            if self._prelude_failure:
                raise CallFailed(
                    "PreludeFailed",
                    f"what the variants of this round share could not be made: "
                    f"{self._prelude_failure}",
                )
            if self.plan.part == "prelude":
                result = await self._prelude()
            else:
                await self._play()
            outcome, reason = self._end or ("completed", "")
        except Suspended:
            return None
        except Censored as stop:
            outcome, reason, error_class = "censored", str(stop), str(stop)
        except CallFailed as failure:
            outcome, reason, error_class = "errored", str(failure), failure.error_class
        except MatrixError as error:
            outcome, reason, error_class = "errored", str(error), type(error).__name__
        except Exception as error:  # a defect in a kind ends its session, never the run
            outcome, error_class = "errored", type(error).__name__
            reason = "".join(traceback.format_exception(error))[-MAX_REASON:]
        return Ended(
            session_id=self.plan.session_id,
            outcome=outcome,
            reason=storable_text(reason[:MAX_REASON]),
            error_class=error_class,
            turns=self._turn,
            score=self._score if outcome in ("completed", "timeout") else None,
            tally=self.meter.tally(self._clock_s),
            at=self._utc(),
            result=result,
        )

    async def _prelude(self) -> JSON:
        step = _Step("start", 0, len(self.log))
        scope = Scope(self, step, "", self._clock_s)
        result = await self.kind.prelude(scope)
        check_result(result)
        self._clock_s = round(scope.elapsed_s, CLOCK_DIGITS)
        self._store(step, b"null")
        return result

    async def _play(self) -> None:
        done = self._checkpoint
        if done is None:
            state = await self._step("start", 0, self.kind.start)
        else:
            state = self.kind.state_model.model_validate_json(done.state)
        if done is not None and done.phase == "finish":
            return
        while self._end is None:
            if self._turn >= self.plan.max_turns:
                self._end = ("timeout", f"{self.plan.max_turns} turns")
            elif self._clock_s >= self.plan.max_session_s:
                self._end = ("timeout", f"{self.plan.max_session_s / 60:g} minutes of model time")
            else:
                self._turn += 1
                state = await self._step("turn", self._turn, partial(self._take_turn, state))
        if self._end[0] in ("completed", "timeout"):
            await self._step("finish", self._turn, partial(self._finish, state))

    async def _take_turn(self, state: BaseModel, ctx: Context) -> BaseModel:
        return await self.kind.turn(ctx, state)

    async def _finish(self, state: BaseModel, ctx: Context) -> BaseModel:
        await self.kind.finish(ctx, state)
        return state

    async def _step(
        self, phase: Phase, turn: int, play: Callable[[Context], Awaitable[BaseModel]]
    ) -> BaseModel:
        step = _Step(phase, turn, len(self.log))
        scope = Scope(self, step, "", self._clock_s)
        state = await play(scope)
        self._clock_s = round(scope.elapsed_s, CLOCK_DIGITS)
        if phase != "finish":
            self._end = step.ended
        for score in step.scores:
            if score.name == "score" and score.turn is None:
                self._score = score.value
        self._store(step, state.model_dump_json().encode())
        return state

    def _store(self, step: _Step, state: bytes) -> None:
        done = TurnDone(
            session_id=self.plan.session_id,
            phase=step.phase,
            turn=step.turn,
            state=state,
            messages=self.log.since(step.log_at),
            events=tuple(step.events),
            scores=tuple(step.scores),
            players=tuple(step.players),
            tally=self.meter.tally(self._clock_s),
            ended=self._end,
            versions=(self.kind.version, self.kind.state_version),
            at=self._utc(),
        )
        check_turn(done)
        self._save(done)

    def resource(self, name: str) -> JSON:
        """The text or data behind a name of the plan."""
        return self._resources[self.plan.resources[name]]

    def call(
        self,
        step: _Step,
        slot: str,
        role: str,
        model: str | None,
        messages: tuple[ChatMessage, ...],
        params: CallParams,
    ) -> Call:
        """The logical request at a slot, with its digest and seed."""
        name = model or self.plan.roles[role]
        key = CallKey(self.plan.session_id, step.phase, step.turn, slot)
        digest = content_hash([role, name, messages_digest(messages), list(params)])
        return Call(
            key=key,
            digest=digest,
            order=self.plan.order,
            role=role,
            model=name,
            messages=messages,
            params=params,
            # equal requests at one place get equal answers, so what variants share stays shared;
            # another request (another prompt) is another sample, as it is with real models
            seed=derive_seed("call", self.plan.seed, step.phase, step.turn, slot, digest),
            cell=self.plan.levels,
        )


def messages_digest(messages: Sequence[ChatMessage]) -> list[list[str]]:
    """The messages in the shape that goes into a digest."""
    return [[message.role, message.content] for message in messages]
