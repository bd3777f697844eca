"""The beats of a guide in a narrator's words: which of them an output tells.

A beat is told by an output that shares enough of the words which set the beat apart from the rest
of its guide, names counted less than what happens. Where several fit, the one that is due is taken
before the later ones, so that an allusion to the end is not the end, and those beside the one that
fits best have to be told in words of their own.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import READ_TEXTS, word_set, words_of
from matrix.kinds.playtest.setup.guide import parse_guide
from matrix.kinds.playtest.setup.outline import FEWEST

_ENOUGH: Final = 0.2
_STRONG: Final = 0.34
_SURE: Final = 0.38
"""Share of a beat's weight that an output must have: to tell it, to tell it out of turn, and to
jump to it."""

_TOUCHED: Final = 0.15
_AT_ONCE: Final = 2
"""Beats that one output can touch on."""

_LEAST: Final = 2
"""Words in common that make a beat told, whatever their share."""

_MOST_TOLD: Final = 0.6
"""Share of a guide's beats above which a story without the last of them has had its end."""

_CERTAIN: Final = 5
"""Words in common that leave no doubt that an output tells a beat."""

_JUMP: Final = 3
"""Beats that are passed over at once when the order is broken."""

_COMMON: Final = word_set(
    "the and that with from into what which this have there their them they then than when where "
    "whom who will would can could must not one two three four five six and for his her its "
    "you your "
    "are was were has had but about after again against all also any because been before being "
    "between both down each even every first group groups how ask asks give gives get gets here "
    "itself just like make makes more most never new now off only other our out over own same says "
    "see she he him some still such take takes tell tells these those through too under until very "
    "want wants way while why without player players between pulse beat scene act story narrator "
    "somebody something someone anything nothing going come comes goes find finds found"
)


_NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
_FULL_NAME: Final = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)+\b")


class GuideBeat(NamedTuple):
    """A beat: its title, its words with their weights, the sum of these, and which are names."""

    title: str
    words: dict[str, float]
    total: float
    names: frozenset[str] = frozenset()


