"""Words in common: what a simulated reader goes by."""

from __future__ import annotations

import re
from typing import Final

_WORD = re.compile(r"[a-z][a-z'-]{2,}")
_STEM: Final = 5
_PLAIN: Final = frozenset(
    word[:_STEM]
    for line in (
        "the and for that this with from they them their there then than what when which while",
        "who have has had was were will would could should can may might must does did done not",
        "never are been being about after before into onto over under again also just only very",
        "much more most some any all each every one two three four five our your his her its said",
        "says say think thinks believe believes suspect suspects guess guesses because but however",
        "really it's don't doesn't isn't wasn't won't can't didn't you she him people person week",
        "weeks day days month months year years time times still now today yesterday tomorrow like",
        "get gets got make makes made want wants need needs item new even though instead nobody",
        "nothing without hypothesis hypotheses evidence status source notebook file files note",
        "notes",
    )
    for word in line.split()
)
_NO: Final = re.compile(
    r"\b(?:no|not|never|nobody|nothing|none|without|neither|hardly|stopped|wrong|opposite|contrary|"
    r"instead of|gave up|no longer)\b|n't\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def stems(text: str) -> set[str]:
    """What a text is about: the beginnings of its words, without the plain ones."""
    found = {word.strip("'-")[:_STEM] for word in _WORD.findall(text.casefold())}
    return {word for word in found if word not in _PLAIN and len(word) > 2}


def shared(one: str, other: str) -> float:
    """The share of what ``one`` is about that ``other`` speaks of."""
    requested = stems(one)
    return len(requested & stems(other)) / len(requested) if requested else 0.0


def denies(one: str, other: str) -> bool:
    """Whether two sentences about the same thing say the opposite: one of them says no."""
    return len(_NO.findall(one)) % 2 != len(_NO.findall(other)) % 2


def sentences(text: str) -> list[str]:
    """The sentences of a note, without headings, front matter and quote marks."""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    lines = [line.strip(" >*-\t") for line in body.splitlines() if not line.startswith("#")]
    joined = " ".join(line if line else "\n" for line in lines)
    found = [one for block in joined.split("\n") for one in _SENTENCE.split(block.strip())]
    return [one.strip() for one in found if one.strip()]


def slug(text: str, most: int = 5) -> str:
    """A file's name for a text."""
    words = [word for word in _WORD.findall(text.casefold()) if word[:_STEM] not in _PLAIN]
    return "-".join(word.strip("'-") for word in words[:most]) or "note"
