"""What goes into a price: a bound on a request's tokens, and usage that can be believed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matrix.model.money import NanoUSD
from matrix.model.records import Call, CallParams, ChatMessage, Usage

_PLAIN = CallParams()

MESSAGE_OVERHEAD_TOKENS = 16
"""Generous bound on what a chat format adds around each message."""

FAR_BEYOND = 100
BEYOND_DOUBT = 1_000_000
READ_BEYOND_DOUBT = 150_000
"""A report of more tokens than these, written or read, and of more than so many times what its
request allows, is implausible. Both, because models do think hundreds of thousands of tokens past
a small limit, and services do put long prompts of their own in front."""

CACHED_BEYOND_DOUBT = 100_000
"""A report of so many more tokens from a cache, or into it, than were read is implausible."""

MOST_BYTES_OF_A_TOKEN = 128
"""A report of fewer tokens than one for so many bytes is implausible."""

SCHEMA_OVERHEAD_TOKENS = 512
"""Generous bound on what a provider adds around a JSON Schema, or around tools."""

TOOL_OVERHEAD_TOKENS = 64
"""Generous bound on what a chat format adds around a call of a tool, or its result."""


def input_bound(messages: Sequence[ChatMessage], params: CallParams = _PLAIN) -> int:
    """An upper bound on the input tokens: no tokenizer makes more tokens than UTF-8 bytes.

    Schemas, tools and other parameters are input as well, and so is what goes back with the
    answers before (signed reasoning, the model's own tool calls).
    """
    total = 0
    for message in messages:
        total += _bytes(message.content) + MESSAGE_OVERHEAD_TOKENS
        if message.tool_calls or message.carry or message.tool_call_id:
            total += _bytes_of_tools(message)
    for described in (params.schema or "", params.tools):
        if described:
            total += _bytes(described) + SCHEMA_OVERHEAD_TOKENS
    return total + _bytes(params.more) + _bytes(params.tool_choice)


def input_of(call: Call) -> int:
    """:func:`input_bound` of a call, whatever shape its request has."""
    return input_bound(call.messages, call.params) if call.raw is None else call.raw.size


def texts_of(call: Call) -> int:
    """UTF-8 bytes of the texts in a call's messages, whatever shape its request has."""
    if call.raw is not None:
        return call.raw.texts
    return sum(_bytes(message.content) for message in call.messages)


def _bytes_of_tools(message: ChatMessage) -> int:
    called = sum(sum(map(_bytes, call)) + TOOL_OVERHEAD_TOKENS for call in message.tool_calls)
    return called + _bytes(message.carry) + _bytes(message.tool_call_id) + TOOL_OVERHEAD_TOKENS


def usable(usage: Usage | None) -> bool:
    """Whether a usage report can be read: present, whole and not negative."""
    return usage is not None and all(isinstance(count, int) and count >= 0 for count in usage)


def implausible(usage: Usage, size: int, max_tokens: int) -> bool:
    """Whether a usage report says more than its call can have taken.

    Args:
        usage: A usable report.
        size: Bound on the request's input tokens, of :func:`input_bound`.
        max_tokens: Output tokens that the request allows.
    """
    if usage.cached + usage.cache_write - usage.input > CACHED_BEYOND_DOUBT:
        return True
    read = max(usage.input, usage.cached + usage.cache_write)
    written = max(usage.output, usage.reasoning)
    return any(
        found > max(FAR_BEYOND * allowed, doubt)
        for found, allowed, doubt in (
            (read, size, READ_BEYOND_DOUBT),
            (written, max_tokens, BEYOND_DOUBT),
        )
    )


def too_small(usage: Usage, texts: int, text: str) -> bool:
    """Whether a usage report says less than request and answer can have taken.

    Long tokens have some tens of bytes; :data:`MOST_BYTES_OF_A_TOKEN` is beyond all of them.

    Args:
        usage: A usable report.
        texts: UTF-8 bytes of the request's texts, of :func:`texts_of`.
        text: All that the model wrote, thoughts and arguments of tools included.
    """
    counted = max(usage.input, usage.cached + usage.cache_write)
    return any(
        found * MOST_BYTES_OF_A_TOKEN < size
        for found, size in ((counted, texts), (usage.output, _bytes(text)))
    )


def _bytes(text: str) -> int:
    # models sometimes break off in mid-character, which plain UTF-8 refuses
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


class Dearness:
    """By what factor attempts of each model have cost more than the most that they should.

    It is the largest one seen. Holds that are out together overrun for one cause and each say so;
    and an attempt is compared with its own bound, however much that was raised for its hold.
    """

    def __init__(self, factors: Mapping[str, float] | None = None) -> None:
        self.factors = dict(factors or {})

    def note(self, model: str, cost: NanoUSD, bound: NanoUSD) -> None:
        """An attempt of this model cost more than its hold; ``bound`` is what it should at most."""
        if bound > 0:
            self.factors[model] = max(self.factors.get(model, 1.0), cost / bound)

    def raised(self, model: str, bound: NanoUSD) -> NanoUSD:
        """What an attempt is to be held at that should cost at most ``bound``."""
        return math.ceil(bound * self.factors.get(model, 1.0))
