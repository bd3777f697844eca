"""A plausible value for a JSON Schema: arguments of tool calls, and answers held to a schema.

The value always follows the schema (`matrix.providers.simulated.language.schemas.conforms` has the
last word); a schema for which none is found is refused with the reason.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Final

from matrix.model.records import JSON
from matrix.providers.simulated.language.sample_texts import FORMATS, NAMED, SHAPED, WORDS
from matrix.providers.simulated.language.schemas import (
    BadSchema,
    bound,
    conforms,
    mapping_in,
    schemas_in,
    types_in,
)
from matrix.providers.simulated.language.schemas import resolve as resolved

_BUDGET: Final = 5_000
_DEPTH: Final = 24
_PLAIN_BELOW: Final = _DEPTH - 5
"""From here down only what is required is made, and nothing that refers elsewhere if avoidable."""
_LONGEST: Final = 2_000
_TRIES: Final = 12
_HINTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("properties", ("object",)),
    ("required", ("object",)),
    ("additionalProperties", ("object",)),
    ("items", ("array",)),
    ("prefixItems", ("array",)),
    ("minItems", ("array",)),
    ("minimum", ("number",)),
    ("maximum", ("number",)),
    ("multipleOf", ("number",)),
)


def example(schema: JSON, rng: random.Random) -> JSON:
    """A value that follows ``schema``.

    Raises:
        BadSchema: None was found, or it is no schema; the message says where it got stuck.
    """
    for _ in range(_TRIES):
        value = _Examples(schema, rng).of(schema, "", _DEPTH)
        if conforms(value, schema, schema):
            return value
    raise BadSchema("no example was found that follows the whole schema")


class _Examples:
    """One search for an example; the budget bounds it, however the schema refers to itself."""

    def __init__(self, root: JSON, rng: random.Random) -> None:
        self._root, self._rng, self._left = root, rng, _BUDGET

    def of(self, schema: JSON, name: str, depth: int) -> JSON:
        """A value for ``schema``, which is that of a property called ``name``."""
        self._left -= 1
        if self._left < 0 or depth == 0:
            raise BadSchema(
                f"the schema is too large or refers to itself without end (at {name!r})"
            )
        if schema is True:
            return self._word(name)
        if not isinstance(schema, dict):
            raise BadSchema(f"found {schema!r} where a schema should be (at {name!r})")
        whole = self._merged(schema, depth)
        for keyword in ("oneOf", "anyOf"):
            if options := schemas_in(whole, keyword):
                rest = {key: each for key, each in whole.items() if key != keyword}
                return self._of_any(options, rest, name, depth)
        if "const" in whole:
            return whole["const"]
        if "enum" in whole:
            fitting = [each for each in schemas_in(whole, "enum") if self._fits(each, whole)]
            if not fitting:
                raise BadSchema(f"nothing in the enum of {name!r} fits the rest of its schema")
            return self._pick(fitting)
        return self._first(_kinds(whole), lambda kind: self._of_kind(kind, whole, name, depth))

    def _merged(self, schema: dict[str, JSON], depth: int) -> dict[str, JSON]:
        """``schema`` with its reference and ``allOf`` parts put into one."""
        parts = schemas_in(schema, "allOf")
        if "$ref" in schema:
            parts = [resolved(schema["$ref"], self._root), *parts]
        if not parts:
            return schema
        self._left -= len(parts)
        if depth == 0 or self._left < 0:
            raise BadSchema("the schema is too large or refers to itself without end")
        whole = {key: each for key, each in schema.items() if key not in ("$ref", "allOf")}
        for part in parts:
            if part is True:
                continue
            if not isinstance(part, dict):
                raise BadSchema(f"found {part!r} where a schema should be")
            whole = _both(self._merged(part, depth - 1), whole)
        return whole

    def _of_any(self, options: list[JSON], rest: dict[str, JSON], name: str, depth: int) -> JSON:
        """A value for one of several options beside what all of them share."""
        ordered = self._ordered(options, depth)
        return self._first(ordered, lambda each: self._joined(rest, each, name, depth))

    def _joined(self, rest: dict[str, JSON], option: JSON, name: str, depth: int) -> JSON:
        """A value for this option."""
        if option is True:
            return self.of(rest, name, depth - 1)
        if not isinstance(option, dict):
            raise BadSchema(f"found {option!r} where a schema should be (at {name!r})")
        return self.of(_both(self._merged(option, depth - 1), rest), name, depth - 1)

    def _first(self, options: list[JSON], make: Callable[[JSON], JSON]) -> JSON:
        """What the first option gives that gives anything."""
        problem = BadSchema("there is nothing to choose from")
        for option in options:
            try:
                return make(option)
            except BadSchema as error:
                problem = error
        raise problem

    def _of_kind(self, kind: str, schema: dict[str, JSON], name: str, depth: int) -> JSON:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind == "string":
            return self._text(schema, name)
        if kind in ("number", "integer"):
            return _number(schema, name, self._rng, whole=kind == "integer")
        return None if kind == "null" else self._rng.random() < 0.5

    def _object(self, schema: dict[str, JSON], depth: int) -> dict[str, JSON]:
        properties, others = mapping_in(schema, "properties"), schema.get("additionalProperties")
        made: dict[str, JSON] = {}
        required = dict.fromkeys(_names(schema))
        most = bound(schema, "maxProperties")
        for name in [*required, *(name for name in properties if name not in required)]:
            full = most is not None and len(made) >= most
            if name not in required and (full or depth < _PLAIN_BELOW):
                break
            rule = properties.get(name, True if others is None else others)
            try:
                each = self.of(rule, name, depth - 1)
                if name in required or self._fits(each, rule):
                    made[name] = each
            except BadSchema:
                if name in required:
                    raise
        least = bound(schema, "minProperties") or 0
        while len(made) < least:
            rule = True if others is None else others
            made[f"key_{len(made) + 1}"] = self.of(rule, "key", depth - 1)
        return made

    def _array(self, schema: dict[str, JSON], name: str, depth: int) -> list[JSON]:
        first, items = schemas_in(schema, "prefixItems"), schema.get("items", True)
        least, most = bound(schema, "minItems") or 0, bound(schema, "maxItems")
        requested = max(least, len(first), 1) if depth >= _PLAIN_BELOW else least
        requested = requested if most is None else min(requested, most)
        made: list[JSON] = []
        tries = 0
        while len(made) < requested:
            rule = first[len(made)] if len(made) < len(first) else items
            try:
                each = self.of(rule, name, depth - 1)
            except BadSchema:
                if len(made) >= least:
                    break
                raise
            tries += 1
            if schema.get("uniqueItems") is not True or each not in made:
                made.append(each)
            elif tries > 10 * requested + _TRIES:
                raise BadSchema(f"no {least:g} different items were found for {name!r}")
        return made

    def _text(self, schema: dict[str, JSON], name: str) -> str:
        low, high = bound(schema, "minLength") or 0, bound(schema, "maxLength")
        if low > _LONGEST:
            raise BadSchema(f"{name!r} asks for {low:g} characters; {_LONGEST} at most here")
        if "pattern" in schema:
            fitting = [text for text in SHAPED if self._fits(text, schema)]
            if not fitting:
                raise BadSchema(f"no text was found for the pattern {schema['pattern']!r}")
            return str(self._pick(fitting))
        text = FORMATS.get(str(schema.get("format"))) or self._word(name)
        while len(text) < low:
            text += " " + self._word("")
        return text if high is None else text[: int(max(low, high))]

    def _word(self, name: str) -> str:
        for known, words in NAMED.items():
            if known in name.lower():
                return str(self._pick(words))
        return str(self._pick(WORDS))

    def _fits(self, value: JSON, schema: JSON) -> bool:
        return conforms(value, schema, self._root)

    def _pick(self, options: list[JSON] | tuple[str, ...]) -> JSON:
        return options[int(self._rng.random() * len(options))]

    def _ordered(self, options: list[JSON], depth: int) -> list[JSON]:
        """The order to try options in: any, but far down the plain ones first."""
        at = int(self._rng.random() * len(options))
        options = options[at:] + options[:at]
        if depth >= _PLAIN_BELOW:
            return options
        return sorted(options, key=lambda each: isinstance(each, dict) and not _is_plain(each))


def _names(schema: Mapping[str, JSON]) -> list[str]:
    """The properties that a schema requires.

    Raises:
        BadSchema: It is no list of names, or of more than an example could have.
    """
    names = schemas_in(schema, "required")
    if len(names) > _BUDGET:
        raise BadSchema(f"required has {len(names):,} names; at most {_BUDGET:,} are made")
    for name in names:
        if not isinstance(name, str):
            raise BadSchema(f"required names {name!r}; it must be a list of names")
    return names


def _is_plain(schema: Mapping[str, JSON]) -> bool:
    """Whether a value of this schema has no parts."""
    return "$ref" not in schema and _kinds(schema)[0] not in ("object", "array")


def _kinds(schema: Mapping[str, JSON]) -> list[JSON]:
    """Types to try, ``null`` last; guessed from the keywords where the schema does not say."""
    kinds = types_in(schema)
    if kinds:
        return sorted(kinds, key=lambda kind: kind == "null")
    for keyword, guessed in _HINTS:
        if keyword in schema:
            return list(guessed)
    return ["string"]


def _both(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> dict[str, JSON]:
    """Two schemas as one; where both say something that cannot be joined, ``other`` wins."""
    whole = {**one, **other}
    if "properties" in one and "properties" in other:
        whole["properties"] = {**mapping_in(one, "properties"), **mapping_in(other, "properties")}
    if "required" in one and "required" in other:
        whole["required"] = list(dict.fromkeys([*_names(one), *_names(other)]))
    return whole


def _number(
    schema: Mapping[str, JSON], name: str, rng: random.Random, *, whole: bool
) -> int | float:
    """A number in the range, on the grid of ``multipleOf``; two decimals where that fits."""
    least, most = bound(schema, "minimum"), bound(schema, "maximum")
    above, below = bound(schema, "exclusiveMinimum"), bound(schema, "exclusiveMaximum")
    low = max((each for each in (least, above) if each is not None), default=None)
    high = min((each for each in (most, below) if each is not None), default=None)
    if low is None:
        low = 0 if high is None else high - 10
    high = low + 10 if high is None else high
    step = bound(schema, "multipleOf") or (1 if whole else 0.01)
    if not (math.isfinite(low / step) and math.isfinite(high / step)):
        raise BadSchema(f"the range of {name!r} is too large for its multipleOf")
    start, end = math.ceil(low / step), math.floor(high / step)
    tries = [start + int(rng.random() * max(1, end - start + 1)) for _ in range(_TRIES)]
    grid = [each * step for each in (*tries, start, start + 1, end, end - 1)]
    numbers = [round(each) if whole else round(each, 9) for each in grid]
    numbers += [] if whole else [(low + high) / 2, low, high]
    for number in numbers:
        if conforms(number, {**schema, "type": "integer" if whole else "number"}, schema):
            return number
    raise BadSchema(f"no number was found for {name!r} between {low:g} and {high:g}")
