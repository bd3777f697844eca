"""A session without an engine: a context whose answers are a function, and a loop that plays it.

Hand in a handler instead of patching anything::

    played = play_session(KIND, plan, resources, lambda asked: f"{asked.role} says hello")

State goes to JSON and back between any two turns, as it does in the engine.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from matrix.kinds.context import ChangedFiles, CommandResult, Context, MeteredAddress
from matrix.kinds.protocol import Kind
from matrix.model.errors import FolderUnavailable, UndeclaredConcurrency
from matrix.model.records import (
    JSON,
    Answer,
    ChatMessage,
    Event,
    Message,
    Outcome,
    Phase,
    Player,
    Score,
    SessionPlan,
    Tool,
    Usage,
)
from matrix.model.seeds import stream

T = TypeVar("T")


class Asked(NamedTuple):
    """One request, as a handler sees it."""

    phase: Phase
    turn: int
    slot: str
    role: str
    model: str | None
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    schema: Mapping[str, Any] | None

    @property
    def system(self) -> str:
        return self.messages[0].content

    @property
    def request(self) -> str:
        return self.messages[-1].content


class CutShort(str):
    """An answer that ended because its most tokens were reached."""

    __slots__ = ()


Handler = Callable[[Asked], str]


class FakeLog:
    """Messages in memory."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self.messages = list(messages)

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, position: int) -> Message:
        return self.messages[position]

    def append(self, message: Message) -> int:
        self.messages.append(message)
        return len(self.messages) - 1

    def channel(self, channel: str) -> list[Message]:
        return [message for message in self.messages if message.channel == channel]

    def tail(self, channel: str, count: int) -> list[Message]:
        return self.channel(channel)[-count:] if count > 0 else []


@dataclass
class Record:
    """What a session leaves behind."""

    log: FakeLog = field(default_factory=FakeLog)
    asked: list[Asked] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    players: list[Player] = field(default_factory=list)
    ended: tuple[Outcome, str] | None = None


class FakeContext:
    """Implements :class:`matrix.kinds.context.Context` over a handler."""

    def __init__(
        self,
        plan: SessionPlan,
        resources: Mapping[str, JSON],
        handler: Handler,
        *,
        record: Record | None = None,
        phase: Phase = "start",
        turn: int = 0,
        prelude: JSON = None,
        prefix: str = "",
    ) -> None:
        self.record = record or Record()
        self._plan, self._resources, self._handler = plan, resources, handler
        self._phase, self._turn, self._prelude = phase, turn, prelude
        self._prefix, self._next, self._busy = prefix, 0, False

    @property
    def plan(self) -> SessionPlan:
        return self._plan

    @property
    def turn(self) -> int:
        return self._turn

    @property
    def log(self) -> FakeLog:
        return self.record.log

    @property
    def prelude(self) -> JSON:
        return self._prelude

    @property
    def elapsed_s(self) -> float:
        return float(len(self.record.asked))

    def resource(self, name: str) -> JSON:
        return self._resources[name]

    def rng(self, name: str) -> random.Random:
        return stream(self._plan.seed, self._phase, self._turn, self._prefix, name)

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
        if self._busy:
            raise UndeclaredConcurrency("two calls at once in one scope")
        self._busy = True
        await asyncio.sleep(0)  # lets siblings interleave, as they would
        asked = Asked(
            self._phase,
            self._turn,
            self._take_slot(),
            role,
            model,
            tuple(messages),
            max_tokens,
            schema,
        )
        self.record.asked.append(asked)
        text = self._handler(asked)
        self._busy = False
        finish = "length" if isinstance(text, CutShort) else "stop"
        return Answer(text, Usage(1, 1), 0, 1.0, model or role, finish)

    @property
    def workspace(self) -> Path:
        raise FolderUnavailable("this context has no working folder")

    async def copy_folder(self, name: str, to: str = "") -> None:
        raise FolderUnavailable("this context has no working folder")

    async def changed_files(self) -> ChangedFiles:
        raise FolderUnavailable("this context has no working folder")

    async def file_before(self, path: str) -> bytes | None:
        raise FolderUnavailable("this context has no working folder")

    async def effect(
        self, name: str, act: Callable[[], Awaitable[JSON]], *, arguments: JSON = None
    ) -> JSON:
        self._take_slot()
        return await act()

    async def command(
        self,
        arguments: Sequence[str],
        *,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
    ) -> CommandResult:
        raise FolderUnavailable("this context has no working folder")

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
        if self._busy:
            raise UndeclaredConcurrency("parallel while a call is under way")
        block = self._take_slot()
        scopes = [
            FakeContext(
                self._plan,
                self._resources,
                self._handler,
                record=self.record,
                phase=self._phase,
                turn=self._turn,
                prelude=self._prelude,
                prefix=f"{block}.{index}.",
            )
            for index in range(len(children))
        ]
        pairs = zip(children, scopes, strict=True)
        return list(await asyncio.gather(*(child(scope) for child, scope in pairs)))

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
        about = self._turn if turn is None else turn
        self.record.events.append(Event(kind, about, subject, detail, value, severity, data))

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
        turn = None if whole_session else self._turn
        self.record.scores.append(Score(name, value, turn, label, reason, judge_model, rubric_hash))

    def player(self, player: Player) -> None:
        self.record.players.append(player)

    def end(self, outcome: Outcome, reason: str) -> None:
        self.record.ended = (outcome, reason)

    def _take_slot(self) -> str:
        self._next += 1
        return f"{self._prefix}{self._next - 1}"


