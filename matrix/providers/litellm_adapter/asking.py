"""From a call to what litellm is given: messages, limits, and how the answer should look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from matrix.model.records import CallParams, ChatMessage
from matrix.providers.litellm_adapter.settings import SchemaMode

Message: TypeAlias = dict[str, Any]

CACHED_FROM_CHARS = 4_000
"""A prompt up to a mark that is shorter is below the smallest cacheable one: 1,024 tokens, for some
models more (Opus 4.5 and Haiku 4.5: 4,096). A mark below a model's own minimum is ignored by the
provider: nothing is written and nothing more is billed, so it need not be known here."""

_MARKED_PROVIDERS = frozenset({"anthropic"})
"""Providers that cache only what is marked; the others cache by themselves or not at all."""


def whole_text(text: str) -> str:
    """``text`` with half characters (lone surrogates) replaced, which no encoder takes."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def messages_of(messages: Sequence[ChatMessage], mark_cache: bool) -> list[Message]:
    """Chat messages as dictionaries, new ones each time, since litellm may change them."""
    asked: list[Message] = [{"role": m.role, "content": whole_text(m.content)} for m in messages]
    for place in _marked(messages) if mark_cache else ():
        mark = {"type": "ephemeral"}
        block = {"type": "text", "text": asked[place]["content"], "cache_control": mark}
        asked[place]["content"] = [block]
    return asked


def _marked(messages: Sequence[ChatMessage]) -> list[int]:
    """Messages at whose end a cached prompt may end: two of the four that a provider allows.

    The system message is shared by sessions; what follows it up to the last message but one comes
    again in the next turn of the same session, which reads it from the cache and adds to it. The
    last message may still grow, or be a question that is asked once, so it is never written.
    """
    system = next((at for at, m in enumerate(messages) if m.role == "system"), None)
    places = [] if system is None else [system]
    last = len(messages) - 2
    if last > (system or 0) and messages[last].role != "system":
        places.append(last)
    return [
        place
        for place in places
        if messages[place].content.strip()  # an empty text cannot be marked
        and sum(len(m.content) for m in messages[: place + 1]) >= CACHED_FROM_CHARS
    ]


def wants_mark(provider: str, allowed: bool) -> bool:
    """Whether long prompts are to be marked for this provider's cache."""
    return allowed and provider in _MARKED_PROVIDERS


def parameters_of(params: CallParams, mode: SchemaMode) -> dict[str, Any]:
    """Parameters of ``litellm.acompletion``; ``mode`` is already resolved from ``auto``."""
    asked: dict[str, Any] = {"max_tokens": params.max_tokens}
    if params.temperature is not None:
        asked["temperature"] = params.temperature
    if params.schema is not None and mode == "schema":
        asked["response_format"] = _schema_format(orjson.loads(params.schema))
    elif params.schema is not None and mode == "object":
        asked["response_format"] = {"type": "json_object"}
    return asked


def _schema_format(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    shape = {"name": "answer", "schema": schema, "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": shape}


def _is_strict(schema: Any) -> bool:
    """Whether strict mode would accept a schema: closed objects whose fields are all required."""
    if isinstance(schema, Mapping):
        fields = schema.get("properties")
        if isinstance(fields, Mapping) or schema.get("type") == "object":
            closed = schema.get("additionalProperties") is False
            if not closed or set(schema.get("required", ())) != set(fields or ()):
                return False
        return all(map(_is_strict, schema.values()))
    return not isinstance(schema, list) or all(map(_is_strict, schema))


def mentions_json(messages: Sequence[ChatMessage]) -> bool:
    """Whether the prompt says "JSON"; asking for a JSON object without it is refused by OpenAI."""
    return any("json" in message.content.lower() for message in reversed(messages))
