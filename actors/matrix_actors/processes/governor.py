"""The actor of money, rates and the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from matrix.engine.governor.core import LostSession
from matrix.engine.governor.governor import Governor
from matrix.engine.wire.link import Mail
from matrix.engine.wire.messages import Picture
from matrix.engine.wire.setup import RunSetup
from matrix.engine.wire.telemetry_events import telemetry_of
from matrix.model.entries import Looked
from matrix.model.records import SessionPlan
from matrix_actors.process_address import ProcessAddress, here
from matrix_actors.processes.actor import actor, once_begun, settle_down


@actor
class GovernorActor:
    """Money, rates and the journal."""

    def __init__(self, setup: RunSetup, alive: Sequence[str] = ()) -> None:
        """``alive`` are the processes that outlived the governor which this one replaces."""
        self._setup, self._alive = setup, alive
        self._begun = asyncio.Event()

    async def start(self) -> ProcessAddress:
        """Open the journal and begin to work; returns which process this is."""
        self._telemetry = telemetry_of(self._setup, "governor")
        self._governor = Governor(self._setup, alive=self._alive, log=self._telemetry.log)
        self._governor.start()
        settle_down()
        self._begun.set()
        return here()

    @once_begun
    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        await self._governor.post(peer, number, batch)

    @once_begun
    async def poll(self, peer: str, after: int) -> Mail:
        return await self._governor.poll(peer, after)

    @once_begun
    async def picture(self) -> Picture:
        return self._governor.picture()

    @once_begun
    async def drain(self) -> None:
        self._governor.drain()

    @once_begun
    async def record(self, look: Looked) -> None:
        await self._governor.record(look)

    @once_begun
    async def lose(self, peer: str) -> list[LostSession]:
        return await self._governor.lose(peer)

    @once_begun
    async def end_poisoned(self, plan: SessionPlan, reason: str) -> None:
        await self._governor.end_poisoned(plan, reason)

    async def stop(self) -> None:
        await self._governor.stop()
        await self._telemetry.close()

    @once_begun
    async def serve(self) -> None:
        """Parks for ever; its failure tells the driver that this process is gone."""
        await asyncio.Event().wait()
