"""Reading one output of the narrator: its words, its paragraphs, and markers it may carry."""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import Final, NamedTuple

MARKER: Final = re.compile(
    r"^[ \t]*+\[(PULSE|ASIDE|ANSWER|RECAP|END)\b[ \t]*+"
    r"(?:(?:->|:|\u2192)[ \t]*+)?([^\]\n]*+)\][ \t]*+\n?",
    re.MULTILINE,
)
"""A marker of the structured prompt, alone or at the head of a line."""

_THE_END: Final = re.compile(
    r"(?:\bTHE END(?:[\W_]{1,9}(?i:thank(?:s| you) [^.!?\n]{0,60}))?"
    r"|(?:\A|[.!?*_\n\u201d\"] *)(?:The End|Fin|\[END\])|(?:\A|[*_\n\u2014\u2013-] *)FIN\b|(?:\A"
    r"|[.!?] "
    r"|\n)(?i:that(?:'s| is) the end"
    r" of (?:the|our|this|your) (?:story|tale|game|adventure|session)|(?:and )?(?:so|thus"
    r"|here) ends"
    r" (?:the|our|this|your) (?:story|tale|adventure)[^.!?\n]{0,60}|the story (?:has ended"
    r"|ends here|is over)"
    r"|case closed|(?:and )?(?:we )?fade (?:to|out to) black|(?:roll|the) credits(?: roll)?"
    r"|(?:i )?thank(?:s| you)(?: all)?(?: so much)? for playing[^.!?\n]{0,40}))[\W_]*\Z"
)
_CLOSING_AT_MOST: Final = 240
"""Characters of the longest closing line, with room to spare; what is told before is not read."""

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
READ_TEXTS: Final = 1024
"""Texts that a process remembers as they were read: the last few outputs of some 200 open sessions.
Several detectors read an output, and some of them again in later turns."""

NUMBER_WORDS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred",
)  # fmt: skip

MIN_WORDS: Final = 3
"""An output with fewer words is no narration."""

DEGENERATE_BELOW: Final = 0.22
"""Distinct words per word; ordinary prose of this length has more than twice as many."""

_LONG_ENOUGH: Final = 60
_QUOTED: Final = re.compile(r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d')
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
    return _WORD.findall(lowered(text))


def lowered(text: str) -> str:
    """A text in lower case, with straight apostrophes."""
    return text.lower().replace("\u2019", "'")


def bare(word: str) -> str:
    """A word without the ending of a possessive."""
    return word.removesuffix("'s")


def marker_of(text: str) -> Marker | None:
    """The first marker in an output, if any."""
    found = MARKER.search(text) if "[" in text else None
    return Marker(found[1].upper(), found[2].strip()) if found else None


def closes(text: str) -> bool:
    """Whether the output closes with the line that prompts ask for: ``THE END``."""
    last = next((at for at in range(len(text) - 1, -1, -1) if text[at].isalnum()), 0)
    return _THE_END.search(text, max(0, last - _CLOSING_AT_MOST)) is not None


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


def unquoted(text: str) -> str:
    """A text without what is in quotation marks."""
    return _QUOTED.sub("", text)


# --- texts that wind up --------------------------------------------------------------------------

_LATER: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:years|decades) (?:later|after(?:wards)?|on|hence)\b|\bin (?:later"
        r"|after) (?:years|life)\b"
        r"|\bfor (?:many )?years (?:to come|after(?:wards)?)\b|\bin the years (?:that|to)\b",
        r"\bfrom (?:then|that (?:day|night|hour|morning|evening)) (?:on|onwards?)\b|\bever after\b"
        r"|\bto this (?:very )?day\b|\bhappily ever\b",
        r"\bthe rest of (?:your|their|his|her|its) (?:lives|life|days)\b|\b(?:grow|grew"
        r"|grown) old\b"
        r"|\bas long as (?:you|they|he|she) lived?\b",
        r"\b(?:each|every) (?:year|spring|summer|autumn|winter|christmas|harvest)\b"
        r"|\bonce a year\b",
        r"\b(?:was|were|is|are) never (?:again )?(?:seen|found|heard|told|spoken|mentioned"
        r"|solved)\b"
        r"|\b(?:none|neither|nobody|no one|you|they|he|she) (?:of (?:you"
        r"|them) )?(?:would )?(?:n?ever"
        r" (?:again|(?:quite )?(?:knew|learn(?:t|ed)?|found out|spoke|speaks?|told|went"
        r"|returned)))\b",
        r"\bin time (?:you|they|he|she|it|the)\b|\bwith the years\b|\blittle by little (?:you"
        r"|they)\b",
        r"\b(?:go|goes|went|travel(?:s|led)?|sail(?:s|ed)?|driven?|drove) (?:back )?home\b",
    )
)
"""What is told of the time after a story; each line is of one kind."""

