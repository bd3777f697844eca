"""From litellm's response object to this project's reply: text, usage, why it ended, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matrix.model.errors import MalformedAnswer
from matrix.model.records import Usage
from matrix.providers.base import Reply
from matrix.providers.litellm_adapter.asking import whole_text
from matrix.providers.litellm_adapter.errors import AnswerRefused

_LITELLM_PREFIX = "llm_provider-"


def reply_of(response: Any, duration_s: float, target: str) -> Reply:
    """The reply in a response of ``litellm.acompletion``.

    Raises:
        AnswerRefused: The model refused, or its answer was held back; it was asked all the same.
        MalformedAnswer: There is no text in it.
    """
    choices = getattr(response, "choices", None)
    if not choices:
        raise MalformedAnswer(f"{target}: an answer without choices")
    choice = choices[0]
    finish = str(getattr(choice, "finish_reason", None) or "stop")
    message = getattr(choice, "message", None)
    text = getattr(message, "content", None)
    if finish == "content_filter" or (not text and _refusal(message)):
        raise AnswerRefused(f"{target}: refused to answer ({finish}) {_refusal(message)}"[:500])
    if not isinstance(text, str) or not text.strip():
        raise MalformedAnswer(_why_empty(target, finish))
    usage = usage_of(response, text)
    return Reply(whole_text(text), usage, duration_s, finish, limit_headers(response))


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
    """Tokens as reported, on the dear side where the report contradicts itself.

    litellm fills in zeros when the provider reports nothing, so a report without input tokens, or
    without output tokens although there is text, counts as none at all.
    """
    usage = getattr(response, "usage", None)
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    total = _count(usage, "total_tokens") or 0
    if not read or written is None or (not written and text):
        return None
    given, gave = _part(usage, "prompt_tokens_details"), _part(usage, "completion_tokens_details")
    cached = _count(given, "cached_tokens") or _count(usage, "cache_read_input_tokens") or 0
    stored = (
        _count(given, "cache_creation_tokens")
        or _count(given, "cache_write_tokens")
        or _count(usage, "cache_creation_input_tokens")
        or 0
    )
    thought = _count(gave, "reasoning_tokens") or 0
    read = max(read, cached + stored)
    return Usage(read, max(written, thought, total - read), cached, stored, thought)


def _part(usage: Any, name: str) -> Any:
    return getattr(usage, name, None)


def _count(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and value >= 0 else None


def limit_headers(response: Any) -> Mapping[str, str]:
    """Rate-limit headers of a response, in lower case, as the provider named them."""
    hidden = getattr(response, "_hidden_params", None)
    headers = hidden.get("additional_headers") if isinstance(hidden, Mapping) else None
    return only_limits(headers or {})


def only_limits(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Those headers that say something about limits."""
    lower = ((str(k).lower().removeprefix(_LITELLM_PREFIX), str(v)) for k, v in headers.items())
    return {k: v for k, v in lower if "ratelimit" in k or k.startswith("retry-after")}
