"""Examples of JSON Schemas, against the reference implementation as the oracle."""

from __future__ import annotations

import random
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from matrix.providers.simulated.language.examples import example
from matrix.providers.simulated.language.schemas import BadSchema, conforms

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True,
                 "minItems": 2, "maxItems": 3},
        "home": {"$ref": "#/$defs/address"},
        "nick": {"type": ["null", "string"]},
    },
    "required": ["name", "age", "home"],
    "additionalProperties": False,
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"pattern": "^[0-9]{5}$"}},
            "required": ["city", "zip"],
        }
    },
}  # fmt: skip
TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "number"},
                "left": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "right": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "others": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value", "left", "right", "others"],
        }
    },
}
SCHEMAS: list[Any] = [
    PERSON,
    TREE,
    {},
    True,
    {"type": "null"},
    {"const": {"a": [1, None]}},
    {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 6},
    {"type": "number", "minimum": 0.4, "maximum": 0.41},
    {"type": "integer", "multipleOf": 7, "minimum": 50, "maximum": 60},
    {"type": "string", "minLength": 90, "maxLength": 91},
    {"type": "string", "maxLength": 0},
    {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
    {"type": "array", "prefixItems": [{"const": 1}, {"type": "boolean"}], "items": False},
    {"type": "array", "items": {"type": "string"}, "minItems": 5},
    {"type": "object", "minProperties": 3, "additionalProperties": {"type": "integer"}},
    {"type": "object", "required": ["x"], "additionalProperties": {"type": "boolean"}},
    {"properties": {"kind": {"enum": [1, "two", None]}}, "required": ["kind"]},
    {"allOf": [PERSON["properties"]["home"] | {"$ref": "#/$defs/a"}], "$defs": {  # type: ignore[index]
        "a": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}}},
    {"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "integer"}]},
    {"anyOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
               {"type": "array", "items": {"type": "integer"}}]},
    {"type": "object", "properties": {"never": False, "fine": {"type": "string"}}},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_example_follows_its_schema(schema: Any) -> None:
    oracle = jsonschema.Draft202012Validator(schema)
    for seed in range(25):
        value = example(schema, random.Random(seed))
        assert oracle.is_valid(value), value


def test_the_same_stream_gives_the_same_example() -> None:
    assert example(PERSON, random.Random(7)) == example(PERSON, random.Random(7))


def _any_schema(rng: random.Random, depth: int) -> Any:
    """A small random schema; many contradict themselves."""

    def some(*names: str) -> dict[str, int]:
        return {name: rng.randrange(-2, 9) for name in names if rng.random() < 0.3}

    sizes = {key: abs(value) for key, value in some("minLength", "maxLength").items()}
    plain = [True, {"type": "boolean"}, {"enum": [1, "a", None]}, {"type": "string", **sizes},
             {"type": "integer", **some("minimum", "maximum", "exclusiveMinimum")}]  # fmt: skip
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(plain)
    parts = [_any_schema(rng, depth - 1) for _ in range(3)]
    counts = {key: abs(value) for key, value in some("minItems", "maxItems").items()}
    return rng.choice(
        [
            {"type": "array", "items": parts[0], **counts},
            {"type": "object", "properties": dict(zip("abc", parts, strict=True)),
             "required": rng.sample("abcd", 2), "additionalProperties": rng.random() < 0.5},
            {"anyOf": parts},
            {"oneOf": parts[:2]},
            {"allOf": parts[:2]},
        ]
    )  # fmt: skip


@pytest.mark.slow
def test_on_random_schemas_an_example_is_right_or_refused() -> None:
    rng = random.Random(1)
    made = 0
    for seed in range(400):
        schema = _any_schema(rng, 3)
        oracle = jsonschema.Draft202012Validator(schema)
        try:
            value = example(schema, random.Random(seed))
        except BadSchema:
            continue
        made += 1
        assert oracle.is_valid(value), (schema, value)
        for other in (None, True, 1, 1.0, "a", [], [1], {}, {"a": 1, "b": None}):
            assert conforms(other, schema, schema) == oracle.is_valid(other), (schema, other)
    assert made > 250


@pytest.mark.parametrize(
    "schema",
    [
        False,
        3,
        {"type": "text"},
        {"type": "integer", "minimum": 5, "maximum": 4},
        {"enum": []},
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 0}]},
        {"type": "string", "pattern": "^("},
        {"type": "string", "pattern": "^nobody writes this$"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.com/schema"},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "array", "minItems": 10**9},
        {"type": "string", "minLength": 10**9},
        {"type": "object", "minProperties": 10**9},
        {"type": "number", "minimum": 1e308, "multipleOf": 1e-300},
        {"type": "object", "properties": []},
        {"type": "object", "required": [[]]},
        {"type": "integer", "minimum": "1"},
    ],
)
def test_a_schema_that_nothing_follows_is_refused_and_soon(schema: Any) -> None:
    with pytest.raises(BadSchema):
        example(schema, random.Random(1))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*.*)*x$", "^(([a-z])+.)+[A-Z]$"])
@pytest.mark.parametrize("length", [100, 10_000])
def test_no_pattern_of_a_client_takes_more_than_its_text_is_long(pattern: str, length: int) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert not conforms("a" * (length - 1) + "!", schema, schema)  # by backtracking: for ever


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", "x{1000}{1000}", 7])
def test_a_pattern_that_cannot_be_followed_is_said_to_be(pattern: Any) -> None:
    schema = {"type": "string", "pattern": pattern}
    with pytest.raises(BadSchema, match="pattern"):
        conforms("text", schema, schema)
