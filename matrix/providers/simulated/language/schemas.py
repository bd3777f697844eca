"""Whether a JSON value follows a JSON Schema: the part of the standard that models are held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import re2  # type: ignore[import-untyped]

from matrix.model.records import JSON

_DEPTH: Final = 64
_BUDGET: Final = 50_000
"""Most rules looked at for one value, however a schema refers to itself."""
MAX_TEXT: Final = 10_000
"""Longest text that is matched against a schema's pattern."""

_QUIETLY: Final = re2.Options()
_QUIETLY.log_errors = False
_QUIETLY.max_mem = 1 << 20

TYPES: Final[Mapping[str, Callable[[JSON], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool)
        and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


class BadSchema(ValueError):
    """A schema that is no schema, that nothing follows, or that this server does not understand."""


def resolve(reference: JSON, root: JSON) -> JSON:
    """The part of ``root`` that a local ``$ref`` names.

    Raises:
        BadSchema: It is not local, or names nothing.
    """
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise BadSchema(f"$ref {reference!r}: only references inside the schema are followed")
    found = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, dict) and key in found:
            found = found[key]
        else:
            raise BadSchema(f"$ref {reference!r} names nothing in the schema")
    return found


def bound(schema: Mapping[str, JSON], name: str) -> float | None:
    """A numeric keyword, if it is there."""
    value = schema.get(name)
    if value is None or isinstance(value, bool):
        return None
    if not isinstance(value, int | float):
        raise BadSchema(f"{name} is {value!r}; it must be a number")
    return value


def schemas_in(schema: Mapping[str, JSON], name: str) -> list[JSON]:
    """A keyword that lists schemas."""
    found = schema.get(name, [])
    if not isinstance(found, list):
        raise BadSchema(f"{name} must be a list")
    return found


def mapping_in(schema: Mapping[str, JSON], name: str) -> dict[str, JSON]:
    """A keyword that maps names to schemas."""
    found = schema.get(name, {})
    if not isinstance(found, dict):
        raise BadSchema(f"{name} must be an object")
    return found


def types_in(schema: Mapping[str, JSON]) -> list[str]:
    """The types a schema allows; empty if it does not say."""
    found = schema.get("type", [])
    kinds = found if isinstance(found, list) else [found]
    for kind in kinds:
        if not isinstance(kind, str) or kind not in TYPES:
            raise BadSchema(f"type {kind!r} is none of {', '.join(TYPES)}")
    return kinds


def matches(pattern: JSON, text: str) -> bool:
    """Whether a pattern is found in a text.

    By an engine whose time is linear in the text, because patterns are the client's.
    """
    try:
        return len(text) <= MAX_TEXT and re2.search(pattern, text, _QUIETLY) is not None
    except (re2.error, TypeError) as error:
        told = error.args[0] if error.args else ""
        told = told.decode(errors="replace") if isinstance(told, bytes) else told
        raise BadSchema(f"pattern {pattern!r}: {told}") from None


def conforms(value: JSON, schema: JSON, root: JSON) -> bool:
    """Whether ``value`` follows ``schema``, whose local references are looked up in ``root``.

    Raises:
        BadSchema: The schema is none, or takes too long to follow.
    """
    return _Check(root).follows(value, schema, _DEPTH)


class _Check:
    """One check of one value."""

    def __init__(self, root: JSON) -> None:
        self._root, self._left = root, _BUDGET

    def follows(self, value: JSON, schema: JSON, depth: int) -> bool:
        """Whether ``value`` follows ``schema``."""
        self._left -= 1
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise BadSchema(f"found {schema!r} where a schema should be")
        if depth == 0 or self._left < 0:
            raise BadSchema("the schema is too large or refers to itself without end")
        kinds = types_in(schema)
        if kinds and not any(TYPES[kind](value) for kind in kinds):
            return False
        if "const" in schema and not _equal(value, schema["const"]):
            return False
        if "enum" in schema and not any(_equal(value, each) for each in schemas_in(schema, "enum")):
            return False
        return self._follows_parts(value, schema, depth - 1) and self._fits(
            value, schema, depth - 1
        )

    def _follows_parts(self, value: JSON, schema: Mapping[str, JSON], depth: int) -> bool:
        if "$ref" in schema and not self.follows(value, resolve(schema["$ref"], self._root), depth):
            return False
        if not all(self.follows(value, each, depth) for each in schemas_in(schema, "allOf")):
            return False
        anyone = schemas_in(schema, "anyOf")
        if anyone and not any(self.follows(value, each, depth) for each in anyone):
            return False
        one = schemas_in(schema, "oneOf")
        if one and sum(self.follows(value, each, depth) for each in one) != 1:
            return False
        return "not" not in schema or not self.follows(value, schema["not"], depth)

    def _fits(self, value: JSON, schema: Mapping[str, JSON], depth: int) -> bool:
        if isinstance(value, dict):
            return self._object_fits(value, schema, depth)
        if isinstance(value, list):
            return self._array_fits(value, schema, depth)
        if isinstance(value, str):
            return _within(len(value), schema, "minLength", "maxLength") and (
                "pattern" not in schema or matches(schema["pattern"], value)
            )
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _number_fits(value, schema)
        return True

    def _object_fits(self, value: dict[str, JSON], schema: Mapping[str, JSON], depth: int) -> bool:
        if any(name not in value for name in schemas_in(schema, "required")):
            return False
        properties = mapping_in(schema, "properties")
        patterns = mapping_in(schema, "patternProperties")
        for name, each in value.items():
            rules = [properties[name]] if name in properties else []
            rules += [rule for pattern, rule in patterns.items() if matches(pattern, name)]
            rules = rules or [schema.get("additionalProperties", True)]
            if not all(self.follows(each, rule, depth) for rule in rules):
                return False
        return _within(len(value), schema, "minProperties", "maxProperties")

    def _array_fits(self, value: list[JSON], schema: Mapping[str, JSON], depth: int) -> bool:
        first = schemas_in(schema, "prefixItems")
        for index, each in enumerate(value):
            rule = first[index] if index < len(first) else schema.get("items", True)
            if not self.follows(each, rule, depth):
                return False
        if schema.get("uniqueItems") is True and any(
            _equal(one, other) for at, one in enumerate(value) for other in value[:at]
        ):
            return False
        return _within(len(value), schema, "minItems", "maxItems")


def _equal(one: JSON, other: JSON) -> bool:
    """JSON equality: ``1`` and ``1.0`` are the same, ``1`` and ``true`` are not."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _within(size: int, schema: Mapping[str, JSON], least: str, most: str) -> bool:
    low, high = bound(schema, least), bound(schema, most)
    return (low is None or size >= low) and (high is None or size <= high)


def _number_fits(value: float, schema: Mapping[str, JSON]) -> bool:
    low, high = bound(schema, "minimum"), bound(schema, "maximum")
    above, below = bound(schema, "exclusiveMinimum"), bound(schema, "exclusiveMaximum")
    step = bound(schema, "multipleOf")
    return (
        (low is None or value >= low)
        and (high is None or value <= high)
        and (above is None or value > above)
        and (below is None or value < below)
        and (not step or _is_whole(value / step))
    )


def _is_whole(quotient: float) -> bool:
    """Whether a quotient is a whole number, but for the error of its division."""
    rest = quotient % 1
    return min(rest, 1 - rest) < 1e-9
