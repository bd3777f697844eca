"""From a call to what litellm is given: messages, limits, and how the answer should look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from matrix.model.records import CallParams, ChatMessage, ToolCall
from matrix.providers.litellm_adapter.settings import SchemaMode

Message: TypeAlias = dict[str, Any]

CACHED_FROM_CHARS = 4_000
"""A prompt up to a mark that is shorter is below the smallest cacheable one: 1,024 tokens, for some
models more (Opus 4.5 and Haiku 4.5: 4,096). A mark below a model's own minimum is ignored by the
provider: nothing is written and nothing more is billed, so it need not be known here."""

_WANTED_BACK: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("thinking_blocks",),
    "bedrock": ("thinking_blocks",),
    "vertex_ai": ("thinking_blocks", "provider_specific_fields"),
    "gemini": ("provider_specific_fields",),
    "deepseek": ("reasoning_content",),
    "moonshot": ("reasoning_content",),
}
"""Fields of answers that providers demand back while the answer's tool calls are worked on; for
the others reasoning stays out of every later request."""

_RENAMED = {"effort": "reasoning_effort"}
"""Parameters that litellm calls otherwise."""

_MARKED_PROVIDERS = frozenset({"anthropic"})
"""Providers that cache only what is marked; the others cache by themselves or not at all."""


def whole_text(text: str) -> str:
    """``text`` with half characters (lone surrogates) replaced, which no encoder takes."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def messages_of(
    messages: Sequence[ChatMessage], mark_cache: bool, provider: str = ""
) -> list[Message]:
    """Chat messages as dictionaries, new ones each time, since litellm may change them.

    What ``provider`` itself gave with an answer goes back to it with the answer's tool calls.
    """
    asked = [_message(message, provider) for message in messages]
    for place in _marked(messages) if mark_cache else ():
        mark = {"type": "ephemeral"}
        block = {"type": "text", "text": asked[place]["content"], "cache_control": mark}
        asked[place]["content"] = [block]
    return asked


def _message(message: ChatMessage, provider: str) -> Message:
    asked: Message = {"role": message.role, "content": whole_text(message.content)}
    if message.role == "tool":
        asked["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        asked["tool_calls"] = [_tool_call(call, provider) for call in message.tool_calls]
        if not message.content:
            del asked["content"]  # as litellm itself does: not every service takes a null
        asked |= carried(message.carry, provider)
    return asked


def _tool_call(call: ToolCall, provider: str) -> Message:
    function = {"name": call.name, "arguments": whole_text(call.arguments)}
    asked = {"id": call.id, "type": "function", "function": function}
    return asked | carried(call.carry, provider)


def carry_of(fields: Mapping[str, Any], provider: str) -> str:
    """What a provider gave with an answer or a tool call and wants back, as JSON text."""
    requested = _WANTED_BACK.get(provider, ())
    found = {name: fields[name] for name in requested if fields.get(name)}
    return orjson.dumps({provider: found}).decode() if found else ""


def carried(carry: str, provider: str) -> Message:
    """The inverse; nothing of what another provider gave, whose signatures mean nothing here."""
    found: Message = orjson.loads(carry).get(provider, {}) if carry else {}
    return found


def _marked(messages: Sequence[ChatMessage]) -> list[int]:
    """Messages at whose end a cached prompt may end: two of the four that a provider allows.

    The system message is shared by sessions; what follows it up to the last message but one comes
    again in the next turn of the same session, which reads it from the cache and adds to it. The
    last message may still grow, or be a question that is asked once, so it is never written.
    An answer that is tool calls only has nothing to put a mark on, so the one before it has it.
    """
    system = next((at for at, m in enumerate(messages) if m.role == "system"), None)
    places = [] if system is None else [system]
    before = range(len(messages) - 2, system or 0, -1)
    last = next((at for at in before if messages[at].content.strip()), None)
    if last is not None and messages[last].role != "system":
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
    if params.tools:
        asked["tools"] = [
            {"type": "function", "function": _described(tool)}
            for tool in orjson.loads(params.tools)
        ]
    if params.tool_choice:
        asked["tool_choice"] = _choice(params.tool_choice)
    if params.more:
        named = more_parameters(orjson.loads(params.more))
        asked = {**named, **asked}  # a schema that the kind asks for goes over a response format
    return asked


def more_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a run spec by litellm's names."""
    asked = {_RENAMED.get(name, name): value for name, value in params.items()}
    budget = asked.pop("thinking_tokens", None)
    if budget is not None:
        asked["thinking"] = (
            {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}
        )
    return asked


def _described(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = {"type": "object", "properties": {}, **(tool["parameters"] or {})}
    return {**tool, "parameters": parameters}


def _choice(choice: str) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


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
