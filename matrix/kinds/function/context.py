"""What a kind of one file is given: :class:`ScenarioContext`, the engine's context made easy."""

from __future__ import annotations

import asyncio
import inspect
import random
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import msgspec

from matrix.kinds.context import Context
from matrix.kinds.function.performance import CheckpointReached, Performance, Record, as_stored
from matrix.kinds.function.tools import ToolFunction, call_tool, tool_of
from matrix.model.errors import (
    CallFailed,
    KindDefect,
    SessionStop,
    UndeclaredConcurrency,
    did_you_mean,
)
from matrix.model.metrics import score_fault, taken_name
from matrix.model.records import JSON, Answer, ChatMessage, Message, Outcome, SessionPlan, Tool
from matrix.model.seeds import content_hash, stream

T = TypeVar("T")
P = ParamSpec("P")
ENDS: Final = ("completed", "failed")
"""How code may end a session."""

MOST_TOLD: Final = 500
"""Characters of a tool's arguments that are kept as an event."""

Request = str | Sequence[ChatMessage | Mapping[str, Any]]
"""A request: one message of a user's, or a conversation."""


def _noted(
    method: Callable[Concatenate[ScenarioContext, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[ScenarioContext, P], Coroutine[Any, Any, T]]:
    """Of what has to be awaited: a forgotten ``await`` would go unseen."""

    @wraps(method)
    def begun(self: ScenarioContext, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        by = sys._getframe(1)
        where = f"{Path(by.f_code.co_filename).name}:{by.f_lineno}"
        return self._play.begin(method.__name__, where, method(self, *args, **kwargs))

    return begun  # type: ignore[return-value]  # of a method, `self` is never named


class ScenarioContext:
    """What a function or class with ``@matrix.scenario`` is given.

    Models are reached by :meth:`ask` only, draws come from :meth:`rng` only, and the world is acted
    on through :meth:`effect` only: given the same answers, the code has to do the same again.
    """

    def __init__(
        self, play: Performance, scope: Context | None, prefix: str = "", elapsed_s: float = 0.0
    ) -> None:
        """``scope`` is ``None`` where all of it has happened already."""
        self._play, self._scope, self._prefix = play, scope, prefix
        self._next = 0
        self._elapsed = elapsed_s
        self._lines: list[Message] = []

    @property
    def scenario(self) -> str:
        """Name of the scenario: of the case, where there are cases."""
        return self._play.plan.scenario

    @property
    def plan(self) -> SessionPlan:
        """All that the session is: its options, roles, levels of factors, seed."""
        return self._play.plan

    @property
    def turn(self) -> int:
        """Number of the turn; checkpoints are between turns."""
        return self._play.at

    @property
    def elapsed_s(self) -> float:
        """The session's own clock: the time that models took, without waits."""
        return self._elapsed if self._play.again or self._scope is None else self._scope.elapsed_s

    def rng(self, name: str = "") -> random.Random:
        """Draws of their own for each name, the same in all variants of a round."""
        play = self._play
        if (scope := self._live) is not None:
            return scope.rng(name)
        return stream(play.seeds[play.at - 1], "turn", play.at, self._prefix, name)

    @_noted
    async def ask(
        self,
        role: str,
        messages: Request,
        *,
        show: bool | None = None,
        max_tokens: int = 512,
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        tool_choice: str = "",
        params: Mapping[str, JSON] | None = None,
        tag: str = "",
    ) -> Answer:
        """Ask the model that plays a role.

        Args:
            role: Whose model.
            messages: A text, or messages as ``{"role": "user", "content": "..."}`` or
                ``answer.message``.
            show: Whether the answer goes into the transcript, which judges read; unless said, that
                of roles that measure does not.
            max_tokens: Most tokens of the answer.
            temperature: Of the draw.
            schema: JSON Schema the answer should follow.
            tools: What the model may call; then the answer may have ``tool_calls``.
            tool_choice: ``auto``, ``none``, ``required``, or the name of a tool.
            params: Further parameters.
            tag: What it is asked for, for the ``calls`` table.

        Raises:
            CallFailed: The call ended in a final error.
        """
        if role not in self._play.plan.roles:
            known = ", ".join(self._play.plan.roles)
            raise ValueError(f"ctx.ask: no role {role!r}; the roles are: {known}")
        asked = as_messages(messages)
        digest = content_hash([role, [one.parts for one in asked]])

        async def act(scope: Context) -> Any:
            answer = await scope.ask(
                role,
                asked,
                max_tokens=max_tokens,
                temperature=temperature,
                schema=schema,
                tools=tools,
                tool_choice=tool_choice,
                params=params,
                tag=tag,
            )
            return msgspec.to_builtins(answer)

        answer = msgspec.convert(await self._given("ask", role, digest, act), Answer)
        shown = role not in self._play.judges if show is None else show
        if shown and answer.text:
            self.say(role, answer.text)
        return answer

    @_noted
    async def use_tools(
        self,
        role: str,
        messages: Request,
        tools: Sequence[ToolFunction],
        *,
        steps: int = 10,
        show: bool | None = None,
        max_tokens: int = 512,
        tag: str = "",
    ) -> Answer:
        """Ask a model, do what it calls, and ask again, until it answers in words.

        Args:
            role: Whose model.
            messages: As of :meth:`ask`.
            tools: Functions, async or not, that the model may call; their docstrings and types are
                what it is told. What they give is given to the model, as JSON if it is no text.
            steps: Most requests; the answer of the last one may still have ``tool_calls``.
            show: As of :meth:`ask`.
            max_tokens: Most tokens of each answer.
            tag: As of :meth:`ask`.
        """
        said, told = [*as_messages(messages)], [tool_of(one) for one in tools]
        for _ in range(max(1, steps)):
            options: dict[str, Any] = {"show": show, "max_tokens": max_tokens, "tag": tag}
            answer = await self.ask(role, said, tools=told, **options)
            if not answer.tool_calls:
                break
            said.append(answer.message)
            for call in answer.tool_calls:
                self.event("tool", subject=call.name, detail=call.arguments[:MOST_TOLD])
                said.append(await call_tool(call, tools))
        return answer

    @_noted
    async def effect(
        self, name: str, act: Callable[[], Awaitable[JSON]], *, arguments: JSON = None
    ) -> JSON:
        """Do something that acts on the world, and record its result, which is JSON.

        Played again it is not done again, and its result is the recorded one. If it is killed in
        the middle, it is done again.
        """
        digest = content_hash([name, arguments])

        async def doing() -> JSON:
            begun = act()
            if not inspect.isawaitable(begun):
                told = f"ctx.effect: what {name!r} does gave {type(begun).__name__} without `await`"
                raise KindDefect(f"{told}; it has to be a function written with `async def`")
            result = await begun
            try:
                return as_stored(result, f"the result of {name!r}")
            except (ValueError, RecursionError) as error:
                raise KindDefect(f"ctx.effect: {error}{_place_of(act)}") from None

        return await self._given(
            "effect", name, digest, lambda scope: scope.effect(name, doing, arguments=arguments)
        )

    @_noted
    async def parallel(
        self, children: Sequence[Callable[[ScenarioContext], Awaitable[T]]]
    ) -> list[T]:
        """Run children at once, each with a context of its own; results in list order."""
        await self._begin()
        slot, scope = self._take_slot(), self._live
        own = [
            ScenarioContext(self._play, None, f"{self._prefix}{slot}.{index}.", self._elapsed)
            for index in range(len(children))
        ]
        if scope is None:
            told = [child(mine) for child, mine in zip(children, own, strict=True)]
            results = await asyncio.gather(*told, return_exceptions=True)
            self._elapsed = max([self._elapsed, *(one.elapsed_s for one in own)])
            for result in results:
                if isinstance(result, BaseException):
                    raise result
            return cast(list[T], results)

        async def one(index: int, scope: Context) -> T:
            own[index]._scope = scope
            return await children[index](own[index])

        found = await scope.parallel([partial(one, index) for index in range(len(children))])
        for line in (line for child in own for line in child._lines):
            self._add(line)  # in list order, whichever came first in time
        return found

    @_noted
    async def checkpoint(self) -> None:
        """End the turn here: what was said and scored is stored, and can be gone on from.

        For long sessions, and for places that one wants to branch from. Afterwards the function is
        run anew up to here, with what it was given, so code before it should be quick.
        """
        play = self._play
        if self._prefix:
            raise UndeclaredConcurrency(
                "ctx.checkpoint inside ctx.parallel; put it after the block"
            )
        if play.again:
            play.at += 1
            self._next = 0
            return
        raise CheckpointReached

    def say(self, speaker: str, text: str, *, channel: str = "table", label: str = "") -> None:
        """Put a line into the transcript, which people and judges read."""
        self._add(Message(channel, speaker, text, self._play.at, label))

    def score(self, name: str, value: float | None, *, label: str = "", reason: str = "") -> None:
        """Record a score of the session; ``score``, or else the first, is what it is judged by.

        One that is given again counts as it was given last.

        Raises:
            ValueError: It is no finite number up to 1e15, or not among those that are declared.
        """
        self._play.require_declared(name)
        number = _number(name, value)
        self._play.scored[name] = number
        if (scope := self._live) is not None:
            scope.score(name, number, label=label, reason=reason)

    def event(
        self,
        kind: str,
        *,
        subject: str = "",
        detail: str = "",
        value: float | None = None,
        severity: str = "",
    ) -> None:
        """Record that something happened."""
        if (scope := self._live) is not None:
            scope.event(kind, subject=subject, detail=detail, value=value, severity=severity)

    def end(self, outcome: Outcome = "completed", reason: str = "") -> None:
        """Say how the session ends; of a class, that it is over after this turn.

        Args:
            outcome: ``completed``, or ``failed`` where the system under test has failed. Other ends
                are those of limits and of trouble around a session, and not for code to say.
            reason: In words.
        """
        if outcome not in ENDS:
            told = f"ctx.end: found {outcome!r}; a session ends as {' or '.join(ENDS)}"
            raise ValueError(f"{told}{did_you_mean(str(outcome), ENDS)}")
        self._play.ended = True
        if (scope := self._live) is not None:
            scope.end(outcome, reason)

    @property
    def _live(self) -> Context | None:
        return None if self._play.again else self._scope

    async def _begin(self) -> None:
        """Begin a turn, where each call is one."""
        if self._play.turn_per_call and self._next and not self._prefix:
            await self.checkpoint()

    def _add(self, line: Message) -> None:
        """Put a line into the log: not inside ``parallel``, where its place would be by chance."""
        if self._prefix:
            self._lines.append(line)
        elif (scope := self._live) is not None:
            scope.log.append(line)

    def _take_slot(self) -> str:
        self._next += 1
        return str(self._next - 1)

    async def _given(
        self, what: str, name: str, digest: str, act: Callable[[Context], Awaitable[Any]]
    ) -> Any:
        """What is given at the next place: what was recorded there, or the result of ``act``."""
        await self._begin()
        slot = f"{self._prefix}{self._take_slot()}"
        play = self._play
        if play.stopped is not None:  # the function has caught what it has to let pass
            raise play.stopped
        play.require_bounded(self._next)
        if play.again or self._scope is None:
            record = play.recorded(slot, what, name, digest)
            self._elapsed = record.elapsed_s
            if record.failure is not None:
                raise CallFailed(*record.failure, name)
            return record.result
        try:
            result = await act(self._scope)
        except CallFailed as failed:
            told = (failed.error_class, str(failed))
            play.note(slot, Record(what, name, digest, self._scope.elapsed_s, None, told))
            raise
        except SessionStop as stop:
            play.stopped = stop
            raise
        play.note(slot, Record(what, name, digest, self._scope.elapsed_s, result))
        return result


def _place_of(act: Any) -> str:
    """Where a function of the kind's begins, in brackets; empty where that cannot be known."""
    code = getattr(getattr(act, "func", act), "__code__", None)
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code else ""


def _number(name: str, value: Any) -> float | None:
    """A score as it is recorded.

    Raises:
        ValueError: It is none, or what is counted of every session has its name.
    """
    if taken := taken_name(name):
        raise ValueError(f"ctx.score: {taken}")
    with suppress(TypeError, ValueError, OverflowError):
        number = None if value is None else float(value)
        if not score_fault(name, number):
            return number
    raise ValueError(f"ctx.score: {score_fault(name, value)}")


def as_messages(said: Request) -> tuple[ChatMessage, ...]:
    """A request as messages.

    Raises:
        ValueError: It is none.
    """
    if isinstance(said, str):
        return (ChatMessage("user", said),)
    return tuple(_message(one) for one in said)


def _message(one: ChatMessage | Mapping[str, Any]) -> ChatMessage:
    if isinstance(one, ChatMessage):
        return one
    roles = ("system", "user", "assistant", "tool")
    if not isinstance(one, Mapping) or one.get("role") not in roles:
        raise ValueError(
            f"ctx.ask: {one!r} is no message; write {{'role': 'user', 'content': '...'}}, with a "
            f"role of {', '.join(roles)}, or answer.message"
        )
    if strange := one.keys() - {"role", "content", "tool_call_id"}:
        raise ValueError(
            f"ctx.ask: a message has no {min(strange)!r}; pass answer.message as it is"
        )
    return ChatMessage(one["role"], str(one.get("content", "")), (), one.get("tool_call_id", ""))
