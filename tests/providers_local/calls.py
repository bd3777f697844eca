"""Calls as the engine would hand them to the provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from matrix.model.records import Call, CallKey, CallParams, ChatMessage

SMOLLM2 = "local/smollm2-135m"


def make_call(
    *messages: ChatMessage,
    seed: int = 1,
    max_tokens: int = 40,
    temperature: float | None = None,
    schema: Mapping[str, Any] | None = None,
    model: str = SMOLLM2,
) -> Call:
    """A call with these messages."""
    return Call(
        key=CallKey("s", "turn", 1, "0"),
        digest="",
        order=0,
        role="narrator",
        model=model,
        messages=messages,
        params=CallParams(
            max_tokens, temperature, orjson.dumps(schema).decode() if schema else None
        ),
        seed=seed,
    )


def system(text: str) -> ChatMessage:
    return ChatMessage("system", text)


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage("assistant", text)
