"""Reading one output of the narrator: its words, its paragraphs, and markers it may carry."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final, NamedTuple

MARKER: Final = re.compile(
    r"^[ \t]*+\[(PULSE|ASIDE|ANSWER|RECAP|END)\b[ \t]*+"
    r"(?:(?:->|:|\u2192)[ \t]*+)?([^\]\n]*+)\][ \t]*+\n?",
    re.MULTILINE,
)
"""A marker of the structured prompt, alone or at the head of a line."""

_THE_END: Final = re.compile(r"\bTHE END\W*\Z")
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
MIN_WORDS: Final = 3
"""An output with fewer words is no narration."""

DEGENERATE_BELOW: Final = 0.22
"""Distinct words per word; ordinary prose of this length has more than twice as many."""

_LONG_ENOUGH: Final = 60
_BLANK_LINE: Final = re.compile(r"\n\s*\n")


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as running text."""
    return frozenset(text.split())


class Marker(NamedTuple):
    """The first marker of an output: its name in upper case and what stands beside it."""

    name: str
    argument: str


class HeardOutput(NamedTuple):
    """An output as players hear it.

    Attributes:
        spoken: The text without markers.
        paragraphs: Words of each part between blank lines, in lower case and in order.
        vocabulary: The distinct words.
        length: Words in all.
    """

    spoken: str
    paragraphs: tuple[list[str], ...]
    vocabulary: frozenset[str]
    length: int


def spoken(text: str) -> str:
    """``text`` without markers: what is read out at the table."""
    return (MARKER.sub("", text) if "[" in text else text).strip()


def read(text: str) -> HeardOutput:
    """Read an output once, for every detector."""
    said = spoken(text)
    parts = tuple(words for part in _BLANK_LINE.split(said) if (words := words_of(part)))
    return HeardOutput(said, parts, frozenset(chain.from_iterable(parts)), sum(map(len, parts)))


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, with straight apostrophes."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def bare(word: str) -> str:
    """A word without the ending of a possessive."""
    return word.removesuffix("'s")


def marker_of(text: str) -> Marker | None:
    """The first marker in an output, if any."""
    found = MARKER.search(text) if "[" in text else None
    return Marker(found[1].upper(), found[2].strip()) if found else None


def closes(text: str) -> bool:
    """Whether the output closes with the line that prompts ask for: ``THE END``."""
    return _THE_END.search(text) is not None


def is_usable(text: str) -> bool:
    """Whether there is anything to react to: a few words, or an explicit ending."""
    said = spoken(text)
    if len(_WORD.findall(said[:120])) >= MIN_WORDS:
        return True
    marker = marker_of(text)
    return closes(text) or (marker is not None and marker.name == "END")


def is_degenerate(reading: HeardOutput) -> bool:
    """Whether the output is a broken record inside itself: few distinct words, many times."""
    enough = reading.length >= _LONG_ENOUGH
    return enough and len(reading.vocabulary) < DEGENERATE_BELOW * reading.length


def title_of(text: str, words: int = 6) -> str:
    """The first few words of a text, as a title."""
    said = spoken(text).split()
    return " ".join(said[:words]).strip(" .,;:!?\"'*_#-")[:80]
