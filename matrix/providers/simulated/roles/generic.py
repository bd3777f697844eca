"""Answers of simulated models to prompts that no role claims."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import orjson

from matrix.model.errors import RequestRejected
from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.examples import example
from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.language.schemas import BadSchema

COUNTER = "# You are a counter"
_COUNT_ON = re.compile(r"Count on from (-?\d+)")
_SENTENCES = (
    "I have read it, and I would go ahead as described.",
    "That seems reasonable. I would check the details once more before acting on them.",
    "Yes. The short answer is that it works, with the usual care.",
    "I don't know enough to be certain, but the first option looks sound.",
    "Here is what I would do: start small, look at the result, and continue from there.",
)


def count_on(messages: Sequence[ChatMessage]) -> str:
    """The number after the one in "Count on from N."."""
    match = _COUNT_ON.search(messages[-1].content)
    return str(int(match[1]) + 1) if match else "1"


def answer_any(schema: str | None, rng: random.Random) -> str:
    """A sentence, or JSON that follows the schema where one was asked for.

    Raises:
        RequestRejected: No example of the schema was found.
    """
    if schema is None:
        return pick(rng, _SENTENCES)
    try:
        return orjson.dumps(example(orjson.loads(schema), rng)).decode()
    except BadSchema as error:
        raise RequestRejected(f"the schema of the answer: {error}") from None
