"""Which tools a simulated model calls, and with what arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from matrix.model.errors import RequestRejected
from matrix.model.records import JSON, Call, ChatMessage, ToolCall
from matrix.model.seeds import canonical, content_hash, derive_seed, stream
from matrix.providers.simulated.language.examples import example

MOST_STEPS: Final = 3
"""After so many results of tools, and often sooner, a model that is free to choose answers."""
_SIDE_BY_SIDE: Final = 0.2
"""How often it calls two tools at once."""


def tools_called(call: Call) -> tuple[ToolCall, ...]:
    """The tools that the model asks for now; none if it has seen enough and answers.

    Raises:
        RequestRejected: A tool is asked for that there is not, or no arguments fit its schema.
    """
    params = call.params
    tools: list[dict[str, Any]] = orjson.loads(params.tools) if params.tools else []
    if not tools or params.tool_choice == "none":
        return ()
    forced = params.tool_choice not in ("", "auto")
    if not forced and steps_taken(call.messages) >= _steps_wanted(call.messages):
        return ()
    named = [tool for tool in tools if tool["name"] == params.tool_choice]
    if forced and params.tool_choice != "required" and not named:
        raise RequestRejected(f"there is no tool {params.tool_choice!r}")
    chosen = [_one_of(named or tools, call.seed)]
    if (
        not named
        and stream(call.seed, "another tool").random() < _SIDE_BY_SIDE
        and _may(params.more)
    ):
        chosen.append(_one_of(tools, derive_seed(call.seed, "another tool")))
    return tuple(
        call_of_tool(tool["name"], tool.get("parameters"), derive_seed(call.seed, "call", number))
        for number, tool in enumerate(chosen)
    )


def call_of_tool(name: str, parameters: JSON, seed: int) -> ToolCall:
    """A call of a tool with arguments of its schema.

    Raises:
        BadSchema: None were found that follow it.
    """
    made = example({"type": "object", **(parameters or {})}, stream(seed, "tool", name))
    arguments = canonical(made).decode()
    return ToolCall(f"call_{content_hash([seed, name, arguments], length=24)}", name, arguments)


def steps_taken(messages: Sequence[ChatMessage]) -> int:
    """Answers with tool calls since somebody last said something."""
    steps = 0
    for message in reversed(messages):
        if message.role == "user":
            break
        steps += bool(message.tool_calls)
    return steps


def _steps_wanted(messages: Sequence[ChatMessage]) -> int:
    """The same in every step of one task: it depends on what was last said alone."""
    asked = next((m.content for m in reversed(messages) if m.role == "user"), "")
    return 1 + int(stream("steps", asked).random() * MOST_STEPS)


def _one_of(tools: Sequence[dict[str, Any]], seed: int) -> dict[str, Any]:
    return tools[derive_seed(seed, "which tool") % len(tools)]


def _may(more: str) -> bool:
    """Whether tools may be called side by side."""
    said: Mapping[str, Any] = orjson.loads(more) if more else {}
    return said.get("parallel_tool_calls") is not False
