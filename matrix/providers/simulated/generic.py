"""Answers of simulated models to prompts that no role claims."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import orjson

from matrix.model.records import ChatMessage
from matrix.providers.simulated.phrasebook.bank import pick

COUNTER = "# You are a counter"
_COUNT_ON = re.compile(r"Count on from (-?\d+)")
_SENTENCES = (
    "I have read it, and I would go ahead as described.",
    "That seems reasonable. I would check the details once more before acting on them.",
    "Yes. The short answer is that it works, with the usual care.",
    "I don't know enough to be certain, but the first option looks sound.",
    "Here is what I would do: start small, look at the result, and continue from there.",
)
_DEPTH = 4


def count_on(messages: Sequence[ChatMessage]) -> str:
    """The number after the one in "Count on from N."."""
    match = _COUNT_ON.search(messages[-1].content)
    return str(int(match[1]) + 1) if match else "1"


def answer_any(schema: str | None, rng: random.Random) -> str:
    """A sentence, or JSON that follows the schema where one was asked for."""
    if schema is None:
        return pick(rng, _SENTENCES)
    return orjson.dumps(_value(orjson.loads(schema), rng, _DEPTH)).decode()


def _value(schema: dict[str, Any], rng: random.Random, depth: int) -> Any:
    if choices := schema.get("enum"):
        return choices[int(rng.random() * len(choices))]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {}) if depth else {}
        return {name: _value(each, rng, depth - 1) for name, each in properties.items()}
    if kind == "array":
        return [_value(schema.get("items", {}), rng, depth - 1)] if depth else []
    if kind in ("number", "integer"):
        low = float(schema.get("minimum", 0))
        number = low + rng.random() * (float(schema.get("maximum", low + 10)) - low)
        return round(number) if kind == "integer" else round(number, 2)
    if kind == "boolean":
        return rng.random() < 0.5
    return None if kind == "null" else pick(rng, _SENTENCES)
