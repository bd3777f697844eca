"""The actor that makes tables."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from matrix.engine.executors.executor import publishing
from matrix.model.plan import Plan
from matrix_actors.process_address import ProcessAddress, here
from matrix_actors.processes.actor import actor

if TYPE_CHECKING:
    from matrix.store.tables.publisher import Publisher


@actor
class PublisherActor:
    """Makes Parquet tables from the journal."""

    def __init__(self, run_dir: str) -> None:
        self._run_dir = Path(run_dir)
        self._publisher: Publisher | None = None
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()

    async def start(self) -> ProcessAddress:
        """Nothing is loaded that sessions would wait for; returns which process this is."""
        return here()

    async def finish(self, plan: Plan, reason: str) -> None:
        """Stop following the journal and write the final tables."""
        self._closing.set()
        await self._closed.wait()
        publisher = await self._opened()
        planned = (session for planned in plan.all_rounds() for session in planned.sessions)
        await asyncio.to_thread(publisher.finalize, planned, reason)

    async def serve(self) -> None:
        """Follow the journal until told to finish."""
        try:
            await publishing(self._closing, self._publish)
        finally:
            self._closed.set()

    async def _publish(self) -> None:
        publisher = await self._opened()
        await asyncio.to_thread(publisher.step, flush=True)

    async def _opened(self) -> Publisher:
        """The publisher, which has taken the tables over."""
        if self._publisher is None:
            self._publisher = await asyncio.to_thread(_open, self._run_dir)
        return self._publisher


def _open(run_dir: Path) -> Publisher:
    from matrix.engine.executors.publishing import open_publisher  # only here Arrow is loaded

    return open_publisher(run_dir)