class Checkpoint(NamedTuple):
    """A session after a turn: its state as JSON, and its log so far."""

    turn: int
    state: bytes
    messages: tuple[Message, ...]


@dataclass
class Played(Record):
    """A played session with a checkpoint after character creation and after each turn."""

    prelude: JSON = None
    checkpoints: list[Checkpoint] = field(default_factory=list)

    @property
    def values(self) -> dict[str, float | None]:
        """Score name -> value."""
        return {score.name: score.value for score in self.scores}

    def of_kind(self, kind: str) -> list[Event]:
        """Events of one kind, in order."""
        return [event for event in self.events if event.kind == kind]

    def said(self, channel: str = "table") -> list[str]:
        """``speaker: text`` of one channel."""
        return [f"{message.speaker}: {message.text}" for message in self.log.channel(channel)]


def make_prelude(
    kind: Kind, plan: SessionPlan, resources: Mapping[str, JSON], handler: Handler
) -> JSON:
    """What a kind's prelude gives for this plan."""
    return asyncio.run(kind.prelude(FakeContext(plan, resources, handler)))


def play_session(
    kind: Kind,
    plan: SessionPlan,
    resources: Mapping[str, JSON],
    handler: Handler,
    *,
    prelude: JSON = None,
    resume: Checkpoint | None = None,
) -> Played:
    """Play a session to its end or turn limit, from the start or from a checkpoint."""
    return asyncio.run(_play(kind, plan, resources, handler, prelude, resume))


async def _play(
    kind: Kind,
    plan: SessionPlan,
    resources: Mapping[str, JSON],
    handler: Handler,
    prelude: JSON,
    resume: Checkpoint | None,
) -> Played:
    played = Played(prelude=prelude)

    def scope(phase: Phase, turn: int) -> FakeContext:
        return FakeContext(
            plan, resources, handler, record=played, phase=phase, turn=turn, prelude=prelude
        )

    def store(turn: int, state: Any) -> None:
        dumped = state.model_dump_json().encode()
        played.checkpoints.append(Checkpoint(turn, dumped, tuple(played.log.messages)))

    if resume is None:
        turn = 0
        store(0, await kind.start(scope("start", 0)))
    else:
        turn = resume.turn
        played.log = FakeLog(resume.messages)
        played.checkpoints.append(resume)
    while played.ended is None and turn < plan.max_turns:
        turn += 1
        state = kind.state_model.model_validate_json(played.checkpoints[-1].state)
        store(turn, await kind.turn(scope("turn", turn), state))
    ended = played.ended = played.ended or ("timeout", f"{plan.max_turns} turns")
    if ended[0] in ("completed", "timeout"):
        state = kind.state_model.model_validate_json(played.checkpoints[-1].state)
        await kind.finish(scope("finish", turn), state)
    return played
