"""Signals by which somebody asks for the end: Ctrl-C, ``kill``, a terminal that was closed.

They are heard in the event loop. A kind's code that lets nothing else run in this process keeps the
loop from hearing anything, so a thread sees that the second one ends the process all the same.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; what ``kill``, service managers and containers send; a terminal that went away."""

UNHEARD_S: Final = 1.0
"""How long the loop may take to hear of a signal before it is taken to hear of nothing."""


class Insistence:
    """Counts signals as they are caught, in a thread of its own.

    Args:
        unheard: The loop does not hear of the first.
        end_now: It does not hear of the second either, or there is a third: whatever was to end in
            order does not.
    """

    def __init__(self, unheard: Callable[[], None], end_now: Callable[[], None]) -> None:
        self._unheard, self._end_now = unheard, end_now
        self._caught: SimpleQueue[bool] = SimpleQueue()  # which may be put into by a signal handler
        self._heard, self._over = threading.Semaphore(0), False
        threading.Thread(target=self._watch, name="signals", daemon=True).start()

    def caught(self, *_: object) -> None:
        """A signal has come, whatever this process is doing."""
        self._caught.put(True)

    def heard(self) -> None:
        """The loop has heard of one."""
        self._heard.release()

    def close(self) -> None:
        """Nobody minds any more: the run is over, and the loop need not hear of what just came."""
        self._over = True
        self._caught.put(False)

    def _watch(self) -> None:
        asked = missed = 0
        while self._caught.get() and not self._over:
            asked += 1
            if asked > 2:
                self._end_now()
            while missed and self._heard.acquire(blocking=False):
                missed -= 1  # it was late
            if self._heard.acquire(timeout=UNHEARD_S):
                continue
            if self._over:
                return
            missed += 1
            (self._unheard if asked == 1 else self._end_now)()


@contextmanager
def interrupts(
    interrupted: Callable[[], None],
    *,
    unheard: Callable[[], None],
    end_now: Callable[[], None],
    on_terminal: Callable[[], bool] | None = None,
) -> Iterator[None]:
    """Have ``interrupted`` called in the running loop for every signal that asks for the end.

    ``on_terminal`` is asked first about Ctrl-C, and says whether it means somebody else: a program
    of the run's that has the terminal. ``unheard`` and ``end_now`` are those of
    :class:`Insistence`, called in a thread of its own.

    A ``SIGHUP`` that is ignored stays so: that is what ``nohup`` is for. Outside the main thread
    signals belong to somebody else, and nothing is changed.
    """
    insistence = Insistence(unheard, end_now)

    def asked() -> None:
        insistence.heard()
        interrupted()

    def pressed() -> None:
        if on_terminal is None:
            asked()
        elif not on_terminal():
            interrupted()

    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}
    try:
        for number in ENDING:
            handler = signal.getsignal(number)
            if number is signal.SIGHUP and handler is signal.SIG_IGN:
                continue
            loop.add_signal_handler(number, pressed if number is signal.SIGINT else asked)
            before[number] = signal.SIG_DFL if handler is None else handler
            if number is not signal.SIGINT or on_terminal is None:
                signal.signal(number, insistence.caught)  # beside the loop, which is woken as well
    except (ValueError, RuntimeError, NotImplementedError):
        pass  # not the main thread: the caller handles interrupts
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
        insistence.close()
