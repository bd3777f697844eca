"""Making a conversation fit a small context: what is left out, and why always the same.

A call that is too long for the model loses the oldest part of its history; the system prompt and
the newest messages stay. History goes in blocks of a quarter of the room, counted from its
beginning, so that a growing conversation keeps sending the same beginning for many turns and
llama.cpp need not read it again. If even the newest message alone is too long (a judge's
transcript), its middle goes. The result depends on nothing but the messages and their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from matrix.model.errors import ContextOverflow
from matrix.model.records import ChatMessage

BLOCKS: Final = 4
"""History is left out in blocks of this fraction of the room."""
NOTE_TOKENS: Final = 40
"""Allowed for the note that says what was left out."""
LEAST_ASKED: Final = 64
"""Tokens of the newest message that must fit, or the call is refused."""


class Fitted(NamedTuple):
    """Messages that fit, or will once the last one is cut.

    Attributes:
        messages: What to send.
        left_out: Earlier messages that are not among them.
        last_room: Tokens that the last message may have, if it must be cut; else ``None``.
    """

    messages: tuple[ChatMessage, ...]
    left_out: int = 0
    last_room: int | None = None


def clean(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Messages as valid Unicode: models sometimes break off in mid-character."""
    return tuple(
        message._replace(content=message.content.encode(errors="replace").decode())
        for message in messages
    )


def answer_room(max_tokens: int, context: int) -> int:
    """Tokens kept free for the answer: what was asked for, but at most half of the context."""
    return min(max_tokens, context // 2)


def fit(messages: Sequence[ChatMessage], sizes: Sequence[int], room: int) -> Fitted:
    """Leave out what does not fit.

    Args:
        messages: The conversation; the last message is the one to answer.
        sizes: Tokens of each message, with what the chat format puts around it.
        room: Tokens that all messages together may have.

    Raises:
        ContextOverflow: The system prompt leaves no room for the message to answer.
    """
    if sum(sizes) <= room:
        return Fitted(tuple(messages))
    first = _after_system(messages)
    start, last = messages[:first], len(messages) - 1
    used, room_left = sum(sizes[:first]), room - sum(sizes[:first]) - NOTE_TOKENS
    if room_left < min(LEAST_ASKED, sizes[last]):
        raise ContextOverflow(
            f"the system prompt has {used} tokens and the context leaves {room} for all messages; "
            "use a shorter one, or a model with a larger context"
        )
    gone = _dropped(messages[first:last], sizes[first:], room_left)
    kept = list(messages[first + gone :])
    if gone:
        kept[0] = ChatMessage(kept[0].role, f"{_note(gone)}\n\n{kept[0].content}")
    too_long = sizes[last] > room_left
    return Fitted((*start, *kept), gone, room_left if too_long else None)


def _after_system(messages: Sequence[ChatMessage]) -> int:
    """Index of the first message that is no system prompt; the last message never is one."""
    for index, message in enumerate(messages[:-1]):
        if message.role != "system":
            return index
    return len(messages) - 1


def _dropped(history: Sequence[ChatMessage], sizes: Sequence[int], room: int) -> int:
    """How many of the oldest messages go so that the rest and the newest fit, in whole blocks.

    What stays begins with a user's message, as many chat formats demand.
    """
    total, block = sum(sizes), max(1, room // BLOCKS)
    ends = [0, *accumulate(sizes[: len(history)])]
    mark = block
    for gone in range(len(history)):
        if ends[gone] < mark or history[gone].role == "assistant":
            continue
        if total - ends[gone] <= room:
            return gone
        mark = (ends[gone] // block + 1) * block
    return len(history)


def _note(count: int) -> str:
    return f"[{count} earlier message{'s are' if count > 1 else ' is'} left out here.]"


def without_middle(text: str, keep: int) -> str:
    """The beginning and end of ``text``, together ``keep`` characters, and a mark between them."""
    if len(text) <= keep:
        return text
    half = max(1, keep // 2)
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
