"""Tools for models that know of none: told in words, and called in JSON that answers are held to.

What tools are there stands at the end of the system prompt; an answer is one object, either
``{"tool": NAME, ...}`` with the tool's arguments or ``{"say": TEXT}``. Calls and results of earlier
steps are written out as messages of that form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from matrix.model.errors import MalformedAnswer
from matrix.model.records import CallParams, ChatMessage, ToolCall
from matrix.model.seeds import content_hash

SAY: Final = "say"
TOOL: Final = "tool"

_HOW: Final = (
    'You have tools. To use one, answer with one JSON object: {"tool": its name, then its '
    'arguments}. When you are done, answer with {"say": your last words}. The tools:'
)


def held_to(params: CallParams) -> CallParams:
    """Parameters of a request with tools as those of one whose answer follows a schema."""
    tools = _offered(params)
    free = params.tool_choice not in ("required", *(str(tool["name"]) for tool in tools))
    branches = [_object({TOOL: {"const": tool["name"]}}, tool) for tool in tools]
    last = {"type": "object", "properties": {SAY: {"type": "string"}}, "required": [SAY]}
    schema = {"anyOf": [*branches, *([last] if free else [])]}
    return params._replace(schema=orjson.dumps(schema).decode(), tools="", tool_choice="")


def in_words(messages: Sequence[ChatMessage], params: CallParams) -> tuple[ChatMessage, ...]:
    """Messages with the tools told, and earlier calls and their results written out."""
    told = "\n".join([_HOW, *_lines(_offered(params))])
    written = [_in_words(message, messages) for message in messages]
    if written and written[0].role == "system":
        first = written[0]._replace(content=f"{written[0].content}\n\n{told}")
        return (first, *written[1:])
    return (ChatMessage("system", told), *written)


def read_call(text: str, seed: int) -> tuple[tuple[ToolCall, ...], str]:
    """The tool that an answer calls, or the words that it says.

    Raises:
        MalformedAnswer: It was cut off before its end.
    """
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise MalformedAnswer(f"{text[:100]!r} is no call of a tool, and no last words") from None
    if not isinstance(said, dict):
        raise MalformedAnswer(f"{text[:100]!r} is no object")
    if SAY in said:
        return (), str(said[SAY]) or "(nothing)"
    arguments = orjson.dumps({name: item for name, item in said.items() if name != TOOL}).decode()
    name = str(said.get(TOOL, ""))
    made = content_hash([seed, name, arguments], length=24)
    return (ToolCall(f"call_{made}", name, arguments),), ""


def _offered(params: CallParams) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = orjson.loads(params.tools)
    named = [tool for tool in tools if tool["name"] == params.tool_choice]
    return named or tools


def _object(first: dict[str, Any], tool: dict[str, Any]) -> dict[str, Any]:
    fields = (tool.get("parameters") or {}).get("properties") or {}
    properties = {**first, **fields}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _lines(tools: Sequence[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        fields = (tool.get("parameters") or {}).get("properties") or {}
        given = ", ".join(f'"{name}": {_short(field)}' for name, field in fields.items())
        yield f'- {{"tool": "{tool["name"]}", {given}}}: {tool.get("description", "")}'


def _short(field: dict[str, Any]) -> str:
    return f"({field.get('description') or field.get('type') or 'text'})"


def _in_words(message: ChatMessage, messages: Sequence[ChatMessage]) -> ChatMessage:
    if message.tool_calls:
        calls = [{TOOL: one.name, **_arguments(one)} for one in message.tool_calls]
        text = "\n".join(orjson.dumps(call).decode() for call in calls)
        return ChatMessage("assistant", text)
    if message.role == "tool":
        calls_ = [one for other in messages for one in other.tool_calls]
        name = next((one.name for one in calls_ if one.id == message.tool_call_id), "the tool")
        return ChatMessage("user", f"Result of {name}:\n{message.content}")
    return message


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        found = orjson.loads(call.arguments or "{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
