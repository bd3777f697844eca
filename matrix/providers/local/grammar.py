"""JSON Schemas as grammars that a small model can finish.

llama.cpp turns schemas into grammars as well, but leaves out what a small model trips over: a
number has no bounds and endless digits, a string no end, and white space may run on, so that one
answer in three or so is cut off at ``max_tokens``. Here answers are one line, numbers lie on a
short scale between their bounds, and strings end. Every answer still satisfies the schema; not
every value that would satisfy it can be written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

MAX_STRING: Final = 300
MIN_STRING: Final = 16
"""Characters that a string may have, if its schema does not say."""
PLAIN_CHARS_PER_TOKEN: Final = 2.0
"""In the fixed parts of an answer."""
STRING_CHARS_PER_TOKEN: Final = 1.25
"""In strings: far fewer than in prose, as a small model that is lost writes odd syllables."""
MAX_ITEMS: Final = 5
"""Items that a list may have, if its schema does not say."""
SCALE: Final = 21
"""Values on the scale of a bounded number, at most."""

_STEPS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0)
_IGNORED: Final = {"title", "description", "default", "examples", "$schema"}
_CHAR: Final = r'char ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\n]'
_DIGITS: Final = '("0" | [1-9] [0-9]{0,5})'

Node = Mapping[str, Any]


class _Unsupported(Exception):
    """The schema says something that is not translated here."""


def grammar_of(schema: Any, max_tokens: int) -> str | None:
    """A GBNF grammar whose every sentence satisfies ``schema``, or ``None``.

    Args:
        schema: A JSON Schema.
        max_tokens: What the answer may have; the length of strings is chosen to end before it.

    Returns:
        The grammar, or ``None`` where the schema uses words that are not translated here
        (references, patterns, ...) and llama.cpp's own translation is to be used.
    """
    try:
        counting = _Translator(MIN_STRING)
        root = counting.expression(schema)
        if not counting.strings:
            return f"root ::= {root}\n"
        left = max_tokens - _fixed_chars(schema) / PLAIN_CHARS_PER_TOKEN
        each = int(left * STRING_CHARS_PER_TOKEN / counting.strings)
        limit = min(MAX_STRING, max(MIN_STRING, each))
        return f"root ::= {_Translator(limit).expression(schema)}\n{_CHAR}\n"
    except _Unsupported:
        return None


def _fixed_chars(schema: Any) -> int:
    """Characters of an answer besides its free strings, roughly."""
    if not isinstance(schema, Mapping):
        return 0
    fields = schema.get("properties", {})
    return 8 + sum(len(name) + 8 + _fixed_chars(field) for name, field in fields.items())


class _Translator:
    """Translates one schema and counts the strings that an answer may have.

    Strings without a limit of their own get ``limit``, in characters.
    """

    def __init__(self, limit: int) -> None:
        self.strings = 0
        self._limit = limit
        self._kinds: Mapping[str, Callable[[Node], str]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "number": _number,
            "integer": _integer,
            "boolean": lambda node: _plain(node, "true", "false"),
            "null": lambda node: _plain(node, "null"),
        }

    def expression(self, schema: Any) -> str:
        if not isinstance(schema, Mapping):
            raise _Unsupported("a schema that is not an object")
        node = {word: value for word, value in schema.items() if word not in _IGNORED}
        if "const" in node:
            return _values([node["const"]])
        if "enum" in node:
            return _values(node["enum"])
        if "anyOf" in node:
            _only(node, {"anyOf"})
            return _either([self.expression(branch) for branch in node["anyOf"]])
        kinds = node.get("type")
        if isinstance(kinds, str):
            return self._kind(kinds, node)
        if isinstance(kinds, Sequence) and kinds:
            return _either([self._kind(kind, _words_for(kind, node)) for kind in kinds])
        raise _Unsupported("a schema without a type")

    def _kind(self, kind: str, node: Node) -> str:
        if kind not in self._kinds:
            raise _Unsupported(kind)
        return self._kinds[kind](node)

    def _object(self, node: Node) -> str:
        """All named fields in their order, optional ones too."""
        _only(node, {"type", "properties", "required", "additionalProperties"})
        fields = node.get("properties", {})
        if not set(node.get("required", ())) <= set(fields):
            raise _Unsupported("required fields without a schema")
        parts = [
            f"{_literal(json.dumps(name) + ': ')} {self.expression(field)}"
            for name, field in fields.items()
        ]
        return _sequence('"{"', ' ", " '.join(parts), '"}"')

    def _array(self, node: Node) -> str:
        _only(node, {"type", "items", "minItems", "maxItems"})
        low = int(node.get("minItems", 0))
        high = int(node.get("maxItems", max(low, MAX_ITEMS)))
        before = self.strings
        item = self.expression(node.get("items"))
        self.strings += (self.strings - before) * (high - 1)
        if high == 0:
            return '"[]"'
        some = f'{item} (", " {item}){{{max(low, 1) - 1},{high - 1}}}'
        return _sequence('"["', some if low else f"({some})?", '"]"')

    def _string(self, node: Node) -> str:
        _only(node, {"type", "minLength", "maxLength"})
        self.strings += 1
        low = int(node.get("minLength", 0))
        high = max(low, min(int(node.get("maxLength", self._limit)), self._limit))
        return rf'"\"" char{{{low},{high}}} "\""'


_WORDS: Final[Mapping[str, set[str]]] = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength"},
    "number": {"minimum", "maximum"},
    "integer": {"minimum", "maximum"},
}


def _words_for(kind: str, node: Node) -> Node:
    """The words that concern one of several types; unknown words stay, to be refused."""
    foreign = set().union(*_WORDS.values()) - _WORDS.get(kind, set())
    return {word: value for word, value in node.items() if word not in foreign}


def _only(node: Node, words: set[str]) -> None:
    if unknown := set(node) - words:
        raise _Unsupported(", ".join(sorted(unknown)))


def _plain(node: Node, *words: str) -> str:
    _only(node, {"type"})
    return _either([_literal(word) for word in words])


def _number(node: Node) -> str:
    _only(node, {"type", "minimum", "maximum"})
    if "minimum" in node and "maximum" in node:
        return _values(scale(float(node["minimum"]), float(node["maximum"])))
    return f'{_sign(node)} {_DIGITS} ("." [0-9]{{1,2}})?'


def _integer(node: Node) -> str:
    _only(node, {"type", "minimum", "maximum"})
    if "minimum" in node and "maximum" in node:
        low, high = math.ceil(node["minimum"]), math.floor(node["maximum"])
        if not 0 <= high - low <= 200:
            raise _Unsupported("a wide range of whole numbers")
        return _values(list(range(low, high + 1)))
    return f"{_sign(node)} {_DIGITS}"


def _sign(node: Node) -> str:
    if "maximum" in node or node.get("minimum", 0) != 0:
        raise _Unsupported("a number with one bound")
    return "" if "minimum" in node else '"-"?'


def scale(low: float, high: float) -> list[float]:
    """Round values from ``low`` to ``high``, at most ``SCALE`` of them; both ends where they fit.

    Raises:
        _Unsupported: No round step gives so few values.
    """
    for step in _STEPS:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if 0 <= last - first < SCALE:
            return [round(index * step, 2) for index in range(first, last + 1)]
    raise _Unsupported("a wide range of numbers")


def _values(values: Sequence[Any]) -> str:
    return _either([_literal(_shortest(value)) for value in values])


def _shortest(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, ensure_ascii=False)


def _either(options: Sequence[str]) -> str:
    if not options:
        raise _Unsupported("nothing to choose from")
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def _sequence(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _literal(text: str) -> str:
    """A piece of JSON as a GBNF literal: quotes and backslashes are escaped in the same way."""
    return json.dumps(text, ensure_ascii=False)
