"""YAML documents that remember their lines, so that a mistake can say where it is.

``parse_document`` keeps the line of every node by its path; ``check`` validates against a
pydantic model and turns every error into a :class:`~matrix.model.errors.Mistake` with file,
line, path, what was found, what is allowed and a near match.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from matrix.model.documents.complaints import Location, complaints, show_found
from matrix.model.errors import BadInput, Mistake

PathKey = Location
M = TypeVar("M", bound=BaseModel)

MAX_CHARACTERS, MAX_NODES, MAX_DEPTH = 2_000_000, 50_000, 100
"""A larger or deeper YAML file is refused: no honest spec or pack comes near it."""


_MERGE: Final = "tag:yaml.org,2002:merge"


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
    """Parse YAML (safe types only, no duplicate keys); aliases and merge keys are written out.

    Raises:
        BadInput: Not YAML, a duplicate key, a value that no JSON can carry or that is inside
            itself, or far too large, once its aliases are written out.
    """
    lines: dict[PathKey, int] = {}
    mistakes: list[Mistake] = []
    if len(text) > MAX_CHARACTERS:
        raise BadInput([Mistake(source, None, "", "far too large for a YAML file here")])
    try:
        root = yaml.compose(text, Loader=_Loader)
    except _Unreasonable as error:
        raise BadInput([Mistake(source, error.line, "", str(error))]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadInput(
            [Mistake(source, mark.line + 1 if mark else None, "", f"not YAML: {error.problem}")]
        ) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not YAML: the character {chr(error.character)!a} is not allowed"
        raise BadInput([Mistake(source, line, "", message)]) from None
    except (ValueError, OverflowError):  # PyYAML lets those of chr() through
        message = "not YAML: an escape names a character that does not exist"
        raise BadInput([Mistake(source, None, "", message)]) from None
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value and not root.style):
        return Document(source, {}, {(): 1}, {})
    reader = _NodeReader(source, lines, mistakes)
    value = reader.read(root, ())
    if mistakes:
        raise BadInput(mistakes)
    return Document(source, value, lines, {})


class _Unreasonable(Exception):
    """A document that is far larger or deeper than any honest one."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Alias(yaml.ScalarNode):
    """Stands where an alias of a list or mapping is, so that its own line is known.

    Attributes:
        target: What it stands for, which may not be whole yet.
    """

    target: yaml.Node


