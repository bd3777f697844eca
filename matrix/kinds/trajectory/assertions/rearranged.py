"""Counting rows of evidence so that saying an old one in another shape is no new evidence."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from matrix.kinds.trajectory.assertions.notes.evidence import EvidenceRow
from matrix.kinds.trajectory.assertions.notes.markdown import places_in, without_paths

_WORD: Final = re.compile(r"[<>\u2264\u2265+\u2212-]?\w+")
_MOST_COMPARED: Final = 50
"""Old rows that one new one is held against; notes that people write have fewer with its words."""


class _Told(NamedTuple):
    """What a row says: its words in order, and the places that it names."""

    against: bool
    words: tuple[str, ...]
    places: frozenset[str]

    def has(self, part: _Told) -> bool:
        """Whether a part stood in it."""
        rest = iter(self.words)
        same = part.against is self.against and part.places <= self.places
        return same and all(word in rest for word in part.words)


def counted(rows: Sequence[EvidenceRow], before: Sequence[EvidenceRow]) -> tuple[int, int]:
    """Rows for a hypothesis and against it, each as often as it says something of its own.

    The same row said again, however it is marked, is none. Of an old row that was divided all
    parts are one: those whose words stood in it in this order, and that name no other place.

    Args:
        rows: The rows to be counted.
        before: Those that were there before.
    """
    old = {(row.against, _wording(row.text)): _told(row) for row in before}
    having = defaultdict[str, list[tuple[bool, str]]](list)
    for key, told in old.items():
        for word in set(told.words):
            having[word].append(key)
    said = set[tuple[bool, str]]()
    for row in rows:
        key, part = (row.against, _wording(row.text)), _told(row)
        if key not in old and part.words:
            rarest = min((having.get(word, []) for word in part.words), key=len)
            key = next((one for one in rarest[:_MOST_COMPARED] if old[one].has(part)), key)
        said.add(key)
    against = sum(way for way, _ in said)
    return len(said) - against, against


def _told(row: EvidenceRow) -> _Told:
    words = tuple(_WORD.findall(without_paths(row.text)))
    return _Told(row.against, words, frozenset(places_in(row.text)))


def _wording(text: str) -> str:
    """What a row says, without marks: ticks, bold, and the like."""
    return " ".join(_WORD.findall(text.casefold()))
