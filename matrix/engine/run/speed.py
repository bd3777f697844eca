"""How fast calls are answered, and how much longer sessions will take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

WINDOW_S = 5.0
"""Seconds over which a rate is taken, where enough is answered in them."""
LONGEST_WINDOW_S = 300.0
"""Seconds at most: a model that answers every minute has a rate as well."""
ENOUGH = 20
"""Answers that a rate is taken from, if so many came within the longest window."""
ETA_FROM = 0.1
"""Share of a life's sessions that must have ended before a time left is worth telling: sessions
run side by side, so the first to end says little about the rest."""


class Speed:
    """Answers per second: of the last few seconds, or of minutes where they are rare."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._points: deque[tuple[float, int]] = deque()

    def per_second(self, answered: int) -> float:
        """The rate, given how many calls have been answered by now."""
        now = self._clock()
        self._points.append((now, answered))
        while len(self._points) > 2 and self._too_old(self._points[1], now, answered):
            self._points.popleft()
        (t0, n0), (t1, n1) = self._points[0], self._points[-1]
        return (n1 - n0) / (t1 - t0) if t1 > t0 else 0.0

    @staticmethod
    def _too_old(point: tuple[float, int], now: float, answered: int) -> bool:
        """Whether what came since this point is enough without what came before it."""
        age, answers = now - point[0], answered - point[1]
        return age >= LONGEST_WINDOW_S or (age >= WINDOW_S and answers >= ENOUGH)


def time_left(played_s: float, ended: int, left: int) -> float | None:
    """Seconds until the rest has ended, by how fast sessions of this life of the run ended.

    Args:
        played_s: Seconds since sessions began to be played in this life.
        ended: Sessions that ended in it.
        left: Sessions that have not ended.

    Returns:
        ``None`` while too few have ended to say it, and when nothing is left.
    """
    if left <= 0 or ended < 1 or ended < ETA_FROM * (ended + left):
        return None
    return played_s / ended * left
