"""Tangents: when the group leaves the story, who started it, and how the narrator brings it back.

A tangent starts with the output before which the group was off the story (or which handles a
distraction) and lasts until the next pulse. Its length counts the narrator's outputs from the one
to the other, both included, so that an immediate return has length 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import words_of
from matrix.kinds.playtest.setup.state import TangentBook
from matrix.model.records import JSON

_OFF_STORY: Final = re.compile(
    r"\boff[- ]topic\b|\brandom question\b|\bside ?note\b|\bsidetracked\b|\bside[- ]tracked\b"
    r"|\b(?:completely |totally )?unrelated\b|\bin real life\b|\bbefore (?:i|we) forget\b"
    r"|\bspeaking of which\b|\b(?:that|this) reminds (?:me|us)\b|\bby the way\b"
    r"|\b(?:pause|stop) the (?:story|game)\b|\b(?:pizza|crisps|snacks|podcast|spreadsheet"
    r"|documentary|video (?:game|essay)s?|board games?|netflix|youtube|speedrun|parking)\b"
    r"|\bmy (?:phone|boss|cat|dog|landlord|ex|flatmate|roommate)\b|\b(?:pub )?quiz (?:night|last)\b"
    r"|\b(?:a|the) (?:film|movie|show) (?:of|about) (?:this|us)\b|\bpuns?\b",
    re.IGNORECASE,
)
_BACK: Final = (
    r"(?:then[,.]? *)?(?:let's |let us |we )?(?:(?:get|go|move)(?:ting|ing)? )?back (?:to|in|at)\b"
)
_FORCED: Final = re.compile(
    rf"\b(?:anyway|anyhow)[,.!:;\u2014-]* *{_BACK}"
    rf"|\b(?:right|okay|ok|now)[,.!:;\u2014-]+ *{_BACK}"
    r"|\bback to the (?:story|plot|adventure|narrative)\b|\bback to what (?:was|you were)\b"
    r"|\b(?:let's|let us|shall we|we should) (?:all )?(?:get|go|return|move) back\b"
    r"|\benough (?:of that|about that|chatter)\b|\bas i was saying\b|\bwhere were we\b"
    r"|(?:^|[.!?:] +)(?:moving on|returning to the story)\b",
    re.MULTILINE,
)
_FORCED_HINTS: Final = (
    "back to",
    "back in",
    "back at",
    "get back",
    "go back",
    "return",
    "move back",
    "enough ",
    "as i was",
    "where were we",
    "moving on",
)
"""One of these is in every text that the expression above can match; far cheaper to look for."""

_QUOTED: Final = re.compile(r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d')


def looks_off_story(text: str) -> bool:
    """Whether a message talks of things that belong to no story (cues in the wording)."""
    return _OFF_STORY.search(text) is not None


def has_forced_segue(text: str) -> bool:
    """Whether a narrator announces the return (``Anyway, back to the story``), speech left out."""
    low = text.lower().replace("\u2019", "'")
    if not any(hint in low for hint in _FORCED_HINTS):
        return False
    return _FORCED.search(_QUOTED.sub("", low)) is not None


class EndedTangent(NamedTuple):
    """A tangent that is over.

    ``recovery`` is ``natural``, ``forced``, or ``none`` if the session ended first.
    """

    since: int
    until: int
    initiator: str
    recovery: str
    quality: float | None

    @property
    def length(self) -> int:
        """Outputs from the first that met the tangent to the one that ended it."""
        return self.until - self.since + 1

    @property
    def intensity(self) -> str:
        """Light (returned at once), medium (2-3 outputs) or heavy."""
        return "light" if self.length <= 1 else "medium" if self.length <= 3 else "heavy"

    @property
    def data(self) -> Mapping[str, JSON]:
        """Its facts, for programs."""
        return {
            "since": self.since,
            "until": self.until,
            "recovery": self.recovery,
            "segue": self.quality,
        }

    @property
    def detail(self) -> str:
        """Its facts as ``key: value`` pairs, for people."""
        parts = [f"turns: {self.since}-{self.until}", f"recovery: {self.recovery}"]
        if self.quality is not None:
            parts.append(f"segue: {self.quality:g}")
        return "; ".join([*parts, f"intensity: {self.intensity}"])


def follow(
    book: TangentBook,
    turn: int,
    *,
    off_story: bool,
    pulse: bool,
    segue: str,
    quality: float | None,
    initiator: str,
) -> tuple[TangentBook, EndedTangent | None]:
    """Take one classified output into account.

    Args:
        book: The book before it.
        turn: Its turn.
        off_story: The group was off the story, or the output handles a distraction.
        pulse: The output is a pulse.
        segue: ``natural``, ``forced`` or empty.
        quality: Quality of the segue from 1 to 5, if known.
        initiator: Who seems to have left the story, should a tangent start here.
    """
    if not book.since:
        if not off_story:
            return book, None
        book = book.model_copy(update={"since": turn, "initiator": initiator})
    if segue:
        book = book.model_copy(update={"segue": segue, "quality": quality})
    if not pulse:
        return book, None
    return close(book, turn, book.segue or "natural")


def close(book: TangentBook, turn: int, recovery: str) -> tuple[TangentBook, EndedTangent | None]:
    """End the tangent under way, if there is one, with this recovery."""
    if not book.since:
        return book, None
    quality = book.quality if recovery != "none" else None
    ended = EndedTangent(book.since, turn, book.initiator, recovery, quality)
    return (
        TangentBook(
            count=book.count + 1,
            turns=book.turns + ended.length,
            longest=max(book.longest, ended.length),
            natural=book.natural + (recovery == "natural"),
            forced=book.forced + (recovery == "forced"),
            quality_sum=book.quality_sum + (quality or 0.0),
            quality_count=book.quality_count + (quality is not None),
        ),
        ended,
    )


def initiator_of(said: Sequence[tuple[str, str]], story_words: Collection[str]) -> str:
    """Who left the story, as far as wording shows; empty where nobody stands out.

    Whoever used words of the table rather than of the story; among several, the one whose words
    share least with what the narrator had just said.
    """
    suspects = [(name, text) for name, text in said if looks_off_story(text)]
    if not suspects:
        return ""

    def relation(item: tuple[str, str]) -> float:
        words = {word for word in words_of(item[1]) if len(word) > 3}
        return len(words & set(story_words)) / len(words) if words else 0.0

    return min(suspects, key=relation)[0]
