"""Keeps a log short when the same thing goes wrong ten thousand times."""

from __future__ import annotations

from dataclasses import dataclass

BURST = 20
"""Lines of one kind that may come at once."""

EVERY_S = 10.0
"""Seconds until one more line of that kind may come."""


@dataclass(slots=True)
class _Kind:
    room: float
    at: float
    held_back: int = 0


class Flood:
    """Says whether a line may be written; counts those that may not. Times are seconds."""

    def __init__(self, burst: int = BURST, every_s: float = EVERY_S) -> None:
        self._burst, self._every_s = burst, every_s
        self._kinds: dict[str, _Kind] = {}

    def admit(self, kind: str, now: float) -> int | None:
        """How many lines of this kind were held back before this one; ``None`` holds it back."""
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = _Kind(float(self._burst), now)
        known.room = min(self._burst, known.room + max(0.0, now - known.at) / self._every_s)
        known.at = now
        if known.room < 1.0:
            known.held_back += 1
            return None
        known.room -= 1.0
        held_back, known.held_back = known.held_back, 0
        return held_back

    def left(self) -> dict[str, int]:
        """Kind -> lines held back that no later line has told of."""
        return {name: kind.held_back for name, kind in self._kinds.items() if kind.held_back}
