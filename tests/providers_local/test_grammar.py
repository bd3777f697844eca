"""Laws of grammars: whatever can be written satisfies the schema, and ends in time."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from matrix.judging.request import verdict_schema
from matrix.judging.verdict import parse_verdict
from matrix.kinds.playtest.detect.classify import SCHEMA, parse_label
from matrix.kinds.playtest.setup.roles import CLASSIFIER, JUDGE, TOKENS
from matrix.kinds.playtest.table.judge import rubric_of
from matrix.providers.local.grammar import MAX_STRING, grammar_of
from tests.providers_local.sentences import sentence

RUBRIC = rubric_of()

jsonschema = pytest.importorskip("jsonschema", reason="needs a validator to compare with")

MIXED: Mapping[str, Any] = {
    "type": "object",
    "title": "everything that is translated",
    "properties": {
        "kind": {"enum": ['a "quoted" one', "back\\slash", "Ä", 3, 1.5, None, True]},
        "always": {"const": {"x": [1]}},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 4}]},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 2}, "minItems": 2},
        "few": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
        "none": {"type": "array", "items": {"type": "null"}, "maxItems": 0},
        "count": {"type": "integer", "minimum": 0},
        "dice": {"type": "integer", "minimum": 1, "maximum": 6},
        "free": {"type": "number"},
        "share": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "percent": {"type": "number", "minimum": 0, "maximum": 100},
        "odd": {"type": "number", "minimum": 0.1, "maximum": 0.3},
        "inner": {"type": "object", "properties": {"deep": {"type": "null"}}},
        "empty": {"type": "object"},
    },
    "required": ["kind", "either"],
    "additionalProperties": False,
}


@pytest.mark.slow
@pytest.mark.parametrize("schema", [SCHEMA, verdict_schema(RUBRIC), MIXED])
def test_every_sentence_satisfies_the_schema(schema: Mapping[str, Any]) -> None:
    grammar = grammar_of(schema, 400)
    assert grammar is not None
    for seed in range(60):
        jsonschema.validate(json.loads(sentence(grammar, random.Random(seed))), schema)


@pytest.mark.slow
def test_every_label_and_every_verdict_can_be_read() -> None:
    labels = grammar_of(SCHEMA, TOKENS[CLASSIFIER])
    verdicts = grammar_of(verdict_schema(RUBRIC), TOKENS[JUDGE])
    assert labels is not None
    assert verdicts is not None
    for seed in range(100):
        assert parse_label(sentence(labels, random.Random(seed))) is not None
        verdict = parse_verdict(sentence(verdicts, random.Random(seed)), RUBRIC)
        assert verdict is not None
        assert set(verdict.scores) == set(RUBRIC.names)


@pytest.mark.parametrize("max_tokens", [160, 220, 600, 4_000])
def test_answers_end_before_max_tokens_at_two_characters_per_token(max_tokens: int) -> None:
    for schema in (SCHEMA, verdict_schema(RUBRIC)):
        grammar = grammar_of(schema, max_tokens)
        assert grammar is not None
        longest = max(len(sentence(grammar, random.Random(seed))) for seed in range(30))
        assert longest <= 2 * max_tokens


def test_answers_are_one_line_and_strings_are_bounded() -> None:
    grammar = grammar_of({"type": "string"}, 100_000)
    assert grammar is not None
    written = [sentence(grammar, random.Random(seed)) for seed in range(50)]
    assert max(map(len, written)) <= 2 * MAX_STRING + 2
    assert not any("\n" in text for text in written)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/x"},
        {"type": "string", "pattern": "^a$"},
        {"type": "bogus"},
        {"type": []},
        {},
        True,
        {"type": "object", "required": ["unnamed"]},
        {"type": "array"},
        {"type": "number", "minimum": 5},
        {"type": "number", "minimum": 0, "maximum": 1e9},
        {"type": "integer", "minimum": 0, "maximum": 10_000},
        {"type": "number", "minimum": 2, "maximum": 1},
        {"enum": []},
        {"type": "boolean", "format": "x"},
        {"oneOf": [{"type": "null"}]},
    ],
)
def test_what_is_not_translated_is_left_to_llama_cpp(schema: Any) -> None:
    assert grammar_of(schema, 100) is None
    assert grammar_of({"type": "object", "properties": {"x": schema}}, 100) is None
