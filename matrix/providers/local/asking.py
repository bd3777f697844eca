"""From a call to the body that llama.cpp's chat endpoint takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from matrix.model.records import CallParams, ChatMessage
from matrix.providers.local.grammar import grammar_of

TEMPERATURE: Final = 0.8
"""Of free text, where a call names none."""
SCHEMA_TEMPERATURE: Final = 0.2
"""Of labels and verdicts: at 0.8 a 135M model says of every third output that it ends the story,
at 0.2 only of those that do."""
REPEAT_PENALTY: Final = 1.1
REPEAT_WINDOW: Final = 256
"""Tokens. Without a penalty a model this small says the same sentence until it runs out of room;
JSON gets none, as it has to repeat its own punctuation."""

_SEEDS: Final = 2**32
_RANDOM_SEED: Final = _SEEDS - 1
"""llama.cpp takes this seed to mean a random one."""


def seed_for(seed: int, attempt: int) -> int:
    """The 32-bit seed of an attempt; a second attempt must not fail in the same way."""
    truncated = (seed + attempt - 1) % _SEEDS
    return 0 if truncated == _RANDOM_SEED else truncated


def chat_body(
    messages: Sequence[ChatMessage], params: CallParams, seed: int, *, cache: bool
) -> dict[str, Any]:
    """The request for one answer, streamed so that hanging up stops the model's work."""
    usual = TEMPERATURE if params.schema is None else SCHEMA_TEMPERATURE
    body: dict[str, Any] = {
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "max_tokens": params.max_tokens,
        "temperature": usual if params.temperature is None else params.temperature,
        "seed": seed,
        "cache_prompt": cache,
        "stream": True,
        "stream_options": {"include_usage": True},
        **(orjson.loads(params.more) if params.more else {}),
    }
    if params.schema is None:
        return body | {"repeat_penalty": REPEAT_PENALTY, "repeat_last_n": REPEAT_WINDOW}
    return body | _constraint(orjson.loads(params.schema), params.max_tokens)


def _constraint(schema: Any, max_tokens: int) -> dict[str, Any]:
    grammar = grammar_of(schema, max_tokens)
    if grammar is not None:
        return {"grammar": grammar}
    shape = {"name": "answer", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": shape}}
