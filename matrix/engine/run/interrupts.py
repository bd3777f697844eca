"""Signals by which somebody asks for the end: Ctrl-C, ``kill``, a terminal that was closed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; what ``kill``, service managers and containers send; a terminal that went away."""


@contextmanager
def interrupts(
    interrupted: Callable[[], None], *, on_terminal: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Have ``interrupted`` called in the running loop for every signal that asks for the end.

    ``on_terminal`` is asked first about Ctrl-C, and says whether it means somebody else: a program
    of the run's that has the terminal.

    A ``SIGHUP`` that is ignored stays so: that is what ``nohup`` is for. Outside the main thread
    signals belong to somebody else, and nothing is changed.
    """

    def pressed() -> None:
        if on_terminal is None or not on_terminal():
            interrupted()

    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}
    try:
        for number in ENDING:
            handler = signal.getsignal(number)
            if number is signal.SIGHUP and handler is signal.SIG_IGN:
                continue
            loop.add_signal_handler(number, pressed if number is signal.SIGINT else interrupted)
            before[number] = signal.SIG_DFL if handler is None else handler
    except (ValueError, RuntimeError, NotImplementedError):
        pass  # not the main thread: the caller handles interrupts
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
