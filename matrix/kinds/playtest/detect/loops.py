"""Loops: a narrator that says again what it has just said.

Each longer paragraph leaves a sketch: the smallest hashes of its three-word shingles. Two
paragraphs that share most of a sketch share most of their wording (bottom-k MinHash estimates
their Jaccard similarity), and a dozen sketches are a few hundred bytes of state.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple
from zlib import crc32

from matrix.kinds.playtest.detect.reading import HeardOutput

SHINGLE: Final = 3
KEPT_HASHES: Final = 8
KEPT_SKETCHES: Final = 12
SHORTEST: Final = 12
"""Words; shorter paragraphs (``What do you do?``) may come again."""

_SAME: Final = 4
_SAME_BESIDE: Final = 3
"""Hashes in common, of ``KEPT_HASHES``, that make two paragraphs near-duplicates: alone, and
beside one that surely is."""

Sketch = tuple[int, ...]


class Repetition(NamedTuple):
    """How much of an output was said before: its share of words, and one such paragraph."""

    share: float
    paragraph: str


def sketch_of(words: Sequence[str]) -> Sketch:
    """The sketch of a paragraph: its smallest shingle hashes, 20 bits each, in order."""
    encoded = [word.encode() for word in words]
    starts = [0, *accumulate(len(word) + 1 for word in encoded)]
    text = b" ".join(encoded)
    count = max(1, len(words) - SHINGLE + 1)
    size = min(SHINGLE, len(words))
    hashes = {crc32(text[starts[at] : starts[at + size] - 1]) & 0xFFFFF for at in range(count)}
    return tuple(sorted(hashes)[:KEPT_HASHES])


def are_near(one: Sketch, other: Sketch, same: int = _SAME) -> bool:
    """Whether two sketches are of near-duplicate paragraphs, by so many hashes in common."""
    if one == other:
        return True
    needed = min(same, max(1, min(len(one), len(other)) - 1))
    return len(set(one).intersection(other)) >= needed


def find_repetition(
    reading: HeardOutput, sketches: Sequence[Sketch]
) -> tuple[Repetition | None, tuple[Sketch, ...]]:
    """What an output repeats of the last paragraphs, and the sketches to keep after it.

    An output repeats itself when at least half of its words stand in paragraphs that are
    near-duplicates of earlier ones.
    """
    parts = [
        (words, sketch_of(words))
        for words in reading.paragraphs
        if len(words) >= SHORTEST or len(reading.paragraphs) == 1
    ]
    same = _SAME_BESIDE if any(_is_told(sketch, sketches, _SAME) for _, sketch in parts) else _SAME
    told = [words for words, sketch in parts if _is_told(sketch, sketches, same)]
    fresh = [sketch for _, sketch in parts if not _is_told(sketch, sketches, same)]
    repeated = sum(map(len, told))
    kept = (*sketches, *fresh)[-KEPT_SKETCHES:]
    if not reading.length or repeated * 2 < reading.length:
        return None, kept
    return Repetition(repeated / reading.length, " ".join(told[0]) if told else ""), kept


def _is_told(sketch: Sketch, sketches: Sequence[Sketch], same: int) -> bool:
    return any(are_near(sketch, known, same) for known in sketches)
