"""Waiting for something to be true, for a bounded time; the only waiting that tests do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from tests.waiting import LONGEST_WAIT_S as LONGEST_WAIT_S


async def until(condition: Callable[[], bool], patience_s: float = LONGEST_WAIT_S) -> None:
    """Return once ``condition`` holds; fail if it does not in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        await asyncio.sleep(0.001)


async def settled(turns: int = 20) -> None:
    """Let everything that is ready run: a few turns of the loop, no time."""
    for _ in range(turns):
        await asyncio.sleep(0)
