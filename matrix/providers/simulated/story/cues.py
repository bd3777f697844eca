"""What can be read off the surface of a text, by every simulated role that reads.

A simulated classifier or judge knows nothing of how a text came about: it goes by these cues
alone, just as it would for a real narrator.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.providers.simulated.language.grammar import sentences, unended, we_to_you
from matrix.providers.simulated.language.phrasebook.asides import FORCED_SEGUES, RECAP_HEADS

OFF_STORY: Final[dict[str, str]] = {
    "pizza": "pizza",
    "crisps": "crisps",
    "pub quiz": "the pub quiz",
    "quiz night": "quiz night",
    "random question": "",
    "off topic": "",
    "sidetracked": "",
    "side note": "",
    "unrelated": "",
    "in real life": "real life",
    "a film of this": "the film",
    "fish pun": "fish puns",
    "video game": "video games",
    "strategy game": "strategy games",
    "board game": "the board game",
    "business plan": "the bakery",
    "speedrun": "speedruns",
    "swap characters": "",
    "my phone": "telephones",
    "video essay": "video essays",
    "documentary": "drains",
    "podcast": "podcasts",
    "pause the story": "",
    "spreadsheet": "spreadsheets",
    "did the sums": "sums",
    "my boss": "bosses",
    "about work": "work",
    "parking meter": "parking meters",
    "umbrella at yours": "umbrellas",
    "my cat": "cats",
    "before i forget": "",
}
"""Words of the table rather than of any story -> a topic that a narrator can take up."""

FORCED: Final = (
    *(line.rstrip(".:?!").lower() for line in FORCED_SEGUES),
    "anyway, back to",
    "anyway, back in",
    "back to the story",
    "as i was saying",
    "returning to the story",
    "let's get back",
    "lets get back",
    "moving on",
    "now, where were we",
    "enough of that",
)
_RECAP: Final = (
    *(head.rstrip(".:").lower() for head in RECAP_HEADS),
    "to recap",
    "so far,",
    "story so far",
    "in short, you have",
)
_ASKS_RECAP: Final = (
    "recap",
    "remind us",
    "remind me",
    "lost track",
    "catch me up",
    "catch us up",
    "where are we again",
    "what did we miss",
    "missed that",
)


_OFF_STORY = tuple(OFF_STORY)


def has_any(text: str, cues: tuple[str, ...]) -> bool:
    """Whether any of ``cues`` stands in ``text``; a plain loop, twice as fast as ``any``."""
    for cue in cues:  # noqa: SIM110
        if cue in text:
            return True
    return False


@lru_cache(maxsize=2048)
def is_off_story(text: str) -> bool:
    """Whether a message of the group is about something other than the story."""
    low = text.lower()
    return has_any(low, _OFF_STORY)


def topic_of(text: str) -> str:
    """What an off-story message is about, where that can be named."""
    low = text.lower()
    return next((topic for cue, topic in OFF_STORY.items() if topic and cue in low), "")


def is_forced(text: str) -> bool:
    """Whether a narrator breaks off a digression instead of leading out of it."""
    low = text[:160].lower()
    return has_any(low, FORCED)


def is_recap(text: str) -> bool:
    """Whether a narrator's output tells what has happened already."""
    low = text[:90].lower()
    return has_any(low, _RECAP)


def asks_recap(text: str) -> bool:
    """Whether the group asks what has happened so far."""
    low = text.lower()
    return has_any(low, _ASKS_RECAP)


_QUOTED = re.compile(r'"[^"]*"')
_NARRATOR_I = re.compile(r"\bI(?:'m|'d|'ll|'ve)?\b")


def speaks_as_host(text: str) -> bool:
    """Whether a narrator talks as a person at the table: "I" outside of anybody's speech."""
    return _NARRATOR_I.search(_QUOTED.sub("", text)) is not None


PRIVATE = re.compile(
    r"\[(?:To|For) ([^\W\d_a-z][^\[\]\n]{0,200}?)(?: only| alone)?\]"
    r"|\[(?:ASIDE|PRIVATE)[^\w\[\]]{1,40}([^\s\[\]][^\[\]\n]{0,200})\]"
    r"|\b([A-Z][\w'-]*), (?:and )?you alone\b"
)
MARKER = re.compile(r"^\s*\[(PULSE|ASIDE|ANSWER|RECAP|END|TANGENT)\b[^\]]*\]")


class Relay(NamedTuple):
    """What a narrator takes from the group's message.

    ``clause`` is what the group does, in the second person without an end mark; ``did`` what one
    of them does, in the third; ``question`` what they ask; ``shared`` whether one who was told
    something alone tells it to the others.
    """

    off_story: bool
    topic: str
    asks_recap: bool
    question: str
    clause: str
    did: str
    shared: bool


_TALK = re.compile(
    r"\b(?:says?|asks?|wants? to know|wonders?|would like|thinks?|told|sidetracked|votes?|agrees?|"
    r"suggests?|fine with|happy to|it down that)\b|[\"?]"
)


@lru_cache(maxsize=1024)
def read_relay(text: str) -> Relay:
    """Read one message of the group."""
    clause = did = question = ""
    _, _, rest = text.partition("\n\n") if text.startswith("[private]") else ("", "", text)
    for line in sentences(rest):
        if "?" in line:
            question = question or line
            continue
        if len(line) > 120 or _TALK.search(line):
            continue
        if line.startswith(("We ", "Let's ")):
            clause = clause or unended(we_to_you(line))
        elif not did and _NAME_ACTS.match(line):
            did = unended(we_to_you(line))
    off = is_off_story(text)
    topic = topic_of(text) if off else ""
    shared = "tell the others" in text and "don't tell" not in text
    return Relay(off, topic, asks_recap(text), question, clause, did, shared)


_NAME_ACTS = re.compile(
    r"(?<![\w'-])(?!The|That|This|There|It|I|Our|You|And|But|So|If|Then|No|Yes|One|Two"
    r"|Somebody|Nobody|Everybody|After|Before|For|What|Also|Sorry)[A-Z][\w'-]+ "
    r"(?:[a-z]+ly )?[a-z]+s\b"
)
