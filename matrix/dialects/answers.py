"""What an answer in any shape reports: tokens, who answered, why it ended; whole or as events.

Tokens are read by the rule that every answer is read by, :func:`matrix.dialects.usage.usage_from`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from matrix.dialects.texts import written, written_in_events
from matrix.dialects.usage import usage_from
from matrix.model.records import Shape, Usage

_DATA = b"data:"
_LAST = frozenset({"message_stop", "response.completed", "response.incomplete", "response.failed"})
"""Events that end a stream."""
_LONGEST_ERROR = 500


class Reported(NamedTuple):
    """What an answer says of itself.

    Attributes:
        usage: Tokens; ``None`` if it reports none that can be read.
        model: The provider's own name of the model that answered.
        finish_reason: Why it ended, as the provider words it.
        whole: Whether it came to its end.
        error: What went wrong in the middle of a stream, if the provider says so.
        written: All that the model wrote: text, thoughts and calls of tools.
    """

    usage: Usage | None = None
    model: str = ""
    finish_reason: str = ""
    whole: bool = False
    error: str = ""
    written: str = ""


def reported(shape: Shape, body: bytes, *, stream: bool) -> Reported:
    """Read an answer; what cannot be read counts as not said."""
    if stream:
        return _of_events(shape, body)
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Reported()
    if not isinstance(data, dict):
        return Reported()
    text = written(shape, data)
    return Reported(
        _usage(shape, data.get("usage"), said=bool(text)),
        _text(data, "model"),
        _ended(shape, data),
        whole=True,
        written=text,
    )


def without_usage_event(body: bytes) -> bytes:
    """A stream of chat chunks without the one that has the usage and nothing else."""
    kept = [event for event in body.split(b"\n\n") if not _is_usage(event)]
    return b"\n\n".join(kept)


def _is_usage(event: bytes) -> bool:
    data = next(iter(_data(event)), None)
    return data is not None and data.get("choices") == [] and bool(data.get("usage"))


def _of_events(shape: Shape, body: bytes) -> Reported:
    events = list(_data(body))
    text = written_in_events(shape, events)
    found = Reported(whole=shape == "chat" and b"data: [DONE]" in body, written=text)
    counted: dict[str, Any] = {}
    final = shape != "messages"  # whose first event counts the output as 1
    for data in events:
        kind = _text(data, "type")
        if kind == "error" or (shape == "chat" and data.get("error")):
            found = found._replace(error=str(data.get("error") or data)[:_LONGEST_ERROR])
        part = _part_of(shape, data, kind)
        counted |= _mapping(part.get("usage"))
        final = final or (kind == "message_delta" and bool(part.get("usage")))
        found = found._replace(
            model=found.model or _text(part, "model"),
            finish_reason=_ended(shape, part) or found.finish_reason,
            whole=found.whole or kind in _LAST,
        )
    usage = _usage(shape, counted, said=bool(text)) if final else None
    # the event with the usage is a chat's last but for the mark, which some providers leave out
    whole = found.whole or (shape == "chat" and bool(found.finish_reason) and usage is not None)
    return found._replace(usage=usage, whole=whole)


def _part_of(shape: Shape, data: dict[str, Any], kind: str) -> dict[str, Any]:
    """What an event says of the answer as a whole."""
    if shape == "chat":
        return data
    if shape == "responses":
        return _mapping(data.get("response"))
    if kind == "message_start":
        return _mapping(data.get("message"))
    if kind == "message_delta":
        return {**_mapping(data.get("delta")), "usage": data.get("usage")}
    return {}


def _data(events: bytes) -> Iterator[dict[str, Any]]:
    """The JSON of every event that is an object."""
    for line in events.splitlines():
        if line.startswith(_DATA):
            try:
                data = orjson.loads(line[len(_DATA) :])
            except orjson.JSONDecodeError:
                continue
            if isinstance(data, dict):
                yield data


def _ended(shape: Shape, data: Mapping[str, Any]) -> str:
    if shape == "messages":
        return _text(data, "stop_reason")
    if shape == "responses":
        return _text(data, "status")
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _text(_mapping(first), "finish_reason")


def _usage(shape: Shape, usage: object, *, said: bool) -> Usage | None:
    told = _mapping(usage)
    chat = shape == "chat"
    read = _count(told, "prompt_tokens" if chat else "input_tokens")
    output = _count(told, "completion_tokens" if chat else "output_tokens")
    if shape == "messages":
        cached = _count(told, "cache_read_input_tokens") or 0
        stored = _count(told, "cache_creation_input_tokens") or 0
        read = None if read is None else read + cached + stored
        return usage_from(read, output, said=said, cached=cached, stored=stored)
    given = _mapping(told.get("prompt_tokens_details" if chat else "input_tokens_details"))
    gave = _mapping(told.get("completion_tokens_details" if chat else "output_tokens_details"))
    cached, thought = _count(given, "cached_tokens") or 0, _count(gave, "reasoning_tokens") or 0
    total = _count(told, "total_tokens") or 0
    return usage_from(read, output, said=said, total=total, cached=cached, thought=thought)


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
