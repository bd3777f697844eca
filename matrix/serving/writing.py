"""What the models say to a request: text, JSON that follows a schema, or a call of a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import orjson

from matrix.model.records import ToolCall, Usage
from matrix.model.seeds import derive_seed, stream
from matrix.providers.base import ProviderReply
from matrix.providers.simulated.calling import call_of_tool
from matrix.providers.simulated.language.examples import example
from matrix.providers.simulated.language.schemas import conforms
from matrix.providers.simulated.provider import SimulatedProvider, size, tokens_out
from matrix.serving.request import ANY_TOOL, ChatRequest, OfferedTool, call_of

ECHO_TEXT: Final = "This is the fixed answer of the simulated model echo."
_ECHO_TOKENS: Final = tokens_out(ECHO_TEXT)
_BYTES_PER_TOKEN: Final = 4

Speaker: TypeAlias = Callable[[ChatRequest, int], ProviderReply]
"""Gives a model's reply for choice number n (from 0) of a request."""


class ResponseChoice(NamedTuple):
    """One of the answers to a request: text, calls of tools, or both."""

    text: str
    finish_reason: str
    tools: tuple[ToolCall, ...] = ()


class Written(NamedTuple):
    """All that the model has to say, what it used and how long it works (seconds).

    ``reported`` is ``None`` where the simulation is told to report no usage; ``used`` is what the
    server itself counts.
    """

    choices: tuple[ResponseChoice, ...]
    used: Usage
    reported: Usage | None
    duration_s: float


def echo(request: ChatRequest, index: int) -> ProviderReply:
    """The same short text to everything, at no cost."""
    usage = Usage(input=request.tokens, output=_ECHO_TOKENS)
    if request.max_tokens < _ECHO_TOKENS:
        text, finish = _fitting(ECHO_TEXT, request.max_tokens, "stop")
        return ProviderReply(text, usage._replace(output=tokens_out(text)), 0.0, finish)
    return ProviderReply(ECHO_TEXT, usage, 0.0)


def simulated(provider: SimulatedProvider) -> Speaker:
    """The models of a simulated provider, which tell their role from the prompt."""
    return lambda request, index: provider.reply_to(call_of(request, index))


def write(request: ChatRequest, speak: Speaker) -> Written:
    """Everything the model says to ``request``.

    Raises:
        BadSchema: The schema of the answer or of a tool's arguments cannot be followed.
    """
    choices: list[ResponseChoice] = []
    output, longest, told = 0, 0.0, True
    for index in range(request.n):
        reply = speak(request, index)
        choice = _choice(request, index, reply)
        choices.append(choice)
        output += tokens_out(choice.text or "".join(call.arguments for call in choice.tools))
        longest = max(longest, reply.duration_s)
        told = told and reply.usage is not None
    used = Usage(input=request.tokens, output=output)
    return Written(tuple(choices), used, used if told else None, longest)


def repeating(written: Written, said: str) -> Written:
    """The same, with something said again at the end of every text."""
    choices = (choice._replace(text=f"{choice.text} {said}") for choice in written.choices)
    return written._replace(choices=tuple(choices))


def _choice(request: ChatRequest, index: int, reply: ProviderReply) -> ResponseChoice:
    if request.forced is not None:
        return _tool_call(request, index)
    text, finish = reply.text, reply.finish_reason
    if request.schema is not None:
        text, finish = _fitting(_following(text, request, index), request.max_tokens, "stop")
    elif request.json_object and not _is_object(text):
        wrapped = orjson.dumps({"answer": text}).decode()
        text, finish = _fitting(wrapped, request.max_tokens, finish)
    for stop in request.stop:
        at = text.find(stop)
        if at >= 0:
            text, finish = text[:at], "stop"
    return ResponseChoice(text, finish)


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def _following(text: str, request: ChatRequest, index: int) -> str:
    """``text`` if it follows the schema, else an example that does."""
    schema = request.schema
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    else:
        if conforms(value, schema, schema):
            return text
    seed = call_of(request, index).seed
    return orjson.dumps(example(schema, stream(seed, "schema"))).decode()


def _tool_call(request: ChatRequest, index: int) -> ResponseChoice:
    seed = call_of(request, index).seed
    tool = _tool(request, seed)
    called = call_of_tool(tool.name, tool.parameters, seed)
    # a named tool ends with "stop", "required" with "tool_calls": so does the original
    finish = "tool_calls" if request.forced == ANY_TOOL else "stop"
    arguments, finish = _fitting(called.arguments, request.max_tokens, finish)
    return ResponseChoice("", finish, (called._replace(arguments=arguments),))


def _tool(request: ChatRequest, seed: int) -> OfferedTool:
    if request.forced == ANY_TOOL:
        return request.tools[derive_seed(seed, "which tool") % len(request.tools)]
    return next(tool for tool in request.tools if tool.name == request.forced)


def _fitting(text: str, tokens: int, finish: str) -> tuple[str, str]:
    """``text`` with its finish reason, or its beginning of that many tokens with ``length``."""
    most = tokens * _BYTES_PER_TOKEN
    if size(text) <= most:
        return text, finish
    return text.encode()[:most].decode(errors="ignore"), "length"
