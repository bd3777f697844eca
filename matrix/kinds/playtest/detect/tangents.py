"""Tangents: when the group leaves the story, who started it, and how the narrator brings it back.

A tangent starts with the output before which the group was off the story (or which handles a
distraction) and lasts until narrator and group are back at it: with the output that leads back, if
the group goes along, with the one that answers a group that is back by itself, and with a pulse or
an ending in any case. A return that the group does not take is none. Its length counts the
narrator's outputs from the one to the other, both included, so that an immediate return has length
1. One that changes its subject again and again is a spiral, however long it is.

Looking around in the story is none: a group that asks about the world explores it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import words_of
from matrix.kinds.playtest.detect.relaying import carried
from matrix.kinds.playtest.setup.state import TangentBook
from matrix.kinds.playtest.setup.vocabulary import TANGENT_TYPES
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
HUMOUR, MEDIA, EVERYDAY, AT_TABLE, OTHER = TANGENT_TYPES
_KINDS: Final = (
    (HUMOUR, r"\bpuns?\b|\bjokes?\b|\bpunchline\b|\bknock[- ]knock\b"),
    (
        MEDIA,
        r"\b(?:films?|movies?|show|video (?:game|essay)s?|podcast|documentary|netflix|youtube"
        r"|speedrun|board games?|quiz|series|episodes?|memes?)\b",
    ),
    (
        EVERYDAY,
        r"\b(?:pizza|crisps|snacks|spreadsheet|parking|phone|boss|cat|dog|landlord|ex|flatmate"
        r"|roommate|work|train home|umbrella|weather|dinner|drinks?)\b",
    ),
    (AT_TABLE, r"\b(?:the (?:rules|dice|game|story)|characters?|narrator|turns?|real life)\b"),
)
"""Kind of a tangent -> what is talked of; the first that fits."""

_SUBJECTS: Final = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)

SPIRAL: Final = 3
"""Subjects of one tangent from which on it is a spiral."""

WORST: Final = 1.0
"""The least quality of a segue."""

WORDS_KEPT: Final = 16
HANDLED_KEPT: Final = 100

_EXPLORES: Final = re.compile(
    r"\b(?:what|who|why|where|when|how|which|whose|is|are|was|does|did|has|can"
    r"|could)\b[^.!?\n]{0,200}\?"
    r"|\b(?:tell (?:me|us) more|look(?:s|ing)? (?:closer|around|more closely)|examines?|inspects?"
    r"|wants? to know|asks? (?:about|what|who|why|how))\b",
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
    r"|(?:^|[.!?:] +)(?:moving on|(?:so,? |and )?returning to (?:the|our|your|what))\b"
    r"|\b(?:anyway|anyhow)\b[^.?\n]{0,20}[.!]* *(?:returning|as for) (?:to )?(?:the|our|your)\b"
    r"|\b(?:but )?i digress\b|\b(?:all|jokes?|joking) (?:of )?(?:that )?aside, (?:back|let|the)\b",
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
    "digress",
    "aside",
    "anyway",
    "anyhow",
)
"""One of these is in every text that the expression above can match; far cheaper to look for."""

_QUOTED: Final = re.compile(r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d')


def looks_off_story(text: str) -> bool:
    """Whether a message talks of things that belong to no story (cues in the wording)."""
    return _OFF_STORY.search(text) is not None


def kind_of(text: str) -> str:
    """What somebody talks of who left the story."""
    return next((kind for kind, pattern in _SUBJECTS if pattern.search(text)), OTHER)


def explores(relay: str) -> bool:
    """Whether the group asks about the world of the story, or looks at it, and stays in it."""
    return not looks_off_story(relay) and _EXPLORES.search(relay) is not None


def has_forced_segue(text: str) -> bool:
    """Whether a narrator announces the return (``Anyway, back to the story``), speech left out."""
    low = text.lower().replace("\u2019", "'")
    if not any(hint in low for hint in _FORCED_HINTS):
        return False
    return _FORCED.search(_QUOTED.sub("", low)) is not None


class EndedTangent(NamedTuple):
    """A tangent that is over.

    Attributes:
        since: Turn of the first output that met it.
        until: Turn of the one that ended it.
        initiator: Who seems to have begun it.
        recovery: ``natural``, ``forced``, or ``none`` if the session ended first.
        quality: Of the segue, from 1 to 5, if known.
        kind: What it began with.
        subjects: How many it had.
        woven: The story took something of it up.
        led: The narrator led back; else the group came back by itself.
        about: What it began with in the group's words, where that is known.
    """

    since: int
    until: int
    initiator: str
    recovery: str
    quality: float | None
    kind: str = OTHER
    subjects: int = 1
    woven: bool = False
    led: bool = True
    about: str = ""

    @property
    def method(self) -> str:
        """How it ended: ``none``, ``announced``, ``woven``, ``hook`` or ``by-itself``.

        A return that was forced is announced; a natural one takes the tangent up, draws the group
        back by what happens next, or finds it back already.
        """
        if self.recovery != "natural":
            return "announced" if self.recovery == "forced" else "none"
        return "woven" if self.woven else "hook" if self.led else "by-itself"

    @property
    def handled(self) -> float:
        """How it was met, from 0 (not at all) to 1."""
        if self.recovery == "none":
            return 0.0
        if self.quality is not None:
            return (self.quality - 1.0) / 4.0
        return 1.0 if self.recovery == "natural" else 0.5

    @property
    def length(self) -> int:
        """Outputs from the first that met the tangent to the one that ended it."""
        return self.until - self.since + 1

    @property
    def intensity(self) -> str:
        """Light (returned at once), medium (2-3 outputs), heavy, or a spiral of subjects."""
        if self.subjects >= SPIRAL:
            return "spiral"
        return "light" if self.length <= 1 else "medium" if self.length <= 3 else "heavy"

    @property
    def data(self) -> Mapping[str, JSON]:
        """Its facts, for programs."""
        return {
            "since": self.since,
            "until": self.until,
            "recovery": self.recovery,
            "segue": self.quality,
            "type": self.kind,
            "subjects": self.subjects,
            "intensity": self.intensity,
            "woven": self.woven,
            "method": self.method,
            **({"about": self.about} if self.about else {}),
        }

    @property
    def detail(self) -> str:
        """Its facts as ``key: value`` pairs, for people."""
        parts = [f"turns: {self.since}-{self.until}", f"recovery: {self.recovery}"]
        parts += [f"type: {self.kind}", f"method: {self.method}"]
        parts += [f"about: {self.about}"] if self.about else []
        if self.quality is not None:
            parts.append(f"segue: {self.quality:g}")
        return "; ".join([*parts, f"intensity: {self.intensity}"])


class Left(NamedTuple):
    """Who left the story, for what, and the words by which it could be taken up."""

    name: str
    kind: str
    words: tuple[str, ...]
    about: str = ""


class Met(NamedTuple):
    """A classified output, as far as tangents go.

    Attributes:
        turn: Its turn.
        told: Its words.
        off_story: The group was off the story before it, or it handles a distraction.
        back: The group was at the story before it, and said so by what it did.
        advanced: It tells the story on (a pulse), or to its end.
        leads: It is at the story, or leads back to it.
        segue: ``natural``, ``forced`` or empty.
        quality: Quality of the segue from 1 to 5, if known.
        left: Who seems to have left the story in the turn before, and for what.
        taken_up: Whether it makes something of the tangent, where somebody who read it says so.
    """

    turn: int
    told: str = ""
    off_story: bool = False
    back: bool = False
    advanced: bool = False
    leads: bool = False
    segue: str = ""
    quality: float | None = None
    left: Left | None = None
    taken_up: bool | None = None


def follow(book: TangentBook, met: Met) -> tuple[TangentBook, EndedTangent | None]:
    """Take one classified output into account: the book after it, and a tangent that is over."""
    if met.back and book.returned:
        return close_returned(book)
    if not book.since:
        if not met.off_story:
            return book, None
        update = {"since": met.turn, "initiator": "", "kind": OTHER, "subjects": 1}
        update |= {"words": (), "about": ""}
        if met.left is not None:
            update |= {
                "initiator": met.left.name,
                "kind": met.left.kind,
                "words": met.left.words,
                "about": met.left.about,
            }
        book = book.model_copy(update=update)
    elif met.off_story and met.left is not None and _is_another(book, met.left):
        # which the story would have to take up in place of the one before
        update = {"subjects": book.subjects + 1, "words": met.left.words}
        book = book.model_copy(update=update)
    leads = met.leads or met.advanced or bool(met.segue)
    book = book.model_copy(
        update={
            "returned": met.turn if leads else 0,
            "took_up": leads
            and (takes_up(book, met.told) if met.taken_up is None else met.taken_up),
            "segue": met.segue,
            "quality": met.quality if met.segue else None,
        }
    )
    if met.advanced or (met.back and not met.off_story):
        return close_returned(book.model_copy(update={"returned": met.turn}))
    return book, None


def close_returned(book: TangentBook) -> tuple[TangentBook, EndedTangent | None]:
    """End the tangent under way with the narrator's return that the group has taken."""
    return close(book, book.returned, book.segue or "natural", book.took_up)


