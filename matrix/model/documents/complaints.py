"""What pydantic found wrong, in this project's words: where, what was found, what is allowed."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from matrix.model.errors import did_you_mean, near_matches

_OR_INSTANCE = re.compile(r" or instance of \w+")
"""Pydantic's words for an object in place of a mapping, which no file can have."""

MISSING = "is required and missing"

Location = tuple[str | int, ...]


def complaints(
    error: ValidationError, model: type[BaseModel], value: Any, also: Collection[str] = ()
) -> list[tuple[Location, str]]:
    """Path and message of every mistake in ``value``, which ``model`` refused.

    ``also`` are further keys that its file may have at its top.
    """
    found: list[tuple[Location, str]] = []
    items = error.errors(include_url=False)
    misspelt = _misspelt(items, model, value)
    for item in items:
        path = _path_in(value, item["loc"], missing=item["type"] == "missing")
        if item["type"] == "missing" and path in misspelt:
            continue
        if item["type"] == "extra_forbidden":
            allowed = [*_fields_at(model, path[:-1]), *(() if path[:-1] else sorted(also))]
            message = f"unknown key; allowed: {', '.join(allowed)}"
            message += did_you_mean(str(path[-1]), allowed)
        elif item["type"] == "missing":
            message = MISSING
        else:
            message = _clean(item["msg"], item["input"])
        before = found[-1][1] if found and found[-1][0] == path else ""
        shown = f"{show_found(item['input'])}; should be "
        if before.startswith(shown) and message.startswith(shown):  # branches of one union
            found[-1] = (path, f"{before} or {message.removeprefix(shown)}")
        elif message != before:
            found.append((path, message))
    return found


def _misspelt(items: Sequence[ErrorDetails], model: type[BaseModel], value: Any) -> set[Location]:
    """Fields that are missing only because an unknown key beside them is meant to be them."""
    found: set[Location] = set()
    for item in items:
        if item["type"] == "extra_forbidden":
            path = _path_in(value, item["loc"], missing=False)
            allowed = _fields_at(model, path[:-1])
            found |= {(*path[:-1], name) for name in near_matches(str(path[-1]), allowed)}
    return found


def _path_in(value: Any, location: Sequence[str | int], *, missing: bool) -> Location:
    """The parts of a pydantic location that lead through the data.

    Pydantic adds names of union branches and ``[key]``, which are no part of the path but may
    look like any key; the last part of a missing field is one though no data is there.
    """
    path: Location = ()
    for index, part in enumerate(location):
        last = index == len(location) - 1
        in_list = isinstance(value, (list, tuple)) and isinstance(part, int) and part < len(value)
        if in_list or (isinstance(value, dict) and part in value):
            path, value = (*path, part), value[part]
        elif missing and last:
            path = (*path, part)
    return path


def _clean(message: str, value: Any) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    text = _OR_INSTANCE.sub("", text).partition(", unable to parse ")[0]
    text = text.replace("a valid tuple", "a list").replace("a valid dictionary", "a mapping")
    text = text[0].lower() + text[1:]
    return text if message.startswith("Value error") else f"{show_found(value)}; {text}"


_PRINTED_BITS = 4096
"""Of longer numbers Python may refuse to make decimal digits."""


def show_found(value: Any) -> str:
    """A value as messages show it, cut to a readable length."""
    huge = isinstance(value, int) and value.bit_length() > _PRINTED_BITS
    shown = hex(value) if huge else repr(value)
    return f"found {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _fields_at(model: type[BaseModel], path: Location) -> list[str]:
    current: Any = model
    for part in path:
        found = _model_in(current)
        if found is not None and part in found.model_fields and not _is_container(current):
            current = found.model_fields[part].annotation
        else:  # the part is a key or an index of a container of such models
            current = found
    found = _model_in(current)
    return [] if found is None else list(found.model_fields)


def _is_container(annotation: Any) -> bool:
    """Whether the models in an annotation are behind keys or indices."""
    inner = typing.get_args(annotation)
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return any(_is_container(argument) for argument in inner)
    return bool(inner)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The pydantic model inside ``X | None``, ``tuple[X, ...]`` or ``Mapping[str, X]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in typing.get_args(annotation):
        if (inner := _model_in(argument)) is not None:
            return inner
    return None