_SAYS_FAREWELL: Final = re.compile(
    r"(?:\A|[.!?\n*_] *)(?:(?:so|and|now)[, ]+)?(?:good ?night|good-?bye|farewell|sweet dreams"
    r"|adieu"
    r"|sleep (?:well|tight)|until (?:the )?next (?:time|evening|week)|see you (?:next|soon"
    r"|again)\b)"
    r"(?:,? (?!to\b|from\b)[\w'-]+){0,6}[.!\s*_]*\Z",
    re.IGNORECASE,
)
_NOTICE: Final = re.compile(
    r"(?:\A|[.!?\n*_\u2014-]\s{0,20})(?:[A-Z]+ (?:OF [A-Z ]{3,20} )?)?"
    r"(?:ENDS?|CLOSED|TERMINATED|OVER)(?: OF(?: THE)? [A-Z]+)?[\s.!*_\])]*\Z"
)
_HEARSAY: Final = re.compile(
    r"\b(?:they say|people say|it is said|is said|legends?|the (?:story|tale|song) goes|rumou?r"
    r"|sayings?|(?:s?he|[A-Z]\w+|the \w+) (?:tells|told|says|said|recounts|sings|reads)"
    r" (?:it|you|of|how|that|the|a)\b[^.!?]{0,30}(?:how|that|:))",
    re.IGNORECASE,
)
_ALL_LOST: Final = re.compile(
    r"\b(?:goes|went|sails?|drifts?) on without you\b|\b(?:close[sd]?|closing) over (?:you"
    r"|your heads)\b"
    r"|\byou(?: all)? (?:die|drown|perish|are (?:all )?dead)\b|\bnone of you (?:wakes?"
    r"|survives?|comes?"
    r" back|is (?:ever )?seen)\b|\bthat (?:is|was) all(?=[.,;!])",
    re.IGNORECASE,
)
_LAST_WORDS: Final = 700
"""Characters at the end of an output in which it winds up."""

_LEAPS: Final = 2
"""Kinds of words of a later time that make an output one that tells what came of it all."""


def winds_up(text: str) -> bool:
    """Whether an output takes leave of its story without saying that it has ended.

    It tells what became of everybody in kinds of words of a later time, says farewell to who
    listens, or closes with a notice. An output that ends with a question goes on.
    """
    told = unquoted(text).strip()[-_LAST_WORDS:]
    if told.endswith("?"):
        return False
    if _SAYS_FAREWELL.search(told) or _NOTICE.search(told):
        return True
    return _leaps(told) >= _LEAPS


def looks_back(text: str) -> bool:
    """Whether an output has anything of a story's last: a later time, or the death of all."""
    told = unquoted(text).strip()[-_LAST_WORDS:]
    return winds_up(text) or _ALL_LOST.search(told) is not None or _leaps(told) > 0


def _leaps(told: str) -> int:
    """Kinds of words of a later time in sentences that are no hearsay."""
    plain = " ".join(piece for piece in SENTENCE.findall(told) if not _HEARSAY.search(piece))
    return sum(kind.search(plain) is not None for kind in _LATER)


SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
"""A sentence of a line, with what closes it."""

# --- texts that fall apart -----------------------------------------------------------------------

