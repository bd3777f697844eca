"""A narrator's history in a bounded number of tokens: the beginning, a summary, and what is newest.

Who the players are and the narrator's own prompt always stay. What there is no room for is told in
a sentence for each of the narrator's outputs, newest first, as far as a part of the room goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matrix.kinds.playtest.detect.memory import gist
from matrix.kinds.playtest.detect.reading import spoken
from matrix.kinds.playtest.setup.state import DroppedHistory
from matrix.model.records import ChatMessage

BYTES_PER_TOKEN: Final = 4
"""As for every estimate: no model's own tokenizer is asked."""

HEAD: Final = 6
"""System prompt, welcome, introductions, question, answers: two of them the narrator's."""

_SUMMARY_SHARE: Final = 0.25
_LINE: Final = 180
_TITLE: Final = "\n\n[table] What you have told since then, in short:\n"


def tokens_of(messages: Sequence[ChatMessage]) -> int:
    """Tokens of a request, about."""
    return sum(_tokens(one.content) for one in messages)


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def windowed(
    messages: Sequence[ChatMessage], tokens: int
) -> tuple[list[ChatMessage], DroppedHistory | None]:
    """A history that fits, and what was left out of it; ``None`` if that is nothing.

    The last message stays whatever there is room for, as it is what has to be answered.

    Args:
        messages: System prompt, then user and assistant in turn, the last from the user.
        tokens: The most that it may take.
    """
    if len(messages) <= HEAD + 2 or tokens_of(messages) <= tokens:
        return list(messages), None
    head, story = list(messages[:HEAD]), messages[HEAD:]
    room = tokens - tokens_of(head)
    left = int(room * (1 - _SUMMARY_SHARE))
    start = len(story)
    while start >= 2:  # an output with what the group made of it
        size = tokens_of(story[start - 2 : start])
        if size > left and start < len(story):
            break
        left -= size
        start -= 2
    lost = story[:start]
    if not lost:
        return list(messages), None
    free = room - tokens_of(story[start:])
    summary = _summary(lost, min(free, int(room * _SUMMARY_SHARE)))
    last = head[-1]
    head[-1] = ChatMessage(last.role, last.content + summary)
    dropped = DroppedHistory(messages=len(lost), tokens=tokens_of(lost))
    return [*head, *story[start:]], dropped


def _summary(lost: Sequence[ChatMessage], tokens: int) -> str:
    """The newest of what is lost, a sentence for each output."""
    left, lines = tokens - _tokens(_TITLE), list[str]()
    for message in reversed(lost):
        if message.role != "assistant":
            continue
        line = f"- {gist(spoken(message.content), _LINE)}"
        left -= _tokens(line) + 1
        if left < 0:
            break
        lines.append(line)
    return _TITLE + "\n".join(reversed(lines)) if lines else ""
