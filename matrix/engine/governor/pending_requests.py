"""What is asked for sessions that are open, but of which this governor has not been told yet.

A governor that takes over from a dead one knows their ids from the journal, and nothing of where
they stand until their worker rejoins or another takes them on. Until then their messages wait.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from matrix.engine.wire.messages import Acquire, Settle, Supply

Repeated: TypeAlias = Acquire | Supply | Settle
"""A message that the peers of a dead governor say again to the next."""


class PendingRequests:
    """Messages that wait for their session, in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[tuple[str, Repeated]]] = {}

    def expect(self, session_ids: Iterable[str]) -> None:
        """Sessions that an earlier governor had open."""
        self._waiting = {session_id: [] for session_id in session_ids}

    def keep(self, peer: str, message: Repeated) -> bool:
        """Let a message wait; ``False`` if its session is not expected."""
        waiting = self._waiting.get(message.key.session_id)
        if waiting is None:
            return False
        waiting.append((peer, message))
        return True

    def found(self, session_id: str) -> list[tuple[str, Repeated]]:
        """A session is there: what has waited for it, with who said it."""
        return self._waiting.pop(session_id, [])

    def forget(self, peer: str) -> None:
        """A process is dead, and so is what it asked for."""
        for session_id, waiting in self._waiting.items():
            self._waiting[session_id] = [said for said in waiting if said[0] != peer]

    def give_up(self) -> Iterator[tuple[str, Repeated]]:
        """Expect nobody any more; gives everything that has waited."""
        waiting, self._waiting = self._waiting, {}
        return itertools.chain(*waiting.values())
