"""How fast calls are answered."""

from __future__ import annotations

from collections.abc import Callable

WINDOW_S = 5.0


class Speed:
    """Calls per second over the last few seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._points: list[tuple[float, int]] = []

    def per_second(self, answered: int) -> float:
        """The rate, given how many calls have been answered by now."""
        now = self._clock()
        self._points.append((now, answered))
        while len(self._points) > 2 and now - self._points[0][0] > WINDOW_S:
            self._points.pop(0)
        (t0, n0), (t1, n1) = self._points[0], self._points[-1]
        return (n1 - n0) / (t1 - t0) if t1 > t0 else 0.0
