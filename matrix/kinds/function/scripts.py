"""What simulated models say in a kind of one file, as the file itself has it."""

from __future__ import annotations

import inspect
import random
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from matrix.kinds.function.declaring import Script
from matrix.model.errors import KindDefect, MatrixError
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
        options: Parameter -> its value in the session, whether it is a factor or not.
    """

    role: str
    messages: tuple[ChatMessage, ...]
    rng: random.Random
    levels: Mapping[str, str] = {}
    tag: str = ""
    options: Mapping[str, Any] = {}

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


def asked_of(call: Call) -> Asked:
    """A call as what answers it sees it."""
    draws = stream(call.seed, "script")
    return Asked(call.role, call.messages, draws, call.cell, call.tag, call.options)


def scripted(script: Script, call: Call) -> ScriptedAnswer | None:
    """What the script has to say to a call; ``None`` for nothing, so that others answer.

    Raises:
        KindDefect: It raises, or says what is no answer.
    """
    by_role = isinstance(script, Mapping)
    entry = script.get(call.role) if isinstance(script, Mapping) else script
    if entry is None:
        return None
    asked = asked_of(call)
    return said_by(entry, asked, one_for_all=not by_role)


def said_by(
    entry: Any, asked: Asked, where: str = "simulated", *, one_for_all: bool = False
) -> ScriptedAnswer | None:
    """What one entry of a script says: a text, one of a list of texts, or what a function gives.

    Args:
        entry: The entry.
        asked: What is asked.
        where: What the script is called, for messages.
        one_for_all: Whether it is a function for all roles, which leaves those to others that it
            gives ``None`` for; one of a single role has forgotten to return something.

    Raises:
        KindDefect: It raises, or what it gives is no answer.
    """
    if isinstance(entry, list) and entry and all(isinstance(one, str) for one in entry):
        return ScriptedAnswer(asked.rng.choice(list(entry)))
    found = _called(entry, asked, where) if isinstance(entry, Callable) else entry  # type: ignore[arg-type]
    if (found is None and one_for_all) or isinstance(found, ScriptedAnswer):
        return found
    if isinstance(found, str):
        return ScriptedAnswer(found)
    if isinstance(found, ToolCall):
        return ScriptedAnswer("", (found,))
    if isinstance(found, list) and all(isinstance(one, ToolCall) for one in found):
        return ScriptedAnswer("", tuple(found))
    said = "returned nothing" if found is None else f"says {type(found).__name__}"
    if inspect.iscoroutine(found):
        found.close()
        said = "is an async function; write `def`"
    raise KindDefect(
        f"{where}[{asked.role!r}] {said}{_place_of(entry)}; an answer is a text, or tool calls"
    )


def _called(entry: Callable[[Asked], Any], asked: Asked, where: str) -> Any:
    """What a function says.

    Raises:
        KindDefect: It raises; the message says what and in which line.
    """
    try:
        return entry(asked)
    except MatrixError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]  # without this one
        own = getattr(getattr(entry, "__code__", None), "co_filename", "")
        mine = [one for one in frames if one.filename == own] or frames
        at = f" ({Path(mine[-1].filename).name}, line {mine[-1].lineno})" if mine else ""
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise KindDefect(f"{where}[{asked.role!r}] raised {said}{at}") from error


def _place_of(entry: Any) -> str:
    """Where a function begins."""
    code = getattr(entry, "__code__", None)
    return "" if code is None else f" ({Path(code.co_filename).name}, line {code.co_firstlineno})"
