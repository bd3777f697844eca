"""YAML documents that remember their lines, so that a mistake can say where it is.

``parse_document`` keeps the line of every node by its path; ``check`` validates against a
pydantic model and turns every error into a :class:`~matrix.model.errors.Mistake` with file,
line, path, what was found, what is allowed and a near match.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from matrix.model.errors import BadInput, Mistake, did_you_mean

PathKey = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)

MAX_NODES = 200_000
"""More nodes than this in one YAML file is refused: no honest spec or pack comes near it."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file or an overlay of several.

    Attributes:
        source: Name to show for values whose path has no origin of its own.
        value: Plain Python data.
        lines: Path -> 1-based line in ``source``.
        origins: Path -> name of a flag or variable that overrode the file there.
    """

    source: str
    value: Any
    lines: Mapping[PathKey, int]
    origins: Mapping[PathKey, str]

    def mistake(self, path: PathKey, message: str) -> Mistake:
        """A mistake at ``path``, placed at the nearest ancestor whose line is known."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.origins:
                return Mistake(self.origins[path[:length]], None, show_path(path), message)
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return Mistake(self.source, self.lines[path[:length]], show_path(path), message)
        return Mistake(self.source, None, show_path(path), message)


def show_path(path: Sequence[str | int]) -> str:
    """``("factors", "prompt", 1)`` -> ``factors.prompt[1]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def parse_document(text: str, source: str) -> Document:
    """Parse YAML (safe types only, no aliases to blow up, no duplicate keys).

    Raises:
        BadInput: Not YAML, a duplicate key, an alias, or far too large.
    """
    lines: dict[PathKey, int] = {}
    mistakes: list[Mistake] = []
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadInput(
            [Mistake(source, mark.line + 1 if mark else None, "", f"not YAML: {error.problem}")]
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise BadInput([Mistake(source, None, "", f"not YAML: {error}")]) from None
    if root is None:
        return Document(source, {}, {(): 1}, {})
    reader = _NodeReader(source, lines, mistakes)
    value = reader.read(root, ())
    if mistakes:
        raise BadInput(mistakes)
    return Document(source, value, lines, {})


class _NodeReader:
    """Turns a YAML node tree into plain data while noting lines and mistakes."""

    def __init__(self, source: str, lines: dict[PathKey, int], mistakes: list[Mistake]) -> None:
        self._source, self._lines, self._mistakes = source, lines, mistakes
        self._seen: set[int] = set()
        self._scalars = yaml.SafeLoader("")

    def read(self, node: yaml.Node, path: PathKey) -> Any:
        self._lines[path] = node.start_mark.line + 1
        if id(node) in self._seen and not isinstance(node, yaml.ScalarNode):
            self._fault(path, "YAML aliases are not supported; write the value out")
            return None
        self._seen.add(id(node))
        if len(self._lines) > MAX_NODES:
            raise BadInput([Mistake(self._source, None, "", "far too large for a YAML file here")])
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(child, (*path, i)) for i, child in enumerate(node.value)]
        try:
            value = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self._fault(path, f"cannot read {node.value!r}: {error}")
            return None
        return value if isinstance(value, (str, int, float, bool, type(None))) else str(node.value)

    def _mapping(self, node: yaml.MappingNode, path: PathKey) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, child in node.value:
            key = str(key_node.value)
            if key in result:
                self._lines[(*path, key)] = key_node.start_mark.line + 1
                self._fault((*path, key), "is given twice")
            result[key] = self.read(child, (*path, key))
            self._lines[(*path, key)] = key_node.start_mark.line + 1
        return result

    def _fault(self, path: PathKey, message: str) -> None:
        self._mistakes.append(Mistake(self._source, self._lines[path], show_path(path), message))


def overlay(base: Document, overrides: Iterable[tuple[PathKey, Any, str]]) -> Document:
    """Put values over a document, later ones over earlier; each remembers where it came from."""
    value = _copy(base.value)
    origins = dict(base.origins)
    for path, new, origin in overrides:
        if not isinstance(value, dict):
            value = {}
        target = value
        for part in path[:-1]:
            nested = target.get(part)
            if not isinstance(nested, dict):
                nested = target[part] = {}
            target = nested
        target[path[-1]] = new
        origins[path] = origin
    return Document(base.source, value, base.lines, origins)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def check(document: Document, model: type[M], at: PathKey = ()) -> M:
    """Validate a document (or the part of it at ``at``) against a model.

    Raises:
        BadInput: Every mistake, one line each.
    """
    value = document.value
    for part in at:
        value = value.get(part, {}) if isinstance(value, dict) else {}
    if not isinstance(value, dict):
        expected = f"must be a mapping with the keys {', '.join(model.model_fields)}"
        raise BadInput([document.mistake(at, f"{_found(value)}; {expected}")])
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadInput(
            document.mistake(path, message) for path, message in _messages(error, model, at)
        ) from None


def _messages(
    error: ValidationError, model: type[BaseModel], at: PathKey
) -> list[tuple[PathKey, str]]:
    found: list[tuple[PathKey, str]] = []
    for item in error.errors(include_url=False):
        path: PathKey = tuple(part for part in item["loc"] if not _is_branch_tag(part))
        if item["type"] == "extra_forbidden":
            allowed = _fields_at(model, path[:-1])
            message = f"unknown key; allowed: {', '.join(allowed)}"
            message += did_you_mean(str(path[-1]), allowed)
        elif item["type"] == "missing":
            message = "is required and missing"
        else:
            message = _clean(item["msg"], item["input"])
        if (at + path, message) not in found:
            found.append((at + path, message))
    return found


def _is_branch_tag(part: str | int) -> bool:
    """Pydantic adds the names of union branches to a location; they are no part of the path."""
    return isinstance(part, str) and (
        "[" in part or part in ("str", "int", "float", "bool", "constrained-str")
    )


def _clean(message: str, value: Any) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    text = text.replace("a valid tuple", "a list").replace("a valid dictionary", "a mapping")
    text = text[0].lower() + text[1:]
    return text if message.startswith("Value error") else f"{_found(value)}; {text}"


def _found(value: Any) -> str:
    shown = repr(value)
    return f"found {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _fields_at(model: type[BaseModel], path: PathKey) -> list[str]:
    current: Any = model
    for part in path:
        if isinstance(current, type) and issubclass(current, BaseModel) and isinstance(part, str):
            field = current.model_fields.get(part)
            if field is not None:  # otherwise the part is a key of a mapping of such models
                current = _model_in(field.annotation)
    if isinstance(current, type) and issubclass(current, BaseModel):
        return list(current.model_fields)
    return []


def _model_in(annotation: Any) -> Any:
    """The pydantic model inside ``X | None``, ``tuple[X, ...]`` or ``Mapping[str, X]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) is not None or isinstance(annotation, types.UnionType):
        for argument in typing.get_args(annotation):
            if (inner := _model_in(argument)) is not None:
                return inner
    return None
