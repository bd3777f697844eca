"""The simulated reader of failures: groups sessions by what their texts plainly say of them.

It finds nothing out. A session goes under the first check that it missed, else under how it ended,
else under its low score; and the turn it cites is the last one that stands in the text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

import orjson

from matrix.kinds.explanation.grouping import MOST_GROUPS, SESSION
from matrix.model.records import ChatMessage
from matrix.providers.simulated.traits import Traits

_PART: Final = re.compile(
    rf"^## {SESSION}([^\s:]+): ([^\n]*)\n<<<\n(.*?)\n>>>", re.DOTALL | re.MULTILINE
)
_TURN: Final = re.compile(r"^\[turn (\d+)\]", re.MULTILINE)
_MISSED: Final = re.compile(r"^missed ([^:\n]+):?", re.MULTILINE)
_ENDED: Final = re.compile(r"^ended: ([^\n]+)", re.MULTILINE)
_SCORE: Final = re.compile(r"^score: ([^\n]+)", re.MULTILINE)
_LONGEST: Final = 90


def read_failures(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """Groups of the sessions in the request, as JSON."""
    groups: dict[str, list[dict[str, str | int]]] = {}
    for session, _, text in _PART.findall(messages[-1].content):
        label, why = _cause(text)
        turns = [int(number) for number in _TURN.findall(text)]
        cited: dict[str, str | int] = {"session": session, "turn": turns[-1] if turns else 0}
        groups.setdefault(label, []).append({**cited, "why": why})
    told = [
        {
            "label": label,
            "explanation": f"Simulated reading: {len(cited)} of the sessions shown say this.",
            "sessions": cited,
        }
        for label, cited in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    return orjson.dumps({"groups": told[:MOST_GROUPS]}).decode()


def _cause(text: str) -> tuple[str, str]:
    """What a session is put under, and the line that says it."""
    if missed := _MISSED.search(text):
        return f"missed {missed[1].strip()}"[:_LONGEST], _line(text, missed.start())
    ended = _ENDED.search(text)
    if ended and not ended[1].startswith("completed"):
        return ended[1].partition(":")[0].strip()[:_LONGEST], _line(text, ended.start())
    score = _SCORE.search(text)
    return "a low score", _line(text, score.start()) if score else "nothing else is said of it"


def _line(text: str, start: int) -> str:
    return text[start:].partition("\n")[0][:200]
