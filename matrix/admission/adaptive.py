"""How many requests at once, where nobody has said: found out by trying, cut back by 429s.

The limit starts low, doubles after every clean round of requests while it is being used, and grows
slowly once a 429 has been seen. A 429 cuts it to four fifths, at most once in a while, because
the requests that were already in flight will bring more of them. Latency plays no part: with
language models it follows the length of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

START = 20.0
GROWTH_FIRST, GROWTH_LATER = 2.0, 1.05
CUT = 0.8
CUT_PAUSE_S = 15.0
"""A second 429 within this time does not cut again."""
USED_SHARE = 0.8
"""The limit grows only if this share of it was in flight at some moment of the round."""


@dataclass(slots=True)
class AdaptiveConcurrency:
    """A concurrency limit that looks for its own value, between 1 and ``ceiling``."""

    ceiling: int
    limit: float = START
    _growth: float = GROWTH_FIRST
    _left_in_round: int = int(START)
    _peak: int = 0
    _clean: bool = True
    _last_cut: float = field(default=float("-inf"))

    @property
    def allowed(self) -> int:
        """Requests that may be in flight now."""
        return max(1, min(self.ceiling, int(self.limit)))

    def started(self, in_flight: int) -> None:
        """A request was sent; ``in_flight`` counts it."""
        self._peak = max(self._peak, in_flight)

    def finished(self, in_flight: int) -> None:
        """A request is over, however it went; ``in_flight`` are those still out."""
        self._left_in_round -= 1
        if self._left_in_round > 0:
            return
        if self._clean and self._peak >= USED_SHARE * self.allowed:
            grown = max(self.limit * self._growth, self.limit + 1.0)
            self.limit = min(float(self.ceiling), grown)
        self._left_in_round, self._peak, self._clean = self.allowed, in_flight, True

    def limited(self, now: float) -> None:
        """The provider answered 429."""
        self._clean = False
        self._growth = GROWTH_LATER
        if now - self._last_cut >= CUT_PAUSE_S:
            self.limit = max(1.0, self.limit * CUT)
            self._last_cut = now
