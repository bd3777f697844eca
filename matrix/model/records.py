"""The nouns that travel between processes: calls, answers, messages, planned sessions.

All are plain immutable values with no behaviour beyond derived fields. They cross process
boundaries thousands of times a second, so they are named tuples and slotted dataclasses, which
pickle small and fast; only what people write (the run spec, packs) is a pydantic model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import orjson

from matrix.model.money import NanoUSD

JSON: TypeAlias = Any
"""A value that JSON can carry."""


def is_deeper(value: JSON, most: int) -> bool:
    """Whether lists and mappings stand in each other more than so many levels deep."""
    level = [value]
    for _ in range(most + 1):
        inside = [one for one in level if isinstance(one, dict | list)]
        level = [
            item for one in inside for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


Phase = Literal["start", "turn", "finish"]
PHASES: tuple[Phase, ...] = ("start", "turn", "finish")
"""In their order. Journals hold places in this list: it is only ever added to at the end."""
Outcome = Literal["completed", "timeout", "failed", "errored", "censored"]
OUTCOMES: tuple[Outcome, ...] = ("completed", "timeout", "failed", "errored", "censored")
PLAYED: tuple[Outcome, ...] = ("completed", "timeout", "failed")
"""How sessions end that were played to an end, good or bad."""


class Tool(NamedTuple):
    """A function that a model may ask to be called.

    ``parameters`` is the JSON Schema of its arguments, an object; ``None`` for no arguments.
    """

    name: str
    description: str = ""
    parameters: JSON = None


class ToolCall(NamedTuple):
    """A model's wish that a tool be called.

    ``arguments`` is JSON text as the model wrote it, so it may be broken or follow no schema.
    ``carry`` is JSON text that the provider wants back with it, e.g. a signature; mostly empty.
    """

    id: str
    name: str
    arguments: str
    carry: str = ""


class ChatMessage(NamedTuple):
    """One message of a model request, in the shape every chat API takes.

    ``tool_calls`` is of an assistant's message, ``tool_call_id`` says which call a message of role
    ``tool`` answers, and ``carry`` is an earlier :attr:`Answer.carry`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    carry: str = ""

    @property
    def parts(self) -> list[JSON]:
        """What it says, for content hashes: of a plain message its role and content only."""
        if not any(self[2:]):
            return [self.role, self.content]
        return [self.role, self.content, [list(c) for c in self.tool_calls], *self[3:]]


class CallParams(NamedTuple):
    """Parameters of a model request, hashable.

    Attributes:
        max_tokens: Bounds the answer, reasoning included, and so its cost; always given.
        temperature: Of the draw; ``None`` leaves it to the model.
        schema: A JSON Schema the answer should follow, as JSON text; ``None`` for free text.
        tools: The :class:`Tool` values that the model may call, as JSON text; empty for none.
        tool_choice: ``auto``, ``none``, ``required`` or the name of a tool; empty for ``auto``.
        more: Every other parameter by its name, as JSON text; empty for none.
    """

    max_tokens: int = 512
    temperature: float | None = None
    schema: str | None = None
    tools: str = ""
    tool_choice: str = ""
    more: str = ""

    @property
    def parts(self) -> list[JSON]:
        """What they say, for content hashes; what is not used is not in them."""
        return list(self) if any(self[3:]) else list(self[:3])


Shape = Literal["chat", "responses", "messages"]
"""In which shape a client asks: OpenAI's chat or responses, Anthropic's messages."""


class RawRequest(NamedTuple):
    """A request as a client wrote it, for a service that speaks its shape.

    Attributes:
        shape: The shape of ``body``.
        body: What is sent, but for the model's name where the service knows it by another.
        model: The model's name in ``body``.
        size: Bound on the input tokens, of everything that the request brings in.
        stream: Whether the answer is to come as events.
        hides_usage: The client did not ask for the usage that ends the stream.
        headers: Headers that mean something to the service; never a key.
        query: What follows the address, e.g. ``beta=true``.
        texts: UTF-8 bytes of the texts in its messages.
    """

    shape: Shape
    body: bytes
    model: str
    size: int
    stream: bool = False
    hides_usage: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    query: str = ""
    texts: int = 0


