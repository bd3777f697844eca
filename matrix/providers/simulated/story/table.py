"""Where a story stands, read off the messages that a narrator is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple
from zlib import crc32

from matrix.kinds.playtest.setup.outline import NUMBER_WORDS
from matrix.model.records import ChatMessage
from matrix.providers.simulated.story.cues import is_recap
from matrix.providers.simulated.story.story import Story

Request = Literal["opening", "question", "begin", "play"]

THE_END = "THE END"
GUIDE_HEADING = "\n# Story guide: "

_REQUESTS: tuple[tuple[str, Request], ...] = (
    ("sat down to play and are waiting for you", "opening"),
    ("Ask the group one question that brings out", "question"),
    ("[table] Begin the story now", "begin"),
)
_SPEAKER = re.compile(
    r"^[^\w\n]*([^\W\d_a-z][\w'\u2019-]*(?: \d+)?)(?: \([^)\n]*\))?:([^\n]*)", re.MULTILINE
)
_PART = re.compile(
    r"\b(?:I'm|I am|I'll be|playing|I play) (an? [a-z' -]+?)"
    r"(?=[.,;\n]| who | that | which | with | on )"
)
_PLAYERS = re.compile(r"\bplayers?(?: are)?:\s*([^\n]+)", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_a-z][\w'\u2019-]*(?: \d+)?")
_NOT_PLAYERS = frozenset(("Narrator", "Spokesperson", "The", "Players", "Table", "Story", "And"))
_PULSE_MARKER = re.compile(r"^\s*\[PULSE (\d+)")
_SIZE = re.compile(r"\[table\] (\d+) people")
_COUNTS: tuple[str, ...] = ("none", *NUMBER_WORDS[:10])


class PlayersHeard(NamedTuple):
    """The players as they introduced themselves: names, what each plays, their number in words.

    ``key`` is the same throughout a session and differs between sessions.
    """

    names: tuple[str, ...]
    parts: Mapping[str, str]
    number: str
    key: int


class NarratorTable(NamedTuple):
    """What a narrator knows before it speaks.

    Attributes:
        request: What it is asked for.
        relay: The last message to it.
        told: Index of the last beat it told, -1 before the first.
        last: Its own last output.
        group: The players.
        outputs: How often it has spoken.
    """

    request: Request
    relay: str
    told: int
    last: str
    group: PlayersHeard
    outputs: int


@lru_cache(maxsize=1024)
def _introduced(first: str, second: str) -> PlayersHeard:
    """The group, from the first two messages to a narrator."""
    names: dict[str, None] = {}
    parts: dict[str, str] = {}
    for text in (first, second):
        for name, said in _SPEAKER.findall(text):
            names[name] = None
            if part := _PART.search(said):
                parts[name] = part[1]
        for line in _PLAYERS.findall(text):
            names.update(dict.fromkeys(_NAME.findall(line)))
    known = tuple(name for name in names if name not in _NOT_PLAYERS)
    size = _SIZE.search(first)
    number = int(size[1]) if size else len(known)
    words = _COUNTS[number] if 0 < number < len(_COUNTS) else "several"
    return PlayersHeard(known, parts, words, crc32((first + second).encode()))


def _beat_in(text: str, story: Story) -> int:
    """Index of the latest beat that ``text`` tells, or -1."""
    if text.startswith("["):
        if match := _PULSE_MARKER.match(text):
            return min(int(match[1]), len(story.beats)) - 1
        if text.startswith("[RECAP"):
            return -1
    for index in range(len(story.beats) - 1, -1, -1):
        if story.beats[index].mark in text:
            return -1 if is_recap(text) else index
    return -1


def _told(messages: Sequence[ChatMessage], story: Story, outputs: int) -> int:
    for message in reversed(messages):
        if message.role == "assistant":
            found = _beat_in(message.content, story)
            if found >= 0:
                return found
        elif "[table]" in message.content and message.role == "user":
            break
    guessed = max(1, (outputs - 2) * 2 // 3) if outputs > 2 else 0
    return min(guessed, len(story.beats)) - 1


def read_table(messages: Sequence[ChatMessage], story: Story) -> NarratorTable:
    """Read the state of a story from its messages, newest first and no further than needed.

    Where none of the guide's beats can be recognised (another narrator told them in its own
    words), two outputs in three are taken for a beat.
    """
    users = [message.content for message in messages if message.role == "user"]
    outputs = sum(1 for message in messages if message.role == "assistant")
    relay = users[-1] if users else ""
    request: Request = "play"
    if "[table]" in relay:
        request = next((name for text, name in _REQUESTS if text in relay), "play")
    last = next((one.content for one in reversed(messages) if one.role == "assistant"), "")
    group = _introduced(users[0] if users else "", users[1] if len(users) > 1 else "")
    told = _told(messages, story, outputs) if request == "play" else -1
    return NarratorTable(request, relay, told, last, group, outputs)
