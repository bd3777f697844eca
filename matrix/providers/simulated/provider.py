"""The provider of simulated models: reads real prompts, answers in role, takes time, can fail."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable, Sequence
from statistics import NormalDist
from typing import Final, TypeAlias

import orjson

from matrix.judging.request import JUDGE
from matrix.kinds.explanation.grouping import READER
from matrix.kinds.playtest.setup.prompts import CLASSIFIER, NARRATOR, PERSONA, PLAYER, SPOKESPERSON
from matrix.kinds.selftest.generating import GENERATOR_HEADING
from matrix.kinds.selftest.settings import ASSISTANT
from matrix.model.records import Call, ChatMessage, ToolCall, Usage
from matrix.model.seeds import stream
from matrix.model.spec.params import typical_reasoning
from matrix.providers.base import ProviderReply
from matrix.providers.simulated.calling import tools_called
from matrix.providers.simulated.faults import Faults, uniform
from matrix.providers.simulated.notebook import keeps_a_notebook, next_step
from matrix.providers.simulated.roles.classifier import classify
from matrix.providers.simulated.roles.generic import COUNTER, answer_any, count_on
from matrix.providers.simulated.roles.judge import judge
from matrix.providers.simulated.roles.narrator import narrate
from matrix.providers.simulated.roles.persona import cast
from matrix.providers.simulated.roles.player import play
from matrix.providers.simulated.roles.reader import read_failures
from matrix.providers.simulated.roles.sections import wanted_sections, write_sections
from matrix.providers.simulated.roles.selftest import assist, write_request
from matrix.providers.simulated.roles.spokesperson import relay
from matrix.providers.simulated.settings import LatencySettings, SimulationSettings, TraitsByCell
from matrix.providers.simulated.traits import Traits

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Scripted: TypeAlias = Callable[[Call], tuple[str, tuple[ToolCall, ...]] | None]
Role: TypeAlias = Callable[[Sequence[ChatMessage], random.Random, Traits], str]

_MESSAGE_OVERHEAD = 4
_BYTES_PER_TOKEN = 4
_NORMAL = NormalDist()


def _narrate(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    return narrate(messages, rng, traits)[1]


ROLES: Final[dict[str, Role]] = {
    NARRATOR: _narrate,
    PERSONA: cast,
    PLAYER: play,
    SPOKESPERSON: relay,
    CLASSIFIER: classify,
    JUDGE: judge,
    GENERATOR_HEADING: write_request,
    ASSISTANT: assist,
    READER: read_failures,
}
"""First line of a system prompt -> who answers it."""


def size(text: str) -> int:
    """Length in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def tokens_in(messages: Sequence[ChatMessage]) -> int:
    """Input tokens: a token per four bytes, rounded up, and four for each message."""
    total = _MESSAGE_OVERHEAD * len(messages)
    for message in messages:
        text = message.content
        total -= -(len(text) if text.isascii() else len(text.encode())) // _BYTES_PER_TOKEN
        for call in message.tool_calls:
            total += tokens_out(call.name + call.arguments)
    return total


def tokens_out(text: str) -> int:
    """Output tokens: a token per four bytes, rounded up."""
    return -(-size(text) // _BYTES_PER_TOKEN)


class SimulatedProvider:
    """Answers any call of a play-test from its prompts alone.

    The text depends on the messages, ``call.seed`` and the traits that ``call.cell`` selects,
    never on the attempt, the clock or anything global.

    Args:
        settings: Pace, traits, planted effects and faults.
        sleep: How to wait in real time; not called in virtual time.
        scripted: What is said instead to a call, in words and tools that are called; ``None`` for
            nothing of its own.
    """

    def __init__(
        self, settings: SimulationSettings, sleep: Sleep, scripted: Scripted | None = None
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._traits = TraitsByCell(settings)
        self._faults = Faults(settings.faults)
        self._scripted = scripted

    async def complete(self, call: Call, attempt: int) -> ProviderReply:
        """Answer attempt number ``attempt`` (from 1) of ``call``.

        Raises:
            RateLimited, ProviderUnavailable, ProviderTimeout, MalformedAnswer: As the faults of
                the settings have it.
        """
        fault = self._faults.of_attempt(call.seed, attempt)
        reply = None if fault else self.reply_to(call)
        if self._settings.time == "real":
            wait = reply.duration_s if reply else self._settings.latency.first_token_s
            await self._sleep(wait)
        if reply is None:
            assert fault is not None
            raise fault
        return reply

    def _said(self, call: Call) -> tuple[tuple[ToolCall, ...], str]:
        """Tools that are called, or the words."""
        if self._scripted is not None and (own := self._scripted(call)) is not None:
            return own[1], own[0]
        if keeps_a_notebook(call):
            step = next_step(call)
            return step.calls, step.text
        tool_calls = tools_called(call) if call.params.tools else ()
        return tool_calls, "" if tool_calls else answer(call, self._traits.of(call.cell))

    def reply_to(self, call: Call) -> ProviderReply:
        """The reply to a call that does not fail, without waiting for it."""
        tool_calls, text = self._said(call)
        finish = "tool_calls" if tool_calls else "stop"
        if self._faults.cuts_off(call.seed):
            text, finish = text[: len(text) // 2], "length"
        written = tokens_out(text) + sum(tokens_out(c.name + c.arguments) for c in tool_calls)
        thought = _reasoning(call) if call.params.more else 0
        if written + thought > call.params.max_tokens:
            thought = min(thought, call.params.max_tokens - 1)
            text, finish = _cut(text, call.params.max_tokens - thought), "length"
            written = tokens_out(text)
            tool_calls = ()
        output = written + thought
        usage = None
        if not self._faults.hides_usage(call.seed):
            read = tokens_in(call.messages) + tokens_out(call.params.tools)
            usage = Usage(input=read, output=output, reasoning=thought)
        took = latency_s(self._settings.latency, output, call.seed)
        return ProviderReply(text, usage, took, finish, tool_calls=tool_calls)


def answer(call: Call, traits: Traits) -> str:
    """What the model that ``call`` addresses says; at least one character."""
    messages = call.messages
    system = messages[0].content if messages and messages[0].role == "system" else ""
    heading = system[: system.find("\n")] if "\n" in system else system
    role = ROLES.get(heading.strip())
    if role is not None:
        return role(messages, stream(call.seed, "answer"), traits)
    if heading.startswith(COUNTER):
        return count_on(messages)
    if wanted_sections(system) and call.params.schema is None:
        return write_sections(messages, stream(call.seed, "answer"), traits)
    return answer_any(call.params.schema, stream(call.seed, "answer"))


def _reasoning(call: Call) -> int:
    """Tokens that it reasons for: what is typical of the effort, from half to one and a half."""
    typical = typical_reasoning(orjson.loads(call.params.more))
    return round(typical * (0.5 + uniform(call.seed, "reasoning")))


def _cut(text: str, tokens: int) -> str:
    """The longest beginning of ``text`` that takes at most ``tokens``."""
    return text.encode()[: tokens * _BYTES_PER_TOKEN].decode(errors="ignore")


def latency_s(settings: LatencySettings, output: int, seed: int) -> float:
    """Seconds that an answer of ``output`` tokens takes; the same for every attempt."""
    steady = settings.first_token_s + output / settings.tokens_per_s
    if not settings.jitter:
        return steady
    draw = min(max(uniform(seed, "latency"), 1e-9), 1 - 1e-9)
    return steady * math.exp(settings.jitter * _NORMAL.inv_cdf(draw))
