"""What a player remembers: what they told of themselves, what was told to them alone, the story.

It is made of the log each time, by no model, and takes a bounded number of tokens however long the
story is: the newest turns in a sentence each, what the player did in them, the turns before in a
few words, and nothing of what is older than that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.kinds.context import MessageLog
from matrix.kinds.playtest.detect.asides import heard
from matrix.kinds.playtest.detect.history import (
    NARRATOR,
    REACTION,
    TABLE,
    private_channel,
)
from matrix.kinds.playtest.detect.moments import TOLD
from matrix.kinds.playtest.detect.reading import spoken, title_of

CHARS_PER_TOKEN: Final = 4
"""Characters that a token is taken for, as everywhere where nobody's tokenizer is asked."""

_OWN_SHARE, _SECRET_SHARE, _CLOSE_SHARE = 0.25, 0.3, 0.6
"""Most of the room that own words and secrets take, and what of the rest is for close turns."""

_TOLD, _SAID, _SECRET, _LEAST = 150, 90, 240, 30
"""Characters of one line: of the narrator, of the player, of a secret; a cut below is no line."""

_SENTENCE_END: Final = re.compile(r"[.!?][\"'\u201d\u2019)]*(?=\s)")


class TurnHeard(NamedTuple):
    """A turn as the table heard it: the narrator's words, each player's, secrets that were told."""

    turn: int
    told: str
    said: Mapping[str, str]
    shared: tuple[str, ...]


def turns_heard(log: MessageLog, tokens: int) -> list[TurnHeard]:
    """The newest turns of the story that ``tokens`` have room for, newest first."""
    most = tokens * CHARS_PER_TOKEN // _LEAST + 1
    found: list[TurnHeard] = []
    told, said, shared, turn = "", dict[str, str](), list[str](), 0
    for message in reversed(log.channel(TABLE)):
        if message.turn != turn:
            if turn and told:
                found.append(TurnHeard(turn, told, said, tuple(reversed(shared))))
            if not message.turn or len(found) >= most:
                return found
            told, said, shared, turn = "", {}, [], message.turn
        if message.speaker == NARRATOR:
            told = message.text
        elif message.label == REACTION:
            said[message.speaker] = message.text
        elif message.label == TOLD:
            shared.append(message.text)
    if turn and told:
        found.append(TurnHeard(turn, told, said, tuple(reversed(shared))))
    return found


def remembered(
    log: MessageLog,
    turns: Sequence[TurnHeard],
    name: str,
    tokens: int,
    *,
    before: int | None = None,
) -> str:
    """What a player remembers, in at most ``tokens``, from :func:`turns_heard`.

    Of what was told to them alone, what was told ``before`` a turn, if one is given.
    """
    room = tokens * CHARS_PER_TOKEN
    parts = [
        _part("What you told about yourself:", _own(log, name), int(room * _OWN_SHARE)),
        _part("What you alone were told:", _secrets(log, name, before), int(room * _SECRET_SHARE)),
    ]
    left = room - sum(len(part) + 1 for part in parts if part)
    parts.append(_story(turns, name, left))
    return "\n".join(part for part in parts if part)


def _part(title: str, lines: Iterable[str], room: int) -> str:
    """The newest lines that there is room for, oldest first, below their title."""
    left, kept = room - len(title) - 1, list[str]()
    for line in lines:
        line = gist(line, min(left, len(line)), whole=True) if left >= _LEAST else ""
        if not line:
            break
        kept.append(line)
        left -= len(line) + 1
    return "\n".join([title, *reversed(kept)]) if kept else ""


def _own(log: MessageLog, name: str) -> list[str]:
    """What somebody said in character creation, newest first."""
    said = []
    for message in log.channel(TABLE):
        if message.turn:
            break
        if message.speaker == name:
            said.append(f"- {gist(message.text, _SECRET, whole=True)}")
    return said[::-1]


def _secrets(log: MessageLog, name: str, before: int | None) -> list[str]:
    """What passed between the narrator and somebody alone, newest first."""
    return [
        f"- Turn {message.turn}, the narrator: {gist(heard(message.text), _SECRET, whole=True)}"
        if message.speaker == NARRATOR
        else f"- Turn {message.turn}, you: {gist(message.text, _SAID)}"
        for message in reversed(log.channel(private_channel(name)))
        if before is None or message.turn < before
    ]


def _story(turns: Sequence[TurnHeard], name: str, room: int) -> str:
    title = "The story so far, as you remember it:"
    close = int(room * _CLOSE_SHARE)
    left, kept = room - len(title) - 1, list[str]()
    for heard_turn in turns:
        line = _line(heard_turn, name, whole=room - left < close)
        if len(line) > left:
            break
        kept.append(line)
        left -= len(line) + 1
    return "\n".join([title, *reversed(kept)]) if kept else ""


def _line(one: TurnHeard, name: str, *, whole: bool) -> str:
    if not whole:
        told = [f"- Turn {one.turn}: {title_of(one.told)} ..."]
    else:
        own = one.said.get(name)
        told = [f"- Turn {one.turn}: {gist(spoken(one.told), _TOLD)}"]
        told += [f"You: {gist(own, _SAID)}"] if own else []
    return " ".join([*told, *(gist(text, _SECRET, whole=True) for text in one.shared)])


@lru_cache(maxsize=8192)
def gist(text: str, room: int, *, whole: bool = False) -> str:
    """The first sentence of a text, or the ``whole`` of it, in one line of ``room`` characters."""
    line = " ".join(text[: 8 * room].split())
    if not whole and (end := _SENTENCE_END.search(line)):
        line = line[: end.end()]
    return line if len(line) <= room else line[: max(0, room - 4)].rsplit(" ", 1)[0] + " ..."
