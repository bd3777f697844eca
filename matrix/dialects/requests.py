"""What a request in any shape asks for, as far as money goes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from matrix.dialects.texts import sent
from matrix.model.documents.json_objects import FieldTwice, each_once
from matrix.model.records import Shape

MAX_BODY: Final = 32 << 20
"""Bytes of a request's body; longer ones are refused. Providers take 32 MB at most."""
IMAGE_TOKENS: Final = 8_000
"""Bound on the tokens of one image, which may be named by an address of a few bytes."""

_LIMITS: Final[Mapping[Shape, tuple[str, ...]]] = {
    "chat": ("max_completion_tokens", "max_tokens"),
    "responses": ("max_output_tokens",),
    "messages": ("max_tokens",),
}
_CHOICES: Final[Mapping[Shape, tuple[str, ...]]] = {
    "chat": ("n", "best_of"),
    "responses": (),
    "messages": (),
}
"""Fields that multiply answers; the second one some servers know."""
_REFERENCES: Final = frozenset(
    {"previous_response_id", "conversation", "prompt", "container", "file_id", "file_url",
     "vector_store_ids"}
)  # fmt: skip
"""Fields that bring in text which is not in the request."""
_BILLED_BESIDE: Final = ("web_search", "web_fetch", "code_interpreter", "code_execution",
                         "file_search", "image_generation", "mcp")  # fmt: skip
"""Tools that the provider runs itself, and bills beside tokens."""
_CHEAP: Final[Mapping[str, tuple[object, ...]]] = {
    "service_tier": (None, "auto", "default", "flex", "standard_only"),
    "speed": (None, "standard"),
    "web_search_options": (None,),
    "mcp_servers": (None, []),
}
"""Fields that could make a request dearer than its tokens -> values with which they do not."""
_SPELLED: Final = re.compile(rb"\\u00[4-7]")
"""Letters of a name in another spelling."""
_DECIDING: Final = tuple(
    f'"{name}"'.encode()
    for name in ("model", "tools", "stream", "max_completion_tokens", "max_tokens", "min_tokens",
                 "max_output_tokens", "n", "best_of", *_CHEAP)
)  # fmt: skip
_IMAGES: Final = ("image_url", "image", "input_image")
_MOST_TOKENS: Final = 10_000_000
_DEEPEST: Final = 100


class BadRequest(ValueError):
    """A request that cannot be metered; the message says why."""


class ParsedRequest(NamedTuple):
    """What a request asks for.

    Attributes:
        model: The model's name, as the client knows it.
        stream: Whether the answer is to come as events.
        tells_usage: Whether a stream is to end with its usage.
        max_tokens: Most tokens of one answer, where it says so: the larger of two limits, because
            servers differ in which they obey.
        choices: Answers that it asks for.
        images: Images in it, or named by it.
        refers: Whether it brings in text that is kept elsewhere.
        texts: UTF-8 bytes of the texts in its messages.
    """

    model: str
    stream: bool
    tells_usage: bool
    max_tokens: int | None
    choices: int
    images: int
    refers: bool
    texts: int


def parse_request(shape: Shape, body: bytes) -> ParsedRequest:
    """Read a request.

    Raises:
        BadRequest: It is no JSON object, names no model, asks for nonsense, or uses what is billed
            beside tokens, which no cap could hold.
    """
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadRequest("the body must be a JSON object")
    model = data.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequest("you must provide a model parameter")
    for tool in data.get("tools") or ():
        kind = str(tool.get("type", "")) if isinstance(tool, dict) else ""
        if kind.startswith(_BILLED_BESIDE):
            raise BadRequest(
                f"the tool {kind!r} is billed beside tokens, so no cap could hold it; "
                "take it out of the request"
            )
    for name, allowed in _CHEAP.items():
        if data.get(name) not in allowed:
            raise BadRequest(
                f"{name}: {data[name]!r} changes prices or brings in text that is not in the "
                "request, so no cap could hold it; leave it out"
            )
    _check_twice(body)
    limits = [_count(data, name) for name in _LIMITS[shape] if data.get(name) is not None]
    least = _count(data, "min_tokens") if data.get("min_tokens") else 0
    choices = [_count(data, name) for name in _CHOICES[shape] if data.get(name) is not None]
    options = data.get("stream_options")
    tells_usage = isinstance(options, dict) and options.get("include_usage") is True
    kinds, refers = Counter[str](), False
    for name, value in _fields(data):
        refers = refers or (name in _REFERENCES and value is not None)
        if name == "type" and isinstance(value, str):
            kinds[value] += 1
    refers = refers or bool(kinds["document"] and kinds["url"])
    return ParsedRequest(
        model,
        data.get("stream") is True,
        tells_usage or shape != "chat",
        max(*limits, least) if limits else None,
        max(choices, default=1),
        sum(kinds[kind] for kind in _IMAGES),
        refers,
        sent(shape, data),
    )


def under_name(body: bytes, model: str) -> bytes:
    """The same request for a model by another name."""
    return orjson.dumps(orjson.loads(body) | {"model": model})


def telling_usage(body: bytes) -> bytes:
    """The same chat request, whose stream is to end with its usage."""
    data = orjson.loads(body)
    options = data.get("stream_options")
    data["stream_options"] = {
        **(options if isinstance(options, dict) else {}),
        "include_usage": True,
    }
    return orjson.dumps(data)


def _check_twice(body: bytes) -> None:
    """See that no object has a field twice: servers differ in which of the two they go by.

    The whole is read again only where one of the fields that cost money may be there twice, also
    in another spelling.
    """
    if _SPELLED.search(body) or any(body.count(name) > 1 for name in _DECIDING):
        try:
            json.loads(body, object_pairs_hook=each_once)
        except RecursionError:
            raise BadRequest("the body is nested too deeply") from None
        except FieldTwice as twice:
            told = f"the field {twice.name[:40]!r} is there twice; send it once"
            raise BadRequest(told) from None


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_TOKENS:
        told = f"expected a whole number from 1 to {_MOST_TOKENS:,}"
        raise BadRequest(f"{name}: found {repr(value)[:60]}, {told}")
    return value


def _fields(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every field of every object in a value."""
    if depth > _DEEPEST:
        raise BadRequest("the body is nested too deeply")
    if isinstance(value, dict):
        for name, item in value.items():
            yield name, item
            yield from _fields(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _fields(item, depth + 1)
