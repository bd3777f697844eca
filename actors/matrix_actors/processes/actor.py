"""What all actors have in common."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

import ray

T = TypeVar("T")

MAX_CONCURRENCY = 1000
"""Actor calls under way at once; two are parked per peer."""

actor: Any = ray.remote(
    num_cpus=0,
    max_restarts=0,
    max_task_retries=0,
    max_concurrency=MAX_CONCURRENCY,
    enable_task_events=False,  # Ray's GCS would keep 3 kB of every call, on others' clusters too
)


def settle_down() -> None:
    """Keep the collector off what was loaded at start-up, and let it look less often.

    These processes make many short-lived values and no cycles to speak of; collecting took a
    tenth of their time (see docs/performance.md).
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def once_begun(method: Callable[..., Awaitable[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    """Of an actor that others know before it has begun to work: they wait until then."""

    @wraps(method)
    async def waiting(self: Any, *args: Any) -> T:
        await self._begun.wait()
        return await method(self, *args)

    return waiting