class _Loader(yaml.SafeLoader):
    """Stops while it composes, before an unreasonable document has cost time and stack."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._nodes += 1
        self._depth += 1
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if self._nodes > MAX_NODES:
            raise _Unreasonable("far too large for a YAML file here", line)
        if self._depth > MAX_DEPTH:
            raise _Unreasonable(f"nested deeper than {MAX_DEPTH} levels", line)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent) and not isinstance(node, yaml.ScalarNode):
            alias = _Alias("", event.anchor, event.start_mark)  # type: ignore[arg-type]
            alias.target = node  # type: ignore[assignment]
            return alias
        return node


class _NodeReader:
    """Turns a YAML node tree into plain data while noting lines and mistakes."""

    def __init__(self, source: str, lines: dict[PathKey, int], mistakes: list[Mistake]) -> None:
        self._source, self._lines, self._mistakes = source, lines, mistakes
        self._scalars = yaml.SafeLoader("")
        self._left = MAX_NODES
        self._inside: list[yaml.Node] = []
        """Targets of the aliases that are being written out, the innermost last."""
        self._circular = False

    def read(self, node: yaml.Node, path: PathKey) -> Any:
        self._lines[path] = node.start_mark.line + 1
        if isinstance(node, _Alias):
            return self._written_out(node, path)
        self._left -= len(self._inside) > 0
        if self._left < 0:
            return None  # said by whoever writes the alias out
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(child, (*path, i)) for i, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _written_out(self, alias: _Alias, path: PathKey) -> Any:
        """What an alias stands for. Mistakes in it are told where it has its anchor, once."""
        if alias.target in self._inside or len(path) > MAX_DEPTH:
            self._circular = bool(self._inside)
            if not self._circular:
                self._fault(path, f"*{alias.value} is inside of what it stands for")
            return None
        told, line = len(self._mistakes), self._lines[path]
        self._inside.append(alias.target)
        value = self.read(alias.target, path)
        self._inside.pop()
        self._lines[path] = line
        if not self._inside:
            del self._mistakes[told:]
            if self._left < 0:
                self._fault(path, f"far too large, once *{alias.value} is written out")
            elif self._circular:
                self._fault(path, f"*{alias.value} is inside of what it stands for")
            self._circular = False
        return value

    def _scalar(self, node: yaml.Node, path: PathKey) -> Any:
        try:
            value = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
            # an explicit tag such as !!bool on a text makes PyYAML raise whatever it stumbles on
            tag = node.tag.removeprefix("tag:yaml.org,2002:")
            reason = f": {error}" if isinstance(error, ValueError) else ""
            self._fault(path, f"{show_found(node.value)}; cannot be read as {tag}{reason}")
            return None
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            self._fault(path, f"{show_found(value)}; no number here may be beyond 64 bits")
            value = max(-(2**63), min(value, 2**63 - 1))  # Python prints none of 4,300 digits
        if not isinstance(value, (str, int, float, bool, type(None))):
            value = str(node.value)
        if isinstance(value, str) and (whole := _whole(value)) is None:
            self._fault(path, f"{show_found(value)}; half of a surrogate pair is no text")
        return whole if isinstance(value, str) else value

    def _mapping(self, node: yaml.MappingNode, path: PathKey) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, child in node.value:
            if key_node.tag == _MERGE:
                merged = {**self._merged(child, (*path, "<<")), **merged}
                continue
            key = _whole(str(key_node.value))
            scalar = isinstance(key_node, yaml.ScalarNode)
            if not scalar or key is None or not key.isprintable():
                self._fault(path, f"a key on line {key_node.start_mark.line + 1} is not plain text")
                continue
            if key in result:
                self._lines[(*path, key)] = key_node.start_mark.line + 1
                self._fault((*path, key), "is given twice")
            result[key] = self.read(child, (*path, key))
            self._lines[(*path, key)] = key_node.start_mark.line + 1
        for key, value in merged.items():
            if key not in result:
                result[key] = value
                self._lines.setdefault((*path, key), self._lines[(*path, "<<")])
        return result

    def _merged(self, node: yaml.Node, path: PathKey) -> dict[str, Any]:
        """What ``<<`` adds: a mapping, or several of which the first that has a key counts."""
        found = self.read(node, path)
        parts = found if isinstance(found, list) else [found]
        if not all(isinstance(part, dict) for part in parts):
            if found is not None:
                self._fault(path, f"{show_found(found)}; << takes mappings")
            return {}
        return {key: value for part in reversed(parts) for key, value in part.items()}

    def _fault(self, path: PathKey, message: str) -> None:
        self._mistakes.append(Mistake(self._source, self._lines[path], show_path(path), message))


def _whole(value: str) -> str | None:
    """``value`` with surrogate pairs joined, as JSON escapes them; ``None`` with half a pair."""
    if value.isascii():
        return value
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return None


def section(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A mapping inside another one; what is none is told of where the document is checked."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def overlay(base: Document, overrides: Iterable[tuple[PathKey, Any, str]]) -> Document:
    """Put values over a document, later ones over earlier; each remembers where it came from.

    Raises:
        BadInput: A value was to go inside something that is there and is not a mapping.
    """
    document = Document(base.source, _copy(base.value), base.lines, dict(base.origins))
    mistakes: dict[PathKey, Mistake] = {}
    for path, new, origin in overrides:
        target = document.value
        for length, part in enumerate(path):
            if not isinstance(target, dict):
                message = f"{show_found(target)}; must be a mapping to take {origin}"
                mistakes.setdefault(path[:length], document.mistake(path[:length], message))
                break
            if length == len(path) - 1:
                target[part] = _copy(new)
                document = _came_from(document, path, origin)
            elif target.get(part) is None:
                target[part] = {}
            target = target[part]
    if mistakes:
        raise BadInput(mistakes.values())
    return document


def _came_from(document: Document, path: PathKey, origin: str) -> Document:
    """``document`` with the origin of a value, which replaces the origins of what was inside."""
    outside = {at: name for at, name in document.origins.items() if at[: len(path)] != path}
    return Document(document.source, document.value, document.lines, {**outside, path: origin})


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def check(document: Document, model: type[M], at: PathKey = (), *, also: Collection[str] = ()) -> M:
    """Validate a document (or the part of it at ``at``) against a model.

    ``also`` are keys beside the model's that its file may have; they are for others to check.

    Raises:
        BadInput: Every mistake, one line each.
    """
    value = document.value
    for part in at:
        value = value.get(part, {}) if isinstance(value, dict) else {}
    if not isinstance(value, dict):
        expected = f"must be a mapping with the keys {', '.join(model.model_fields)}"
        raise BadInput([document.mistake(at, f"{show_found(value)}; {expected}")])
    value = {name: item for name, item in value.items() if name not in also}
    try:
        parsed = model.model_validate(value)
    except ValidationError as error:
        raise BadInput(
            document.mistake(at + path, message)
            for path, message in complaints(error, model, value, also)
        ) from None
    switches = list(_switches_for_numbers(value, parsed, at))
    if switches:
        raise BadInput(
            document.mistake(path, f"{show_found(found)}; should be a number")
            for path, found in switches
        )
    return parsed


def _switches_for_numbers(value: Any, parsed: Any, at: PathKey) -> Iterator[tuple[PathKey, bool]]:
    """Where ``true`` or ``false`` (YAML's ``yes`` and ``no``) was taken for 1 or 0."""
    if isinstance(value, bool):
        if isinstance(parsed, (int, float)) and not isinstance(parsed, bool):
            yield at, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            inner = parsed.get(name) if isinstance(parsed, Mapping) else getattr(parsed, name, None)
            yield from _switches_for_numbers(item, inner, (*at, name))
    elif isinstance(value, (list, tuple)) and isinstance(parsed, (list, tuple)):
        for index, (item, inner) in enumerate(zip(value, parsed, strict=False)):
            yield from _switches_for_numbers(item, inner, (*at, index))
