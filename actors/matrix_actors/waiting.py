"""Waiting: with a patience that only runs while this process runs, or for what may never come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

STEPS = 20
"""A patience is measured in so many steps. A process that was stopped, or whose machine slept,
finds one step over when it goes on, however long that was, and not all of them."""


async def patiently(answer: Awaitable[T], seconds: float) -> T:
    """Wait for an answer for this many seconds.

    Raises:
        TimeoutError: There was none.
    """
    waiting = asyncio.ensure_future(answer)
    try:
        for _ in range(STEPS):
            done, _ = await asyncio.wait([waiting], timeout=seconds / STEPS)
            if done:
                return await waiting
    finally:
        waiting.cancel()
    raise TimeoutError(f"no answer in {seconds:g} s")


async def aside(work: Callable[[], T]) -> T:
    """Do something in a thread that nobody waits for when the program ends.

    Ray's calls block in C++ where its head is gone; threads of the event loop would be waited for.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]
        else:
            done.set_exception(error)

    def act() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as raised:  # told to whoever waits
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=act, name="ray-asked", daemon=True).start()
    return await done
