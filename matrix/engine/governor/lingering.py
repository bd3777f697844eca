"""Sessions that stay on while the run drains, though nothing that is paid for keeps them.

A drained run grants no call, so a session is let go as soon as it asks for one. One that waits in
its kind's own code may never ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final

GRACE_S: Final = 10.0
"""How long a session may go on without a call in flight once the run drains, in seconds: enough to
make what it can of its last answer."""


class Lingering:
    """Who is to be let go, and when. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._began = self._look_at = inf
        self._moved: dict[str, float] = {}

    def drains(self, now: float) -> None:
        """The run drains; saying it twice changes nothing."""
        if self._began == inf:
            self._began, self._look_at = now, now + GRACE_S

    def moved(self, session_id: str, now: float) -> None:
        """A session was opened, or a call of it has ended."""
        if self._began < inf:
            self._moved[session_id] = now
            self._look_at = min(self._look_at, now + GRACE_S)

    def due(self, idle: Iterable[str], now: float) -> list[str]:
        """Those to be let go: whoever does not go is named again after another while.

        Args:
            idle: Open sessions without a call in flight; not looked at before it is time.
            now: The time.
        """
        if now < self._look_at:
            return []
        found, self._look_at = [], now + GRACE_S
        for session_id in idle:
            until = self._moved.get(session_id, self._began) + GRACE_S
            if until <= now:
                found.append(session_id)
                self._moved[session_id] = now
            else:
                self._look_at = min(self._look_at, until)
        return found

    def wake_in_s(self, now: float) -> float | None:
        """In how many seconds somebody may be due; ``None`` while the run goes on."""
        return None if self._look_at == inf else max(0.0, self._look_at - now)
