"""Prose in sentences, and the things that sentences are about."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import READ_TEXTS, word_set, words_of

_QUOTED: Final = re.compile(r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d')
_SPEECH: Final = "\ue000"
_CLOSING: Final = "\ue001"
"""Stand for what is in quotation marks while sentences are parted; the other ends a sentence."""

_SENTENCE: Final = re.compile(rf"[^.!?{_CLOSING}]+[.!?{_CLOSING}]*|[.!?{_CLOSING}]+")
_MARKS: Final = re.compile(f"[{_SPEECH}{_CLOSING}]")
_TITLE_STOP: Final = re.compile(r"\b(Mr|Mrs|Ms|Dr|St|Prof|Sgt|Capt|Rev)\.")
_SUPPOSED: Final = re.compile(
    r"\b(?:if|would|could|might|should|must have|as if|as though|perhaps|maybe|remember(?:s|ed)?"
    r"|dream(?:s|t|ed)?|imagine[sd]?|used to|years? ago|long ago|pretends?|painting|photograph"
    r"|rumou?rs?|legend|supposed|seems? to|almost|until|unless|before you)\b",
    re.IGNORECASE,
)
_OF: Final = re.compile(
    r"^(?P<head>[\w'-]+(?: [\w'-]+)?) (?:of|to|in) (?:the )?(?P<whose>[\w'-]+)$"
)
_INNER: Final = re.compile(r"\b(?:the|a|an|your|their|its|of) ")
_NUMBERED: Final = re.compile(
    r"\b(?:[Tt]he|[Yy]our|[Aa]n?|[Tt]wo|[Tt]hree|[Ff]our|[Ff]ive|[Ss]ix|[Ss]even|[Ee]ight|[Nn]ine"
    r"|[Tt]en|[Bb]oth|[Hh]is|[Hh]er) (?P<thing>(?:[a-z'-]+ ){0,2}?[a-z'-]+)(?=[,.;:]|$| (?:is|are"
    r"|stands?|lies?|hangs?|has|have|and|that|which|on|in|at|by|under|behind|with)\b)"
)
_PLAIN: Final = word_set(
    "old heavy great big small little wooden oak oaken iron wet whole same very large huge "
    "tall low "
    "long short narrow wide thick thin rusty rusted rotten ancient other entire good poor dear "
    "one two three four five six seven eight nine ten eleven twelve both own"
)
"""Adjectives and numbers that tell nothing apart."""

_GENERIC: Final = word_set(
    "door doors gate gates window windows room rooms lamp lamps light lights lantern lanterns "
    "table "
    "chair wall stair stairs street road path house box bed bottle glass cup candle candles torch "
    "fire corridor hall drawer shutter shutters hatch page floor ground one man woman child hand"
)
"""Things of which a place has several."""

_WAY: Final = re.compile(
    r"(?:ways?|roads?|paths?|stairs|track|passage)(?: (?:back|out|in|on|ahead"
    r"|forward|through|up|down|home|behind))?"
)
"""Ways, which are others at the next place."""


class Sentence(NamedTuple):
    """A sentence without what is in quotation marks: its words, and the last thing it names.

    ``said`` is the sentence as it was told, to be quoted.
    """

    text: str
    words: frozenset[str]
    topic: str
    said: str


@lru_cache(maxsize=READ_TEXTS)
def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text, with everything in quotation marks left out."""
    quotes: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quotes.append(match[0])
        ends = match[0][-2] in ".!?" and _GOES_ON.match(text, match.end()) is None
        return _CLOSING if ends else _SPEECH

    plain = _TITLE_STOP.sub(r"\1", _QUOTED.sub(keep, _MARKS.sub("", text)))
    speeches = iter(quotes)
    found = []
    for piece in _SENTENCE.findall(" ".join(plain.split())):
        told = " ".join(piece.replace(_SPEECH, "").replace(_CLOSING, ".").split())
        said = _MARKS.sub(lambda _: next(speeches), piece).strip()
        if told.strip(".!?"):
            found.append(Sentence(told, frozenset(words_of(told)), _topic(told), said))
    return tuple(found)


_GOES_ON: Final = re.compile(r"\s{0,9}[a-z]")
"""After speech, what belongs to its sentence (``"Who is it?" asks Bohl.``)."""


def _topic(text: str) -> str:
    things = [match["thing"] for match in _NUMBERED.finditer(text)]
    return thing_of(things[-1]) if things else ""


@lru_cache(maxsize=8 * READ_TEXTS)
def is_supposed(text: str) -> bool:
    """Whether a sentence tells what might be, was long ago, or only seems so."""
    return _SUPPOSED.search(text) is not None


def thing_of(phrase: str) -> str:
    """A thing as facts name it: in lower case, without what tells nothing apart."""
    low = phrase.lower().replace("\u2019", "'").strip()
    if match := _OF.match(low):
        low = f"{match['whose']} {match['head']}"
    low = _INNER.split(low)[-1]
    words = [word.removesuffix("'s") for word in low.split()]
    if not words:
        return ""
    kept = [word for word in words[:-1] if word not in _PLAIN] + words[-1:]
    return " ".join(kept)


def same_thing(one: str, other: str, *, near: bool) -> bool:
    """Whether two names mean the same thing.

    A bare name of something that there are several of (``door``) means the same for a while only.
    """
    if one == other:
        return near or not (one in _GENERIC or _WAY.fullmatch(one))
    first, second = one.split(), other.split()
    if first[-1] != second[-1] or first[-1] in _GENERIC:
        return False
    return len(first) == 1 or len(second) == 1
