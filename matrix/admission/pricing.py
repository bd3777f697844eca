"""What goes into a price: a bound on a request's input tokens, and usage that can be believed."""

from __future__ import annotations

from collections.abc import Sequence

from matrix.model.records import ChatMessage, Usage

MESSAGE_OVERHEAD_TOKENS = 16
"""Generous bound on what a chat format adds around each message."""

ABSURD_TOKENS = 100_000_000
"""No model reads or writes this many tokens in one call; such usage is a broken report."""


SCHEMA_OVERHEAD_TOKENS = 512
"""Generous bound on what a provider adds around a JSON Schema."""


def input_bound(messages: Sequence[ChatMessage], schema: str | None = None) -> int:
    """An upper bound on the input tokens: no tokenizer makes more tokens than UTF-8 bytes."""
    total = 0 if schema is None else len(schema.encode()) + SCHEMA_OVERHEAD_TOKENS
    for message in messages:
        text = message.content
        # models sometimes break off in mid-character, which plain UTF-8 refuses
        size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        total += size + MESSAGE_OVERHEAD_TOKENS
    return total


def usable(usage: Usage | None) -> bool:
    """Whether a usage report can be believed: present, whole, not negative, not absurd."""
    return usage is not None and all(
        isinstance(count, int) and 0 <= count <= ABSURD_TOKENS for count in usage
    )
