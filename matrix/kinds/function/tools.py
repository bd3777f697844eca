"""Plain functions as tools of a model: what a model is told of them, and calling them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson
from pydantic import ValidationError

from matrix.kinds.function.options import model_of, parameters_of
from matrix.model.records import ChatMessage, Tool, ToolCall

_SHOWN: Final = 500

ToolFunction = Callable[..., Any]


def tool_of(function: ToolFunction) -> Tool:
    """A function as a tool: its name, docstring, and parameters by their types.

    Raises:
        KindUnusable: A parameter has no type, or one that JSON cannot say.
    """
    doc = inspect.getdoc(function) or ""
    model = model_of(function.__name__, parameters_of(function, "tools", skip=0))
    schema = model.model_json_schema()
    return Tool(function.__name__, doc.partition("\n\n")[0], schema)


async def call_tool(call: ToolCall, functions: Sequence[ToolFunction]) -> ChatMessage:
    """What a called function gives, for the model; a call that is wrong is told it, not raised."""
    found = next((one for one in functions if one.__name__ == call.name), None)
    if found is None:
        known = ", ".join(one.__name__ for one in functions)
        return _message(call, f"error: there is no tool {call.name!r}; there are: {known}")
    parameters = parameters_of(found, "tools", skip=0)
    try:
        given = orjson.loads(call.arguments or "{}")
        checked = model_of(found.__name__, parameters).model_validate(given)
    except (orjson.JSONDecodeError, ValidationError) as error:
        return _message(call, f"error: {str(error)[:_SHOWN]}")
    result = found(**{name: getattr(checked, name) for name in parameters})
    return _message(call, await result if inspect.isawaitable(result) else result)


def _message(call: ToolCall, said: Any) -> ChatMessage:
    text = said if isinstance(said, str) else orjson.dumps(said, default=str).decode()
    return ChatMessage("tool", text, tool_call_id=call.id)
