"""The texts in requests and answers of any shape: what was sent, and what the model wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from matrix.model.records import Shape

_SENT: Final[Mapping[Shape, tuple[str, ...]]] = {
    "chat": ("messages",),
    "responses": ("instructions", "input"),
    "messages": ("system", "messages"),
}
"""Fields of a request that have its messages."""
_ANSWERED: Final[Mapping[Shape, str]] = {
    "chat": "choices",
    "responses": "output",
    "messages": "content",
}
"""The field of an answer that has what the model wrote."""
_IN_MESSAGES: Final = frozenset({"content", "text"})
_IN_ANSWERS: Final = _IN_MESSAGES | {
    "refusal", "reasoning", "reasoning_content", "thinking", "summary",
    "tool_calls", "function_call", "function", "custom", "name", "arguments", "input",
    "partial_json",
}  # fmt: skip
"""Fields that have text of the model's, or lead to it: images, signatures and ids are none."""
_DELTAS: Final = ("text.delta", "refusal.delta", "arguments.delta", "input.delta")
"""How the kinds of events of the responses shape end that bring text."""


def sent(shape: Shape, request: Mapping[str, Any]) -> int:
    """UTF-8 bytes of the texts in a request's messages."""
    fields = [request.get(name) for name in _SENT[shape]]
    return sum(len(text.encode(errors="surrogatepass")) for text in _texts(fields, _IN_MESSAGES))


def written(shape: Shape, answer: Mapping[str, Any]) -> str:
    """All that the model wrote in a whole answer: text, thoughts and calls of tools."""
    return "".join(_texts(answer.get(_ANSWERED[shape]), _IN_ANSWERS | {"message"}))


def written_in_events(shape: Shape, events: Iterable[Mapping[str, Any]]) -> str:
    """All that the model wrote in a stream.

    Some streams end with an event that has the answer once more: the longer of the two counts,
    because a service may leave either out.
    """
    pieces: list[str] = []
    whole = ""
    for event in events:
        pieces += _texts(_piece(shape, event), _IN_ANSWERS | {"delta"})
        answer = event.get("response") if shape == "responses" else None
        if isinstance(answer, dict):
            whole = max(whole, written(shape, answer), key=len)
    return max("".join(pieces), whole, key=len)


def _piece(shape: Shape, event: Mapping[str, Any]) -> object:
    """What an event adds to the answer."""
    if shape == "chat":
        return event.get("choices")
    if shape == "messages":
        return [event.get("content_block"), event.get("delta")]
    return event.get("delta") if str(event.get("type")).endswith(_DELTAS) else None


def _texts(value: object, names: frozenset[str]) -> Iterator[str]:
    """Every text in a value, however deep, by way of fields of these names only."""
    left = [value]
    while left:
        found = left.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, list):
            left += reversed(found)
        elif isinstance(found, dict):
            left += [_plain(name, found[name]) for name in reversed(found) if name in names]


def _plain(name: str, value: object) -> object:
    """A field's value; what a tool is called with is text of the model's, names and all."""
    if name != "input" or not isinstance(value, dict):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # nested more deeply than it can be written again
        return list(value)
