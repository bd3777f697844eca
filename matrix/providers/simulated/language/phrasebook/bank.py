"""A bank of lines with slots, from which only lines that can be filled are drawn."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

_SENTENCE_STARTS = (". ", "? ", "! ")
_SLOT = re.compile(r"\{(\w+)\}")


class Bank:
    """Lines such as ``"I ask {person} about {thing}."``, drawn by which slots can be filled.

    A slot is filled from a mapping; ``{Thing}`` is ``{thing}`` with a capital.
    """

    def __init__(self, *lines: str) -> None:
        self._lines = tuple((line, frozenset(_SLOT.findall(line.lower()))) for line in lines)
        self._fitting: dict[frozenset[str], tuple[str, ...]] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """Every line, with its slots."""
        return tuple(line for line, _ in self._lines)

    def fitting(self, slots: frozenset[str]) -> tuple[str, ...]:
        """The lines that need no other slots than ``slots``."""
        found = self._fitting.get(slots)
        if found is None:
            found = tuple(line for line, needs in self._lines if needs <= slots)
            self._fitting[slots] = found
        return found

    def draw(self, rng: random.Random, fills: Mapping[str, str], heard: str = "") -> str:
        """A line at random, filled; not one whose opening was ``heard`` lately, if avoidable."""
        lines = self.fitting(frozenset(fills))
        if not lines:
            return ""
        start = int(rng.random() * len(lines))
        line = lines[start]
        if heard:
            for offset in range(len(lines)):
                line = lines[(start + offset) % len(lines)]
                if longest_fixed_part(line) not in heard:
                    break
        return filled(line, fills)

    def deal(self, position: int, fills: Mapping[str, str]) -> str:
        """The line at ``position`` of a fixed round, or the next one that can be filled."""
        lines, have = self._lines, fills.keys()
        for offset in range(len(lines)):
            line, needs = lines[(position + offset) % len(lines)]
            if needs <= have:
                return filled(line, fills)
        return ""


def filled(line: str, fills: Mapping[str, str]) -> str:
    """``line`` with its slots filled; a slot that opens a sentence gets a capital."""
    if "{" not in line:
        return line

    def one(match: re.Match[str]) -> str:
        slot = match[1]
        text = fills[slot.lower()]
        start = match.start()
        opens = start == 0 or line[start - 2 : start] in _SENTENCE_STARTS
        return text[:1].upper() + text[1:] if opens or slot not in fills else text

    return _SLOT.sub(one, line)


_FIXED: dict[str, str] = {}


def longest_fixed_part(line: str) -> str:
    """The longest stretch of ``line`` between slots, by which its use can be recognised."""
    found = _FIXED.get(line)
    if found is None:
        found = max(_SLOT.sub("\0", line).split("\0"), key=len).strip()
        _FIXED[line] = found
    return found


def pick(rng: random.Random, options: Sequence[str]) -> str:
    """One of ``options``; a single draw, cheaper than ``rng.choice``."""
    return options[int(rng.random() * len(options))]
