"""A clock that never goes back, whatever the one below it does."""

from __future__ import annotations

from collections.abc import Callable


def onward(clock: Callable[[], float]) -> Callable[[], float]:
    """The same clock, for which a jump back is as if time had stood still for a moment.

    Monotonic clocks promise that they do not jump back; virtual machines that are moved have been
    seen to break the promise. Then a pause until some time would last for as long as the jump.
    """
    last = clock()
    behind = 0.0

    def now() -> float:
        nonlocal last, behind
        read = clock()
        if read < last:
            behind += last - read
        last = read
        return read + behind

    return now
