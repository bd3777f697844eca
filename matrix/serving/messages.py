"""Messages of a request body, in all their forms, as the plain ones that models here read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from matrix.model.records import ChatMessage, ToolCall
from matrix.serving.fields import wrong

_ROLES: Final[Mapping[object, Literal["system", "user", "assistant", "tool"]]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read_messages(value: object) -> tuple[ChatMessage, ...]:
    """The messages of a request.

    Content that is no text leaves a mark, e.g. ``[image_url]``.

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
    if isinstance(content, str) and role != "tool" and "tool_calls" not in item:
        return ChatMessage(role, content)
    calls = _tool_calls(item.get("tool_calls"), f"{name}.tool_calls")
    answered = item.get("tool_call_id")
    return ChatMessage(
        role,
        _content(content, bool(calls), f"{name}.content"),
        calls,
        answered if isinstance(answered, str) else "",
    )


def _tool_calls(value: object, name: str) -> tuple[ToolCall, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong(name, value, "a list of tool calls")
    return tuple(_tool_call(item, f"{name}[{index}]") for index, item in enumerate(value))


def _tool_call(item: object, name: str) -> ToolCall:
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(function, dict):
        raise wrong(name, item, "an object with an 'id' and a 'function'")
    said = (item.get("id"), function.get("name"), function.get("arguments"))
    if not all(isinstance(each, str) for each in said):
        raise wrong(name, item, "an id, a name and arguments as text")
    return ToolCall(*map(str, said))


def _content(value: object, may_lack: bool, name: str) -> str:
    """Text of a message, also in parts; an answer that is tool calls may have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_part(part, f"{name}[{index}]") for index, part in enumerate(value))
    if value is not None or not may_lack:
        raise wrong(name, value, "a text or a list of parts")
    return ""


def _part(part: object, name: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        raise wrong(name, part, "an object with a type")
    if kind not in ("text", "refusal"):
        return f"[{kind}]"
    if not isinstance(text := part.get(kind), str):
        raise wrong(f"{name}.{kind}", text, "a text")
    return text
