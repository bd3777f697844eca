"""The messages of one session, in memory: append-only, and by channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from matrix.model.errors import UndeclaredConcurrency
from matrix.model.records import Message


class SessionLog:
    """The append-only messages of one session, indexed by channel."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages: list[Message] = []
        self._channels: dict[str, list[Message]] = {}
        self._blocks = 0
        for message in messages:
            self.append(message)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, position: int) -> Message:
        return self._messages[position]

    def append(self, message: Message) -> int:
        """Add a message; returns its position.

        Raises:
            UndeclaredConcurrency: A parallel block is under way.
        """
        if self._blocks:
            raise UndeclaredConcurrency(
                "a message was added to the log inside ctx.parallel, where its place would depend "
                "on timing; return it from the child and add it after the block"
            )
        self._messages.append(message)
        self._channels.setdefault(message.channel, []).append(message)
        return len(self._messages) - 1

    def tail(self, channel: str, count: int) -> list[Message]:
        """The last ``count`` messages of a channel, oldest first."""
        return self._channels.get(channel, [])[-count:] if count > 0 else []

    def channel(self, channel: str) -> Sequence[Message]:
        """Every message of a channel, oldest first. Not to be changed."""
        return self._channels.get(channel, [])

    def since(self, position: int) -> tuple[Message, ...]:
        """Messages from ``position`` on."""
        return tuple(self._messages[position:])

    @contextmanager
    def closed(self) -> Iterator[None]:
        """No message may be added for as long as a parallel block is under way."""
        self._blocks += 1
        try:
            yield
        finally:
            self._blocks -= 1