def _is_another(book: TangentBook, left: Left) -> bool:
    """Whether the group has come to another subject, rather than to more of the same."""
    other = (left.kind, left.name) != (book.kind, book.initiator)
    return other and set(left.words).isdisjoint(book.words)


def takes_up(book: TangentBook, told: str) -> bool:
    """Whether an output makes something of the tangent under way, or of who began it."""
    if not book.words and not book.initiator:
        return False
    named = re.search(rf"\b{re.escape(book.initiator)}\b", told) if book.initiator else None
    return named is not None or not carried(told).isdisjoint(book.words)


def close(
    book: TangentBook, turn: int, recovery: str, woven: bool = False
) -> tuple[TangentBook, EndedTangent | None]:
    """End the tangent under way, if there is one, with this recovery."""
    if not book.since:
        return book, None
    quality = book.quality if recovery != "none" else None
    # who announces the return has woven nothing in, and neither has who does it worst
    woven = woven and recovery == "natural" and quality != WORST
    ended = EndedTangent(
        book.since,
        turn,
        book.initiator,
        recovery,
        quality,
        book.kind or OTHER,
        max(1, book.subjects),
        woven,
        bool(book.segue),
        book.about,
    )
    return (
        TangentBook(
            woven=book.woven + woven,
            spirals=book.spirals + (ended.intensity == "spiral"),
            handled=(*book.handled, round(ended.handled, 6))[-HANDLED_KEPT:],
            explored=book.explored,
            followed=book.followed,
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


def left_by(
    said: Sequence[tuple[str, str]], relay: str, story_words: Collection[str], about: str = ""
) -> Left | None:
    """Who left the story in a turn, as far as wording shows.

    The narrator has heard the ``relay`` alone. Where no player stands out, whoever talked of what
    the turn was ``about``, where that is known; else what the spokesperson said goes by.
    """
    name = initiator_of(said, story_words, relay)
    if not name and about:
        return _who_talked_of(about, said)
    text = next(
        (text for who, text in said if who == name), relay if looks_off_story(relay) else ""
    )
    if not text:
        return None
    own = carried(text) - {stem for word in story_words for stem in carried(word)}
    return Left(name, kind_of(text), tuple(sorted(own))[:WORDS_KEPT], about)


def _who_talked_of(about: str, said: Sequence[tuple[str, str]]) -> Left:
    """The first of those who share most words with it; nobody where none shares any."""
    words = carried(about)
    shared = [(len(words & carried(text)), name, text) for name, text in said]
    most, name, text = max(shared, key=lambda one: one[0], default=(0, "", ""))
    if not most:
        name, text = "", ""
    return Left(name, kind_of(f"{about} {text}"), tuple(sorted(words))[:WORDS_KEPT], about)


def initiator_of(
    said: Sequence[tuple[str, str]], story_words: Collection[str], relay: str = ""
) -> str:
    """Who left the story, as far as wording shows; empty where nobody stands out.

    Whoever used words of the table rather than of the story; among several, the one of whose words
    most were passed on, and then whose words share least with what the narrator had just said.
    """
    suspects = [(name, text) for name, text in said if looks_off_story(text)]
    if not suspects:
        return ""
    if (told := carried(relay)) and len(suspects) > 1:
        shares = [len(carried(text) & told) / (len(carried(text)) or 1) for _, text in suspects]
        suspects = [
            one for one, share in zip(suspects, shares, strict=True) if share == max(shares)
        ]

    def relation(item: tuple[str, str]) -> float:
        words = {word for word in words_of(item[1]) if len(word) > 3}
        return len(words & set(story_words)) / len(words) if words else 0.0

    return min(suspects, key=relation)[0]