class CallKey(NamedTuple):
    """Which call of which session: the identity under which its answer is recorded.

    ``slot`` is the path inside the turn, e.g. ``"2"`` for the third call in a row, or ``"1.0.2"``
    for the third call of the first child of a parallel block that stands second.
    """

    session_id: str
    phase: Phase
    turn: int
    slot: str

    def __str__(self) -> str:
        return f"{self.phase}:{self.turn}:{self.slot}"


class Usage(NamedTuple):
    """Tokens as the provider reported them. ``input`` includes cached and cache-write tokens."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One logical model request of a session, before admission has looked at it.

    Attributes:
        key: Identity of the call.
        digest: Content hash of role, model, messages and parameters; compared with the recorded
            one on resume, never looked up by.
        order: Launch order of the session: lower goes first when anything is scarce.
        role: Role in the scenario (``narrator``, ``players``, ...).
        model: Model name after aliases are resolved, e.g. ``sim/opus-4.5``.
        messages: The request.
        params: Its parameters.
        seed: Seed for the answer, derived from the round's seed, the key and the request; the
            same for every attempt.
        cell: The session's factor levels; simulated models read planted effects by it, real
            providers ignore it.
        agent: The player or agent that asks; empty for nobody in particular.
        tag: What it is asked for (a rubric, an assertion, a stage); empty for nothing special.
        timeout_s: Longest wait for the answer, in seconds; ``None`` for the provider's own.
        raw: The request in a client's own words; then there are no ``messages``.
        fields: What the kind tells an agent beside the request, by name; models don't see it.
        apart: Whether an agent works in an empty folder rather than in the session's.
        fresh: Whether no answer will do that was bought before.
        options: The session's options, where its kind says itself what simulated models answer.
    """

    key: CallKey
    digest: str
    order: int
    role: str
    model: str
    messages: tuple[ChatMessage, ...]
    params: CallParams
    seed: int
    cell: Mapping[str, str] = field(default_factory=dict)
    agent: str = ""
    tag: str = ""
    timeout_s: float | None = None
    raw: RawRequest | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False
    fresh: bool = False
    options: Mapping[str, JSON] = field(default_factory=dict)


class Failure(NamedTuple):
    """A final error, as data: the class name of this project's error and its message."""

    error_class: str
    message: str


class Answer(NamedTuple):
    """The recorded outcome of a call; final errors are answers as well.

    ``cost`` is what the ledger took for it, settled or presumed, and for earlier attempts that were
    billed; ``duration_s`` is the model's working time for the answering attempt, without quota and
    retry waits, and moves the session's clock. ``reasoning`` is what the model thought, as far as
    it is told, apart from ``text``; ``carry`` is JSON text that the provider wants back with this
    answer while its tool calls are worked on; ``answered_by`` is the provider's own name of the
    model that answered.
    Of a raw request ``text`` is the whole body, of content type ``media``. ``effect`` is JSON text:
    what an agent's turn did to the world, with the ``tree`` of the working folder that it left.
    ``cached`` says that an earlier run bought it.
    """

    text: str
    usage: Usage
    cost: NanoUSD
    duration_s: float
    model: str
    finish_reason: str = "stop"
    failure: Failure | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    carry: str = ""
    answered_by: str = ""
    media: str = ""
    effect: str = ""
    cached: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether it ended because its ``max_tokens`` were reached."""
        return self.finish_reason == "length"

    @property
    def status(self) -> str:
        """The state of its work that an agent says, e.g. of a job; empty where nothing says it."""
        found = orjson.loads(self.effect).get("status") if self.effect else ""
        return found if isinstance(found, str) else ""

    @property
    def message(self) -> ChatMessage:
        """This answer as a message of the next request."""
        return ChatMessage("assistant", self.text, self.tool_calls, carry=self.carry)


PRIVATE: Final = "private/"
"""Begins the channels of what one participant alone was told, and said: its name follows."""


class Message(NamedTuple):
    """One line of a session's append-only log.

    Attributes:
        channel: ``table`` for what the whole group hears, ``private/<name>`` for asides,
            ``persona/<name>`` for system prompts, or any name of the kind's own.
        speaker: Who says it: a name of the kind's own, or ``system``.
        text: The words.
        turn: Turn in which it was said.
        label: Classification or note, empty where there is none.
        confidence: How sure the classification is, 0 to 1, where it says so.
    """

    channel: str
    speaker: str
    text: str
    turn: int
    label: str = ""
    confidence: float | None = None

    @property
    def heard_by(self) -> str:
        """Who alone heard it, or said it for the other's ears alone; empty for anything else."""
        return self.channel.removeprefix(PRIVATE) if self.channel.startswith(PRIVATE) else ""


