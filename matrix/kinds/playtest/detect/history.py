"""What each model is shown of a session's log: the narrator all of it, players the table talk.

Nothing of this is stored: the log holds every line once, and what the narrator or a player gets
to read is built from it each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from matrix.kinds.context import MessageLog
from matrix.kinds.playtest.detect.asides import heard
from matrix.kinds.playtest.detect.reading import spoken
from matrix.kinds.playtest.setup.prompts import (
    begin_request,
    opening_request,
    private_reply,
    questions_request,
)
from matrix.kinds.playtest.setup.wording import AS_SHIPPED, Words
from matrix.model.records import PRIVATE, ChatMessage, Message

TABLE: Final = "table"
NARRATOR: Final = "narrator"
SPOKESPERSON: Final = "spokesperson"
SYSTEM: Final = "system"

WELCOME: Final = "welcome"
INTRODUCTION: Final = "introduction"
QUESTION: Final = "question"
ANSWER: Final = "answer"
RELAY: Final = "relay"
REACTION: Final = "reaction"
SHARED: Final = "shared"
NOTE: Final = "note"

SILENCE: Final = "(Nobody says anything.)"


def private_channel(name: str) -> str:
    """Channel of what passes between the narrator and one player."""
    return f"{PRIVATE}{name}"


def persona_channel(name: str) -> str:
    """Channel of a player's system prompt."""
    return f"persona/{name}"


def lines(messages: Iterable[Message]) -> str:
    """Messages as ``Name: words``, one to a line."""
    return "\n".join(f"{message.speaker}: {message.text}" for message in messages)


def narrator_history(
    system: str,
    size: int,
    log: MessageLog,
    *,
    story_at: int | None = None,
    words: Words = AS_SHIPPED,
) -> list[ChatMessage]:
    """Everything the narrator has been told and has said, ending with what it must answer.

    Args:
        system: The narrator's system prompt.
        size: Players at the table.
        log: The session's log.
        story_at: Position at which the story began; ``None`` during character creation.
        words: Texts of the wording that the story says otherwise.
    """
    creation = [log[position] for position in range(len(log) if story_at is None else story_at)]
    chat = _Chat(system)
    chat.put("user", opening_request(size, words))
    _say(chat, creation, WELCOME)
    introductions = [message for message in creation if message.label == INTRODUCTION]
    if introductions or story_at is not None:
        chat.put("user", questions_request(lines(introductions) or SILENCE, words))
    if story_at is not None:
        _say(chat, creation, QUESTION)
        answers = [message for message in creation if message.label == ANSWER]
        chat.put("user", begin_request(lines(answers) or SILENCE, words))
        _tell(chat, log, story_at, words)
    return chat.messages


def _say(chat: _Chat, creation: Sequence[Message], label: str) -> None:
    for message in creation:
        if message.label == label:
            chat.put("assistant", message.text)


class _Chat:
    """A chat under construction; neighbours of one role become one message."""

    def __init__(self, system: str) -> None:
        self.messages = [ChatMessage("system", system)]

    def put(self, role: Literal["user", "assistant"], text: str) -> None:
        last = self.messages[-1]
        if last.role == role:
            self.messages[-1] = ChatMessage(role, f"{last.content}\n\n{text}")
        else:
            self.messages.append(ChatMessage(role, text))


def _tell(chat: _Chat, log: MessageLog, start: int, words: Words) -> None:
    """Put the lines of the story that the narrator said or heard."""
    for position in range(start, len(log)):
        message = log[position]
        if message.speaker == NARRATOR:
            chat.put("assistant", message.text)
        elif message.label == RELAY:
            chat.put("user", message.text)
        elif message.label == REACTION and message.channel != TABLE:
            chat.put("user", private_reply(message.speaker, message.text, words))


def table_talk(log: MessageLog, count: int) -> list[Message]:
    """The last ``count`` messages that everybody at the table heard, oldest first."""
    return log.tail(TABLE, count) if count else []


def of_late(log: MessageLog, seats: int, turns: int = 1) -> list[Message]:
    """What was said at the table in at least so many turns, the oldest first."""
    return log.tail(TABLE, turns * (2 * seats + 4))


def as_heard(messages: Iterable[Message]) -> str:
    """Table talk as a player remembers it, one message to a line."""
    return "\n".join(_heard_line(message) for message in messages)


def _heard_line(message: Message) -> str:
    if message.speaker == NARRATOR:
        return f"Narrator: {spoken(message.text)}"
    if message.speaker == SYSTEM:
        return message.text
    if message.label == RELAY:
        return f"To the narrator: {message.text}"
    return f"{message.speaker}: {message.text}"


def private_memory(log: MessageLog, name: str) -> str:
    """The last thing that passed between the narrator and this player alone, if anything."""
    kept = [
        f"Narrator, to you alone: {heard(message.text)}"
        if message.speaker == NARRATOR
        else f"You, aside: {message.text}"
        for message in log.tail(private_channel(name), 2)
    ]
    return "\n".join(kept)
