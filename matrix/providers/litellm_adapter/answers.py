"""From litellm's response object to this project's reply: text, usage, why it ended, limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import orjson

from matrix.dialects.usage import usage_from
from matrix.model.errors import MalformedAnswer
from matrix.model.records import ToolCall, Usage
from matrix.providers.base import ProviderReply
from matrix.providers.litellm_adapter.asking import carry_of, whole_text
from matrix.providers.litellm_adapter.errors import AnswerRefused

_LITELLM_PREFIX = "llm_provider-"


def reply_of(response: Any, duration_s: float, target: str, provider: str = "") -> ProviderReply:
    """The reply in a response of ``litellm.acompletion``; ``provider`` is litellm's name of it.

    Raises:
        AnswerRefused: The model refused, or its answer was held back; it was asked all the same.
        MalformedAnswer: There is neither text nor a tool call in it. Both carry what was billed,
            where that was said.
    """
    choices = getattr(response, "choices", None)
    if not choices:
        raise MalformedAnswer(f"{target}: an answer without choices", usage=usage_of(response))
    choice = choices[0]
    finish = str(getattr(choice, "finish_reason", None) or "stop")
    message = getattr(choice, "message", None)
    text, refusal = getattr(message, "content", None), _refusal(message)
    tool_calls = _tool_calls(message, provider)
    usage = usage_of(response, text or refusal or ("called" if tool_calls else ""))
    if finish == "content_filter" or (not text and refusal):
        raise AnswerRefused(f"{target}: refused to answer ({finish}) {refusal}", usage=usage)
    text = text if isinstance(text, str) else ""
    if not text.strip() and not tool_calls:
        raise MalformedAnswer(_why_empty(target, finish), usage=usage)
    answered_by = str(getattr(response, "model", None) or "")
    answered_by = answered_by.removeprefix(target.partition("/")[0] + "/")
    return ProviderReply(
        whole_text(text),
        usage,
        duration_s,
        finish,
        limit_headers(response),
        answered_by,
        tool_calls,
        whole_text(str(getattr(message, "reasoning_content", None) or "")),
        carry_of(_fields(message), provider) if tool_calls else "",
    )


def _tool_calls(message: object, provider: str) -> tuple[ToolCall, ...]:
    """The calls in an answer; arguments that are no text are written as JSON again."""
    calls: list[ToolCall] = []
    for call in getattr(message, "tool_calls", None) or ():
        function = getattr(call, "function", None)
        name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        called = str(getattr(call, "id", None) or f"call_{len(calls)}")
        carry = carry_of(_fields(call), provider)
        calls.append(ToolCall(called, whole_text(str(name or "")), whole_text(text), carry))
    return tuple(calls)


def _fields(holder: Any) -> Mapping[str, Any]:
    """The fields of one of litellm's values, as JSON."""
    dump = getattr(holder, "model_dump", None)
    found: Mapping[str, Any] = dump() if dump is not None else vars(holder)
    return found


def _refusal(message: object) -> str:
    extra = getattr(message, "provider_specific_fields", None)
    found = getattr(message, "refusal", None) or (extra or {}).get("refusal")
    return str(found or "")


def _why_empty(target: str, finish: str) -> str:
    if finish == "length":
        return (
            f"{target}: max_tokens was used up before any text was written, "
            "probably by reasoning; allow more tokens"
        )
    return f"{target}: an answer without text (finish reason {finish!r})"


def usage_of(response: Any, text: str = "") -> Usage | None:
    """Tokens as reported, as far as :func:`usage_from` takes them for a report."""
    usage = getattr(response, "usage", None)
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    given, gave = _part(usage, "prompt_tokens_details"), _part(usage, "completion_tokens_details")
    cached = _count(given, "cached_tokens") or _count(usage, "cache_read_input_tokens") or 0
    stored = (
        _count(given, "cache_creation_tokens")
        or _count(given, "cache_write_tokens")
        or _count(usage, "cache_creation_input_tokens")
        or 0
    )
    return usage_from(
        read,
        written,
        said=bool(text),
        total=_count(usage, "total_tokens") or 0,
        cached=cached,
        stored=stored,
        thought=_count(gave, "reasoning_tokens") or 0,
    )


def usage_in(body: bytes) -> Usage | None:
    """Tokens that an answer which cannot be read reports all the same, in whichever shape."""
    try:
        answer = json.loads(body, object_hook=_in_openais_words)
    except (ValueError, RecursionError):
        return None
    return usage_of(answer, "unread")


def _in_openais_words(fields: dict[str, Any]) -> SimpleNamespace:
    """An object whose tokens have OpenAI's names, also where Anthropic's were given."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    if "input_tokens" in fields and "prompt_tokens" not in fields:
        read = [fields.get(name) or 0 for name in names]
        if all(type(count) is int for count in read):
            words = {"prompt_tokens": sum(read), "completion_tokens": fields.get("output_tokens")}
            return SimpleNamespace(**{**fields, **words})
    return SimpleNamespace(**fields)


def without_usage(body: bytes) -> bytes | None:
    """A JSON answer without its usage; ``None`` if there is none to take out."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(answer, dict) or answer.pop("usage", None) is None:
        return None
    return orjson.dumps(answer)


def _part(usage: Any, name: str) -> Any:
    return getattr(usage, name, None)


def _count(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value >= 0 else None


def limit_headers(response: Any) -> Mapping[str, str]:
    """Rate-limit headers of a response, in lower case, as the provider named them."""
    hidden = getattr(response, "_hidden_params", None)
    headers = hidden.get("additional_headers") if isinstance(hidden, Mapping) else None
    return only_limits(headers or {})


def only_limits(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Those headers that say something about limits."""
    lower = ((str(k).lower().removeprefix(_LITELLM_PREFIX), str(v)) for k, v in headers.items())
    return {k: v for k, v in lower if "ratelimit" in k or k.startswith("retry-after")}
