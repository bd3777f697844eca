"""Reading a chat-completions request: every field checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from matrix.model.records import JSON, Call, CallKey, CallParams, ChatMessage
from matrix.model.seeds import content_hash, derive_seed
from matrix.providers.simulated.provider import tokens_in
from matrix.serving import fields
from matrix.serving.api_errors import bad_request
from matrix.serving.fields import wrong
from matrix.serving.messages import read_messages

CELL_HEADER: Final = "X-Matrix-Cell"
CALL_HEADER: Final = "X-Matrix-Call"
DEFAULT_MAX_TOKENS: Final = 4096
MOST_CHOICES: Final = 128
_SEEDS: Final = 1 << 63
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ANY_TOOL: Final = ""


class OfferedTool(NamedTuple):
    """A function that the model may call, and the JSON Schema of its arguments."""

    name: str
    parameters: JSON
    description: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A checked request.

    Attributes:
        tokens: Size of the messages, as simulated models count it.
        schema: JSON Schema that the answer must follow.
        json_object: The answer must be some JSON object.
        forced: Name of the tool that must be called, :data:`ANY_TOOL` for whichever, ``None`` when
            the answer is text.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    tokens: int
    max_tokens: int
    temperature: float | None
    schema: JSON
    json_object: bool
    tools: tuple[OfferedTool, ...]
    forced: str | None
    n: int
    stop: tuple[str, ...]
    seed: int | None
    stream: bool
    include_usage: bool
    cell: Mapping[str, str]
    call_name: str | None


def read_request(body: bytes, headers: Mapping[str, str]) -> ChatRequest:
    """Check a request.

    Raises:
        ApiError: 400, for the first mistake.
    """
    data = _loaded(body)
    messages = read_messages(data.get("messages"))
    tools = _tools(data.get("tools"))
    schema, json_object = _response_format(data.get("response_format"))
    return ChatRequest(
        model=fields.text(data, "model"),
        messages=messages,
        tokens=tokens_in(messages),
        max_tokens=_max_tokens(data),
        temperature=fields.number(data, "temperature", 0.0, 2.0),
        schema=schema,
        json_object=json_object,
        tools=tools,
        forced=_forced(data.get("tool_choice"), tools),
        n=fields.integer(data, "n", 1, MOST_CHOICES) or 1,
        stop=_stop(data.get("stop")),
        seed=fields.integer(data, "seed", -_SEEDS, _SEEDS - 1),
        stream=fields.flag(data, "stream"),
        include_usage=fields.flag(fields.mapping(data, "stream_options"), "include_usage"),
        cell=_cell(data, headers),
        call_name=headers.get(CALL_HEADER),
    )


def _loaded(body: bytes) -> dict[str, Any]:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"We could not parse the JSON body of your request: {error}") from None
    if not isinstance(data, dict):
        raise bad_request("The body must be a JSON object.")
    return data


def call_of(request: ChatRequest, index: int = 0) -> Call:
    """The call of choice number ``index`` (from 0): as the engine would make it.

    Its seed is the request's, else a hash of model, messages and parameters; further choices
    derive theirs from it. The schema stays behind, because the server sees to it itself.
    """
    params = CallParams(request.max_tokens, request.temperature)
    digest = content_hash(
        [
            request.model,
            [message.parts for message in request.messages],
            [*params[:2], request.schema],
        ],
        length=32,
    )
    seed = derive_seed("chat", digest) if request.seed is None else request.seed
    return Call(
        key=CallKey(request.call_name or digest, "turn", 0, str(index)),
        digest=digest,
        order=0,
        role="",
        model=request.model,
        messages=request.messages,
        params=params,
        seed=derive_seed(seed, "choice", index) if index else seed,
        cell=request.cell,
    )


def _max_tokens(data: Mapping[str, Any]) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        if (value := fields.integer(data, name, 1, _SEEDS - 1)) is not None:
            return value
    return DEFAULT_MAX_TOKENS


def _stop(value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    if stops is None:
        return ()
    if not isinstance(stops, list) or len(stops) > 4:
        raise wrong("stop", value, "a text or a list of up to four")
    for each in stops:
        if not isinstance(each, str) or not each:
            raise wrong("stop", value, "a text or a list of up to four")
    return tuple(stops)


def _tools(value: object) -> tuple[OfferedTool, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not value:
        raise wrong("tools", value, "a list of at least one tool")
    return tuple(_tool(item, f"tools[{index}]") for index, item in enumerate(value))


def _tool(item: object, name: str) -> OfferedTool:
    function = item.get("function") if isinstance(item, dict) else None
    if (
        not isinstance(item, dict)
        or item.get("type") != "function"
        or not isinstance(function, dict)
    ):
        raise wrong(name, item, "an object of type 'function' with a 'function'")
    called = function.get("name")
    if not isinstance(called, str) or not _TOOL_NAME.fullmatch(called):
        raise wrong(f"{name}.function.name", called, f"a name like {_TOOL_NAME.pattern}")
    parameters = function.get("parameters") or {}
    if not isinstance(parameters, dict) or parameters.get("type", "object") != "object":
        raise wrong(f"{name}.function.parameters", parameters, "a JSON Schema of type 'object'")
    described = function.get("description")
    return OfferedTool(
        called,
        {"type": "object", **parameters},
        described if isinstance(described, str) else "",
    )


def _forced(choice: object, tools: Sequence[OfferedTool]) -> str | None:
    if choice is None:
        return None
    if not tools:
        raise bad_request(
            "'tool_choice' is only allowed when 'tools' are specified.", "tool_choice"
        )
    if choice in ("auto", "none"):
        return None
    if choice == "required":
        return ANY_TOOL
    function = choice.get("function") if isinstance(choice, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not any(tool.name == name for tool in tools):
        raise wrong("tool_choice", choice, "auto, none, required or one of the tools")
    return str(name)


def _response_format(value: object) -> tuple[JSON, bool]:
    if value is None:
        return None, False
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "text":
        return None, False
    if kind == "json_object":
        return None, True
    if not isinstance(value, dict) or kind != "json_schema":
        raise wrong("response_format", value, "type text, json_object or json_schema")
    held = value.get("json_schema")
    schema = held.get("schema") if isinstance(held, dict) else None
    if not isinstance(schema, dict):
        raise wrong("response_format.json_schema", held, "an object with a 'schema'")
    return schema, False


def _cell(data: Mapping[str, Any], headers: Mapping[str, str]) -> Mapping[str, str]:
    """Factor levels for planted effects, from the header or the request's metadata."""
    value: object = headers.get(CELL_HEADER)
    if value is None:
        metadata = data.get("metadata")
        value = metadata.get("matrix_cell") if isinstance(metadata, dict) else None
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            raise wrong(CELL_HEADER, value, "a JSON object of factor: level") from None
    if not isinstance(value, dict) or any(isinstance(each, dict | list) for each in value.values()):
        raise wrong(CELL_HEADER, value, "a JSON object of factor: level")
    return {factor: str(level) for factor, level in value.items()}