class Score(NamedTuple):
    """A named measured value. ``turn`` is ``None`` for a score of the whole session."""

    name: str
    value: float | None
    turn: int | None = None
    label: str = ""
    reason: str = ""
    judge_model: str = ""
    rubric_hash: str = ""


class Event(NamedTuple):
    """Something that happened in a session, as its kind tells it.

    Attributes:
        kind: What happened.
        turn: The turn that it is about.
        subject: Whom or what it concerns.
        detail: More about it, in words for people.
        value: A number that belongs to it.
        severity: How serious it is; empty for what is no problem.
        data: More about it, for programs.
    """

    kind: str
    turn: int
    subject: str = ""
    detail: str = ""
    value: float | None = None
    severity: str = ""
    data: Mapping[str, JSON] | None = None


class Player(NamedTuple):
    """One member of a group, for the ``players`` table."""

    name: str
    archetype: str
    model: str
    is_spokesperson: bool
    mood: str


SessionPart = Literal["prelude", "play"]


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """Everything a worker needs to play one session, with texts by reference to ``resources``.

    Attributes:
        session_id: Content hash of scenario, levels, round and run seed.
        part: ``prelude`` for what models write once per round and scenario before play (names,
            backstories), shared by every variant; ``play`` for a session proper.
        order: Launch order over the whole run; the tie-breaker wherever something is scarce.
        round: Round number from 0.
        seed: Seed shared by every variant of the same round and scenario.
        scenario: Name of the scenario pack.
        kind: Name of its kind.
        levels: Factor -> level, as text, for tables and planted effects.
        options: The kind's options after factors were applied (JSON).
        roles: Role -> model name or ``by-archetype`` style rule understood by the kind.
        resources: Name -> content hash of texts and data the session needs.
        prelude_id: The prelude whose result this session shares, if any.
        max_turns: Turn limit.
        max_session_s: Limit on the session's own clock, in seconds.
        parent_session_id: Session that this one continues, if it does.
        parent_turn: Turn of the parent after which it parts from it.
        parent_run: Run that the parent is in.
        changed: What is other than in the parent, e.g. ``prompt=pulse-aware``; empty for nothing.
        repeat: Number from 1 among the continuations of one moment with the same change.
        params: Role, or ``all`` -> parameters of its calls, by name; see
            :mod:`matrix.model.spec.params`.
    """

    session_id: str
    part: SessionPart
    order: int
    round: int
    seed: int
    scenario: str
    kind: str
    levels: Mapping[str, str]
    options: JSON
    roles: Mapping[str, str]
    resources: Mapping[str, str]
    prelude_id: str | None
    max_turns: int
    max_session_s: float
    parent_session_id: str | None = None
    parent_turn: int | None = None
    parent_run: str | None = None
    changed: str = ""
    repeat: int | None = None
    params: Mapping[str, JSON] = field(default_factory=dict)


class FolderLimits(NamedTuple):
    """What a session's working folder may hold at a checkpoint; sizes are in bytes.

    ``entries`` counts files, folders and symbolic links.
    """

    file_bytes: int = 64 << 20
    total_bytes: int = 256 << 20
    entries: int = 20_000


def storable_text(text: str) -> str:
    """Text that UTF-8 can carry: half a surrogate pair, as cut answers have it, becomes ``?``."""
    return text if text.isascii() else text.encode(errors="replace").decode()
