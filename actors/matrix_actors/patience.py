"""Waiting for an answer, with a patience that only runs while this process runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
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