class BeatShare(NamedTuple):
    """How far an output tells a beat: share of its weight, and number of its words."""

    share: float
    words: int


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without the commonest endings, so that ``locked`` meets ``locks``."""
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            cut = word[: -len(ending)]
            return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] else cut
    return word


@lru_cache(maxsize=READ_TEXTS)
def stems(text: str) -> frozenset[str]:
    """The words of a text that say something."""
    words = {word for word in words_of(text) if len(word) > 2} - _COMMON
    return frozenset(stem(word.removesuffix("'s")) for word in words)


@lru_cache(maxsize=64)
def beats_of(guide: str) -> tuple[GuideBeat, ...]:
    """The beats that a guide lists; empty if it lists too few to be told apart."""
    read = parse_guide(guide)
    if len(read.pulses) < FEWEST:
        return ()
    texts = [stems(f"{item.name} {item.detail}") for item in read.pulses]
    shared = Counter(word for words in texts for word in words)
    titles = [stems(item.name) for item in read.pulses]
    named = [*_NAME.findall(guide)]
    for item in read.pulses:
        named += " ".join(_FULL_NAME.findall(f"{item.name}. {item.detail}")).split()
    names = {stem(word.lower()) for word in named}
    found = []
    for item, words, title in zip(read.pulses, texts, titles, strict=True):
        weights = {
            word: math.log1p(len(texts) / shared[word]) * (1.5 if word in title else 1.0)
            for word in words
        }
        total = sum(weights.values()) or 1.0
        found.append(GuideBeat(item.name, weights, total, frozenset(words & names)))
    return tuple(found)


def scores(text: str, beats: Sequence[GuideBeat]) -> list[BeatShare]:
    """How far an output tells each beat."""
    said = stems(text)
    return [_share(said, beat, len(beats)) for beat in beats]


def _share(said: Collection[str], beat: GuideBeat, listed: int) -> BeatShare:
    met = [weight for word, weight in beat.words.items() if word in said]
    # a long beat is told by ten of its words
    most = 10.0 * math.log1p(listed)
    # an exact sum, whatever the order of a set
    return BeatShare(math.fsum(met) / min(beat.total, most), len(met))


class BeatsTold(NamedTuple):
    """What an output told: places of beats in the guide, and the one that it jumped to, if any."""

    beats: tuple[int, ...]
    jumped_to: int | None


def told_by(text: str, beats: Sequence[GuideBeat], told: Collection[int], since: int) -> BeatsTold:
    """The beats that an output tells for the first time.

    Args:
        text: The output.
        beats: The guide's beats.
        told: Places of those told before.
        since: Turns since the last of them was told, at least 1.
    """
    found = scores(text, beats)
    top = max((one.share for one in found), default=0.0)
    leading = next((at for at, one in enumerate(found) if one.share == top), 0)
    last = max(told, default=-1)
    fresh: list[int] = []
    hinted: list[int] = []
    jumped = None
    before = {*told, last + 1}
    for place, score in enumerate(found):
        if place in told or score.words < min(_LEAST, len(beats[place].words)):
            continue
        ahead = place - max([last, *fresh])
        best = score.share >= top
        if not best and not _is_told_beside(text, place, leading, beats):
            if score.share >= _ENOUGH:
                hinted.append(place)
            continue
        others = [beat.words.keys() for at, beat in enumerate(beats) if at in before - {place}]
        met = (stems(text) & beats[place].words.keys()).difference(*others)
        own, deeds = len(met), len(met - beats[place].names)  # all of a cast may be introduced
        if ahead <= 1 + since:
            enough = _ENOUGH if ahead <= 1 or best else _STRONG
            if score.share >= enough and (own or ahead == 1):
                fresh.append(place)
        elif best and score.share >= _SURE and deeds >= _JUMP:
            fresh.append(place)
        else:
            continue
        if deeds >= _JUMP and best and _is_jump(found, fresh, last, since, hinted):
            jumped = place
    return BeatsTold(tuple(fresh), jumped)


def _is_told_beside(text: str, place: int, leading: int, beats: Sequence[GuideBeat]) -> bool:
    """Whether an output tells a beat in words of its own, and not in those of the leading one.

    Neighbours in a guide share a few words, so that a beat told in full alludes to them.
    """
    own = stems(text) - beats[leading].words.keys()
    score = _share(own, beats[place], len(beats))
    return score.words >= min(_JUMP, len(beats[place].words)) and score.share >= _STRONG


def _is_jump(
    found: Sequence[BeatShare], fresh: Sequence[int], last: int, since: int, hinted: Collection[int]
) -> bool:
    """Whether the newest of the fresh beats passes over several that nothing was told of.

    What is only ``hinted`` at is told of in the words of another beat.
    """
    place = fresh[-1]
    met = {*fresh, *hinted}
    over = [one for at, one in enumerate(found[:place]) if at > last and at not in met]
    due = max((one.share for one in over[: since + 1] if one.words > _LEAST), default=0.0)
    return len(over) > max(_JUMP - 1, since) and found[place].share >= 2 * due


def tells_a_beat(text: str, guide: str) -> bool:
    """Whether an output tells some beat of the guide beyond doubt."""
    return _tells(text, guide, _SURE, _CERTAIN)


def tells_anything(text: str, guide: str) -> bool:
    """Whether an output tells a good part of any beat of the guide."""
    return _tells(text, guide, _STRONG, _JUMP)


def _tells(text: str, guide: str, share: float, words: int) -> bool:
    """Whether an output has so much of the weight of a beat, and so many of its words."""
    return any(
        score.share >= share and score.words >= words for score in scores(text, beats_of(guide))
    )


def touched(texts: Iterable[str], beats: Sequence[GuideBeat]) -> frozenset[int]:
    """Places of the beats that anything was told of, in however few words."""
    met: set[int] = set()
    for text in texts:
        found = sorted(enumerate(scores(text, beats)), key=lambda one: -one[1].share)
        met.update(
            place
            for place, score in found[:_AT_ONCE]
            if score.words >= min(_LEAST, len(beats[place].words)) and score.share >= _TOUCHED
        )
    return frozenset(met)


_STILL: Final = re.compile(
    r"\b(?:nothing|still|same|again|wait(?:s|ing)?|silen(?:ce|t)|quiet|goes on|go on|keeps?"
    r"|continues?|remains?|no (?:one|answer|sign|sound|change)|nobody|not sure|anywhere"
    r"|stretch(?:es)?|endless\w*|could be|perhaps|maybe|another|as before|unchanged|empty)\b",
    re.IGNORECASE,
)
_STILL_RATE: Final = 0.022
_NEW_RATE: Final = 0.025
_STILL_WORDS: Final = 100
"""Outputs in which so many of a hundred words say that nothing is new, and so few are words of the
guide that were not told before, stand still; below so many words there is no telling."""


_IDLE: Final = re.compile(
    r"\b(?:no|not|never|no one|nobody|nothing|none|nor|neither|nowhere|cannot|without|\w+n't"
    r"|only|still"
    r"|same|again|wait(?:s|ed|ing)?|silen(?:ce|t)|quiet|(?:go(?:es)?|going|went) on|keeps?|kept"
    r"|continue[sd]?|remain(?:s|ed)?|as before|unchanged|empty|shut|perhaps|maybe|might|as if"
    r"|as though"
    r"|if|somewhere|somebody|someone|something)\b",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(r"[^.!?;\n]+[.!?;]*")
_IDLE_SHARE: Final = 0.28
_IDLE_LEAST: Final = 0.22
_NEXT_TO_NOTHING: Final = 0.016
"""Share of clauses that deny, stay or guess, over several outputs and in each of them, that stands
still where so few words are words of the guide that were not told before."""

_MOSTLY_IDLE: Final = 0.38
"""The former over outputs without a new beat of a guide that lists them."""


def stands_still(texts: Sequence[str], last: int, guide: str, since: int = 0) -> bool:
    """Whether the ``last`` of these outputs bring nothing of the guide and say that all stays.

    They say so in words for it, or deny and guess in clause after clause. The first output of a
    story always brings something. It is so many turns ``since`` a beat was told for the first time.
    """
    before, window = texts[:-last], texts[-last:]
    if not before or len(window) < last:
        return False
    read = [_stillness(text) for text in window]
    length, still = sum(one.words for one in read), sum(one.still for one in read)
    if length < _STILL_WORDS:
        return False
    idle = [one.idle for one in read]
    most = _NEW_RATE if still >= _STILL_RATE * length else 0.0
    if min(idle) >= _IDLE_LEAST and sum(idle) >= _IDLE_SHARE * last:
        most = max(most, _NEXT_TO_NOTHING)
    if since >= last and sum(idle) >= _MOSTLY_IDLE * last and beats_of(guide):
        most = _NEW_RATE
    if not most:
        return False
    fresh = frozenset[str]().union(*map(stems, window)) & stems(guide)
    for text in reversed(before):
        if len(fresh) <= most * length:
            break
        fresh -= stems(text)
    return len(fresh) <= most * length


class _Stillness(NamedTuple):
    """Words of an output, those that say that nothing is new, and the share of idle clauses."""

    words: int
    still: int
    idle: float


@lru_cache(maxsize=READ_TEXTS)
def _stillness(text: str) -> _Stillness:
    clauses = [part for part in _CLAUSE.findall(text.replace("\u2019", "'")) if " " in part.strip()]
    idle = sum(_IDLE.search(part) is not None for part in clauses)
    share = idle / len(clauses) if clauses else 0.0
    return _Stillness(len(words_of(text)), len(_STILL.findall(text)), share)


def lacks_its_end(told: Collection[int], met: Collection[int], beats: Sequence[GuideBeat]) -> bool:
    """Whether the guide's last third was not touched on, and about half was told at most."""
    last = len(beats) - max(1, len(beats) // 3)
    reached = any(place >= last for place in (*told, *met))
    return len(told) <= _MOST_TOLD * len(beats) and not reached


def is_other_ending(texts: Sequence[str], guide: str) -> bool:
    """Whether the last outputs have nothing of the ending that the guide tells."""
    names = {stem(word.lower()) for word in _NAME.findall(guide)}
    own = stems(parse_guide(guide).ending) - names
    if len(own) < 4:
        return False
    said = {word for text in texts for word in stems(text)}
    return not (own & said)
