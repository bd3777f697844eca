"""Loops: a narrator that says again what it has said before.

An output is held against the words of all that the narrator has told, by their runs of
:data:`RUN` words. Nothing of it is kept in the state: the log has every word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import read

RUN: Final = 4
"""Words in a row that are looked for."""

HALF: Final = 0.5
MOST: Final = 0.75
"""Share of an output's runs from which on it is a loop; the second of one that is short, because
two answers with the same closing words are none."""

SHORT: Final = 30
"""Words below which an output is short."""

REMEMBERED: Final = 8192
"""Texts that a process remembers as plain words: all that some 200 open sessions have told."""


class Repetition(NamedTuple):
    """What of an output was said before.

    Attributes:
        share: Of its runs of :data:`RUN` words.
        turns: Where they stand, the turn that has most of them first.
        words: The longest stretch of them.
    """

    share: float
    turns: tuple[int, ...]
    words: str


class _Runs(NamedTuple):
    """The runs of an output in order, and of each paragraph its words and the runs within it."""

    runs: list[str]
    paragraphs: list[tuple[str, range]]


def find_repetition(pieces: Sequence[str], told: Mapping[int, Sequence[str]]) -> Repetition | None:
    """What an output repeats, where that is enough for a loop.

    It is enough where one earlier output has so much of it, or earlier ones have so many of its
    paragraphs word for word: phrases that are scattered over many outputs do not add up to a loop.

    Args:
        pieces: The output as it was heard: what was for all, and what was for single players.
        told: The outputs before it by turn, in the same pieces.
    """
    own = _runs_of(pieces)
    before = {turn: "|".join(map(_plain, texts)) for turn, texts in told.items()}
    short = sum(text.count(" ") - 1 for text in map(_plain, pieces)) < SHORT
    enough = (MOST if short else HALF) * len(own.runs)
    if not own.runs:
        return None
    again = dict(_verbatim(own.paragraphs, before))
    alike = [turn for turn, text in before.items() if _has(text, own.runs, enough)]
    if not alike and sum(map(len, again)) < enough:
        return None
    met = {turn: [run in before[turn] for run in own.runs] for turn in alike or again.values()}
    most = max(met, key=lambda turn: (sum(met[turn]), turn))
    said, turns = met[most], [most]
    for within, turn in again.items():
        if not all(said[at] for at in within):
            said[within.start : within.stop] = [True] * len(within)
            turns.append(turn)
    return Repetition(sum(said) / len(said), tuple(dict.fromkeys(turns)), _longest(own.runs, said))


def _verbatim(
    paragraphs: Sequence[tuple[str, range]], before: Mapping[int, str]
) -> Iterator[tuple[range, int]]:
    """The runs of paragraphs that were told word for word, and the first turn of each."""
    for words, within in paragraphs:
        for turn, text in before.items():
            if words in text:
                yield within, turn
                break


def _has(text: str, runs: Sequence[str], enough: float) -> bool:
    """Whether so many of the runs stand in a text; looks no further than it must."""
    spare = len(runs) - enough
    for run in runs:
        if run not in text:
            spare -= 1
            if spare < 0:
                return False
    return True


@lru_cache(maxsize=REMEMBERED)
def _plain(text: str) -> str:
    """The words of a text, each between two blanks."""
    return f" {' '.join(chain.from_iterable(read(text).paragraphs))} "


def _runs_of(pieces: Sequence[str]) -> _Runs:
    runs: list[str] = []
    paragraphs: list[tuple[str, range]] = []
    for piece in pieces:
        at = len(runs)
        for words in read(piece).paragraphs:
            if len(words) >= RUN:
                whole = range(at, at + len(words) - RUN + 1)
                paragraphs.append((f" {' '.join(words)} ", whole))
            at += len(words)
        runs += _of_words(_plain(piece).split())
    return _Runs(runs, paragraphs)


def _of_words(words: Sequence[str]) -> Iterator[str]:
    if words:
        for at in range(max(1, len(words) - RUN + 1)):
            yield f" {' '.join(words[at : at + RUN])} "


def _longest(runs: Sequence[str], said: Sequence[bool]) -> str:
    """The words of the longest stretch of runs that were said before."""
    stretches = [list(part) for met, part in groupby(range(len(runs)), said.__getitem__) if met]
    part = max(stretches, key=len)
    return " ".join([runs[part[0]].strip(), *(runs[at].split()[-1] for at in part[1:])])
