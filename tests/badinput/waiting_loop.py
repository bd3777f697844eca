"""An event loop in which waiting for long takes no time."""

from __future__ import annotations

import asyncio


class WaitingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock a service can put forward, so that whoever waits for it gives up.

    A good answer then has all the time that a busy machine needs, and a time-out comes at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._passed_s = 0.0

    def time(self) -> float:
        return super().time() + self._passed_s

    def pass_time(self, seconds: float) -> None:
        """What was to happen within so many seconds from now happens now."""
        self._passed_s += seconds