_SMALL_WORDS: Final = word_set(
    "the a an of to in on at and but or is are was were it he she you they his her its your "
    "their we "
    "i that this there with for from by as not be have has had into up out so if then"
)
_OTHER_SMALL_WORDS: Final = word_set(
    "el la los las un una de del que y en se no su por con para est\u00e1 como pero le les des "
    "du et il "
    "elle dans est pas ne une sur qui der die das und ein eine ist nicht mit von zu auf den "
    "dem sich "
    "di che e non il lo gli per una sono si o os as um uma do da em n\u00e3o com para er sie "
    "wir ihr"
)
_ARTICLES: Final = word_set("the a an your their")
_NOT_AFTER_ARTICLES: Final = word_set(
    "the a an of and or but is are was were to in on which because"
)
_LINKS: Final = word_set("of and to from which under because")
_NOT_AFTER_LINKS: Final = word_set("of and or but is are was were")
_NEVER_LAST: Final = word_set(
    "the a an of and or but is are was were into your their to which with for from his her"
)
_CODE: Final = re.compile(
    r"\{\s{0,9}[\"'][\w-]{1,40}[\"']\s{0,9}:|</(?:div|p|span|html|body|response|assistant|output)>"
    r"|\b(?:undefined|NaN|null)(?:[ ,;]+(?:undefined|NaN|null)\b)+|<\|[a-z_]{2,30}\|>"
    r"|```[a-z]{0,12}\n"
    r"|\bdef \w{1,40}\(|\bTraceback \(most recent|\bfunction \w{1,40}\(|\u0000|\ufffd{2,}"
    r"|(?:[#$%^&*@~|\\]{4,}[^\s#$%^&*@~|\\]{0,9}){2,}"
)
_ENDS_WELL: Final = re.compile(r"[.!?\u2026:;)\]\"'\u201d\u2019*_~\u2014|>-]\s*\Z|\u2014\Z")
_UNFINISHED: Final = re.compile(
    r"[a-z][.!?][\"\u201d]? (?!(?:to be continued|the end|fin)\b)[^.!?\u2026:\n*_#"
    r"|>\[(]{30,}[a-z]\s*\Z",
    re.IGNORECASE,
)
"""A sentence that is not closed, behind one that is, in the same paragraph."""

_CLOSED: Final = re.compile(r"[a-z][.!?][\"\u201d]?\s")
_PROSE: Final = 3
"""Sentences that a text closes, before one that it does not close has been torn off."""

_JUMBLED: Final = 0.09
"""Share of neighbours in a text that no sentence has (``the the``, ``of and``)."""

_NEVER_TWICE: Final = word_set("the a an of to and is are was were for with by as but or from at")
_STUTTERS: Final = 0.06
"""The same, words that never stand twice counted again, where two of them do."""

_FOREIGN_LENGTH: Final = 12


def is_jumbled(reading: HeardOutput) -> bool:
    """Whether words stand beside each other that never do in a sentence."""
    for words in reading.paragraphs:
        pairs = list(pairwise(words))
        if len(pairs) < _FOREIGN_LENGTH:
            continue
        odd = sum(
            (one in _ARTICLES and other in _NOT_AFTER_ARTICLES)
            or (one in _LINKS and other in _NOT_AFTER_LINKS)
            for one, other in pairs
        )
        if odd >= 3 and odd > _JUMBLED * len(pairs):
            return True
        twice = sum(one == other and one in _NEVER_TWICE for one, other in pairs)
        if twice >= 2 and odd + twice > _STUTTERS * len(pairs):
            return not _is_spoken(reading.spoken)
    return False


def _is_spoken(text: str) -> bool:
    """Whether the words that stand there twice are somebody's who stammers."""
    words = words_of(unquoted(text))
    return sum(one == other and one in _NEVER_TWICE for one, other in pairwise(words)) < 2


def is_foreign(reading: HeardOutput) -> bool:
    """Whether a paragraph is in another language than English."""
    return any(_is_foreign(words) for words in reading.paragraphs)


def is_foreign_text(text: str) -> bool:
    """Whether a text as a whole is in another language than English."""
    return _is_foreign(words_of(text))


def _is_foreign(words: list[str]) -> bool:
    if len(words) < _FOREIGN_LENGTH:
        return False
    english = sum(word in _SMALL_WORDS for word in words)
    other = sum(word in _OTHER_SMALL_WORDS for word in words)
    strange = sum(not word.isascii() and any(ord(char) > 0x2FF for char in word) for word in words)
    return strange * 2 > len(words) or (other > 3 * english and other * 5 > len(words))


def strays_from_prose(text: str) -> str:
    """The first piece of code, markup or data in a text; empty if there is none."""
    found = _CODE.search(text)
    return text[found.start() : found.start() + 80] if found else ""


def is_cut_off(text: str) -> bool:
    """Whether a text stops in the middle of a sentence, after a word that needs another."""
    if _ENDS_WELL.search(text):
        return False
    last = words_of(text[-40:])
    if last and last[-1] in _NEVER_LAST:
        return True
    closed = len(_CLOSED.findall(text))
    return (
        closed >= _PROSE and _UNFINISHED.search(text, max(0, len(text) - _LAST_WORDS)) is not None
    )
