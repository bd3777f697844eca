"""What simulated models say in a kind of one file, as the file itself has it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from matrix.kinds.function.declaring import Script
from matrix.model.records import Call, ChatMessage, ToolCall
from matrix.model.seeds import content_hash, stream


class Asked(NamedTuple):
    """A request to a simulated model, for a function that answers it.

    Attributes:
        role: Who is asked.
        messages: The request.
        rng: Draws of its own, the same whenever this is asked at this place.
        levels: Factor -> level of the session.
        tag: What it is asked for, as ``ctx.ask(..., tag=...)`` says.
    """

    role: str
    messages: tuple[ChatMessage, ...]
    rng: random.Random
    levels: Mapping[str, str] = {}
    tag: str = ""

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1].content if self.messages else ""


class ScriptedAnswer(NamedTuple):
    """An answer: words, tools that are to be called, or both."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()


def tool_call(name: str, **arguments: Any) -> ToolCall:
    """A model's wish that a tool be called, for scripted answers."""
    text = orjson.dumps(arguments).decode()
    return ToolCall(f"call_{content_hash([name, text])[:12]}", name, text)


def scripted(script: Script, call: Call) -> ScriptedAnswer | None:
    """What the script has to say to a call; ``None`` for nothing, so that others answer.

    Raises:
        TypeError: It says what is no answer.
    """
    entry = script.get(call.role) if isinstance(script, Mapping) else script
    if entry is None:
        return None
    asked = Asked(call.role, call.messages, stream(call.seed, "script"), call.cell, call.tag)
    return said_by(entry, asked)


def said_by(entry: Any, asked: Asked) -> ScriptedAnswer | None:
    """What one entry of a script says: a text, one of a list of texts, or what a function gives.

    Raises:
        TypeError: It is no answer.
    """
    if isinstance(entry, list) and entry and all(isinstance(one, str) for one in entry):
        return ScriptedAnswer(asked.rng.choice(list(entry)))
    found = entry(asked) if isinstance(entry, Callable) else entry  # type: ignore[arg-type]
    if found is None or isinstance(found, ScriptedAnswer):
        return found
    if isinstance(found, str):
        return ScriptedAnswer(found)
    if isinstance(found, ToolCall):
        return ScriptedAnswer("", (found,))
    if isinstance(found, list) and all(isinstance(one, ToolCall) for one in found):
        return ScriptedAnswer("", tuple(found))
    raise TypeError(
        f"simulated[{asked.role!r}] says {type(found).__name__}; an answer is a text, tool calls, "
        "or None to leave it to the simulated models"
    )
