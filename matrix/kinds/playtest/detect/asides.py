"""Private moments in the narrator's words: who is addressed alone, and what the others get.

An explicit tag (``[To Sam only]``, ``[ASIDE -> Sam]``) is honoured whatever the classifier says,
because a secret that was marked as one must not be read out to the table. A tag opens a private
part that runs to the end of its paragraph, or of the next one where it stands alone; after an
``ASIDE`` marker to the end of the output, and under a heading to what closes its section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import read, spoken

_TAG: Final = re.compile(
    r"(?P<aside>\[(?:ASIDE|PRIVATE|WHISPER)[^\w\]\n]{1,40}+(?P<who>[^\]\n]{2,40})\])"
    r"|\[\s{0,9}+(?:(?:to|for)\s{1,9}+)?(?P<only>[^\W\d_][^\]\n:]{0,38}?)"
    r"\s{0,9},?\s{1,9}(?:only|alone)\s{0,9}+(?P<inside>:)?"
    r"|\[\s{0,9}+(?:to|for)\s{1,9}+(?P<plain>[^\W\d_][\w'-]{1,23})\s{0,9}+(?P<inside2>:|\])"
    r"|[(\[]\s{0,3}+(?:whisper(?:s|ed|ing)?|privately|secretly|quietly|aside|softly|in private"
    r"|spoken|said|murmur(?:s|ed))(?: only)?,? (?:only )?(?:to|for)\s{1,3}+(?P<whispered>[^\W\d_]"
    r"[\w'-]{1,23})(?: only| alone)?(?:[)\]]:?|:)"
    r"|[(\[]\s{0,3}+(?:(?:to|for)\s)?(?P<bracketed>[^\W\d_][\w'-]{1,23}),?"
    r" (?:only|alone|privately|in private|in secret)(?:[)\]]:?|:)"
    r"|^[*_]{0,3}"
    r"(?:(?:private(?:ly)?|whisper(?:ed)?|aside|secretly)[,:]? )?"
    r"(?:to|for) (?P<starred>[^\W\d_][\w'-]{1,23})"
    r"(?:,? (?:privately|alone|only|in private|in secret"
    r"|in a whisper|for your (?:ears|eyes) only))[*_]{0,3}:[*_]{0,3}"
    r"|^[*_]{0,3}(?:private(?:ly)?|whisper(?:ed)?|aside|secretly)[,:]? (?:to|for)"
    r" (?P<lone>[^\W\d_][\w'-]{1,23})[*_]{0,3}:[*_]{0,3}"
    r"|^[>*_ ]{0,8}\[(?:private|whisper(?:ed)?|aside|secret|dm)\][*_ ]{0,4}(?:(?:to|for) )?"
    r"(?P<marked>[^\W\d_][\w'-]{1,23})[*_]{0,3}:[*_]{0,3}"
    r"|^[>*_ ]{0,8}(?:private(?:ly)?|whisper(?:ed)?|aside|secret(?:ly)?)"
    r" ?[:\u2013\u2014-] ?(?P<dashed>[^\W\d_][\w'-]{1,23})[*_]{0,3}:[*_]{0,3}"
    r"|^(?P<heading>#{1,6} )?[>*_ ]{0,8}(?:(?:private(?:ly)?|secret(?:ly)?)[,:]? )?(?:(?:to|for) )?"
    r"(?P<headed>[^\W\d_][\w'-]{1,23}),? "
    r"(?:only|alone|privately|in private|in secret|in a whisper)"
    r"(?:[*_]{0,3}:[*_]{0,3}|(?(heading)[*_]{0,3} {0,9}$|(?!)))",
    re.IGNORECASE | re.MULTILINE,
)
_ALONE_ON_ITS_LINES: Final = re.compile(r"[>*_\]: ]{0,20}\n\s*\n\s*")
_SECTION_END: Final = re.compile(r"^(?:#{1,6} |(?:-{3,}|\*{3,}|_{3,}) *$)", re.MULTILINE)
_PARAGRAPH_END: Final = re.compile(r"\n\s*\n")
_PUBLIC_WORDS: Final = 6
"""Fewer words than this around a private part are not worth reading out."""


class Aside(NamedTuple):
    """Something said to one player."""

    target: str
    text: str


class SplitOutput(NamedTuple):
    """An output, split into what all hear and what single players hear."""

    public: str
    asides: tuple[Aside, ...]


def split_tagged(text: str, names: Sequence[str]) -> SplitOutput:
    """Split an output at its explicit private tags; unknown targets stay public."""
    if not _MAY_TAG.search(text):
        return SplitOutput(text, ())  # the usual case
    public: list[str] = []
    asides: list[Aside] = []
    position = 0
    for match in _TAG.finditer(text):
        target = match_name(_named_in(match), names)
        if target is None or match.start() < position:
            continue
        public.append(text[position : match.start()])
        # an ASIDE marker speaks for the whole rest of its output
        position = len(text) if match["aside"] and not asides else _end_of_part(text, match)
        asides.append(Aside(target, text[match.start() : position].strip()))
    public.append(text[position:])
    rest = "".join(public).strip()
    if asides and read(rest).length < _PUBLIC_WORDS:
        rest = ""
    return SplitOutput(rest, _merged(asides))


def _end_of_part(text: str, tag: re.Match[str]) -> int:
    """Where the private part that a tag opens is over."""
    start = tag.end()
    if (alone := _ALONE_ON_ITS_LINES.match(text, start)) is not None:
        start = alone.end()
    ending = (_SECTION_END if tag["heading"] else _PARAGRAPH_END).search(text, start)
    return ending.start() if ending else len(text)


_MAY_TAG: Final = re.compile(
    r"[\[(]|(?:private|whisper|aside|secret|alone|only|ears|eyes)[^\n]{0,30}:"
    r"|^#[^\n]{1,40}(?:alone|only|private|secret|whisper)",
    re.IGNORECASE | re.MULTILINE,
)


def _named_in(match: re.Match[str]) -> str:
    forms = (
        *("who", "only", "plain", "whispered", "bracketed"),
        *("starred", "lone", "marked", "dashed", "headed"),
    )
    return next((match[form] for form in forms if match[form]), "")


def _merged(asides: Sequence[Aside]) -> tuple[Aside, ...]:
    by_target: dict[str, list[str]] = {}
    for target, text in asides:
        by_target.setdefault(target, []).append(text)
    return tuple(Aside(target, "\n\n".join(texts)) for target, texts in by_target.items())


_ALONE: Final = re.compile(
    r"\b([^\W\d_][\w'-]{1,23}),? (?:only you|you alone|you and only you|and only you)\b"
    r"|\b(?:only you|you alone),? ([^\W\d_][\w'-]{1,23})\b"
    r"|\bonly ([^\W\d_][\w'-]{1,23}) (?:sees|hears|notices|feels)\b",
    re.IGNORECASE,
)


def addressed_alone(text: str, names: Sequence[str]) -> str | None:
    """The player whom an untagged text singles out (``Morgan, you alone notice ...``)."""
    for match in _ALONE.finditer(text):
        if (found := match_name(match[1] or match[2] or match[3], names)) is not None:
            return found
    return None


def match_name(requested: str, names: Sequence[str]) -> str | None:
    """The one player that a loosely written name means, or ``None``.

    Case, punctuation and words around the name make no difference; part of a name will do if it
    fits one player only. Several players named at once are nobody in particular.
    """
    words = re.findall(r"[^\W_][\w'-]*", requested.casefold())
    if not words:
        return None
    folded = {name.casefold(): name for name in names}
    named = [folded[word] for word in dict.fromkeys(words) if word in folded]
    named += [name for low, name in folded.items() if " " in low and low in requested.casefold()]
    if named:
        return named[0] if len(named) == 1 else None
    near = {
        name
        for low, name in folded.items()
        for word in words[:2]
        if len(word) >= 3 and (low.startswith(word) or (len(low) >= 4 and word.startswith(low)))
    }
    return near.pop() if len(near) == 1 else None


_SHARES: Final = re.compile(
    r"\b(?:tell|show|share|whisper|warn|describe|repeat|let)\b[^.!?]{0,40}"
    r"\b(?:the others|the group|everyone|everybody|the rest|my friends|them|you all|all of you)\b"
    r"|\btell\b[^.!?]{0,20}\bwhat i (?:saw|heard|felt)\b",
    re.IGNORECASE,
)
_KEEPS: Final = re.compile(
    r"\b(?:keep (?:it|this|that)? ?(?:to myself|quiet|secret)|say nothing"
    r"|tell (?:nobody|no one|no-one)|nobody needs to know)\b"
    r"|\b(?:do not|don't|won't|will not|can't|never|not) "
    r"(?:\w+ )?(?:tell|show|share|say|mention|let)\b|\bwithout telling\b",
    re.IGNORECASE,
)


def tells_others(reply: str) -> bool:
    """Whether a player says that they tell the group what they alone were told."""
    reply = reply.replace("\u2019", "'")
    return _SHARES.search(reply) is not None and _KEEPS.search(reply) is None


def heard(text: str) -> str:
    """An aside as its target hears it: without its tags."""
    said = _TAG.sub("", text, count=1).lstrip(_AROUND)
    while (again := _TAG.match(said)) is not None:
        said = said[again.end() :].lstrip(_AROUND)
    return spoken(said)


_AROUND: Final = " \n:])*\u2014-"
"""What may stand between a tag and what is said."""
