"""Messages of a request body, in all their forms, as the plain ones that models here read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from matrix.model.records import ChatMessage
from matrix.model.seeds import canonical
from matrix.serving.fields import wrong

_ROLES: Final[Mapping[object, Literal["system", "user", "assistant"]]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "user",
    "function": "user",
}


def read_messages(value: object) -> tuple[ChatMessage, ...]:
    """The messages of a request.

    Content that is no text leaves a mark, e.g. ``[image_url]``; tool calls are kept as JSON, and
    what a tool answered counts as the user's.

    Raises:
        ApiError: 400, for the first mistake.
    """
    if not isinstance(value, list) or not value:
        raise wrong("messages", value, "a list of at least one message")
    return tuple([_message(item, index) for index, item in enumerate(value)])


def _message(item: object, index: int) -> ChatMessage:
    name = f"messages[{index}]"
    if not isinstance(item, dict):
        raise wrong(name, item, "an object")
    said = item.get("role")
    role = _ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        raise wrong(f"{name}.role", said, f"one of {', '.join(map(str, _ROLES))}")
    content = item.get("content")
    if isinstance(content, str) and "tool_calls" not in item:
        return ChatMessage(role, content)
    return ChatMessage(role, _content(content, item.get("tool_calls"), f"{name}.content"))


def _content(value: object, calls: object, name: str) -> str:
    """Text of a message in one of its rarer forms: parts, or the model's own tool calls."""
    texts: list[str] = []
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list):
        texts += [_part(part, f"{name}[{index}]") for index, part in enumerate(value)]
    elif value is not None or not calls:
        raise wrong(name, value, "a text or a list of parts")
    if calls:
        texts.append(canonical(calls).decode())
    return "\n".join(texts)


def _part(part: object, name: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        raise wrong(name, part, "an object with a type")
    if kind not in ("text", "refusal"):
        return f"[{kind}]"
    if not isinstance(text := part.get(kind), str):
        raise wrong(f"{name}.{kind}", text, "a text")
    return text
