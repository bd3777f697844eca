"""The actor of a provider's client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from matrix.engine.calls.provider_client import ProviderClient
from matrix.engine.wire.link import Mail
from matrix.engine.wire.messages import LogLine
from matrix.engine.wire.setup import RunSetup
from matrix.engine.wire.telemetry_events import telemetry_of
from matrix.telemetry.log import Forward
from matrix_actors.process_address import ProcessAddress, here
from matrix_actors.processes.actor import actor, once_begun, settle_down
from matrix_actors.transport import RayTransport
from matrix_actors.variables import take_variables


@actor
class ProviderClientActor:
    """Talks to models."""

    def __init__(
        self, name: str, provider: str, setup: RunSetup, governor: Any, variables: str
    ) -> None:
        """``variables`` is where the driver gives its keys to processes on its machine."""
        self._name, self._provider, self._setup = name, provider, setup
        self._variables = variables
        self._begun = asyncio.Event()
        self._transport = RayTransport(governor)

    async def start(self) -> ProcessAddress:
        """Begin to work; returns which process this is."""
        await take_variables(self._variables, os.environ)
        forward = Forward()
        self._telemetry = telemetry_of(self._setup, self._name, sends=True, forward=forward)
        self._client = ProviderClient(
            self._name, self._provider, self._setup, self._transport, self._telemetry
        )
        self._client.start()
        forward.attach(lambda line: self._client.send(LogLine(line)))
        settle_down()  # litellm alone is 300,000 objects to look through
        self._begun.set()
        return here()

    @once_begun
    async def reconnect(self, governor: Any) -> None:
        await self._client.reconnect(RayTransport(governor))

    @once_begun
    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        await self._client.post(peer, number, batch)

    @once_begun
    async def poll(self, peer: str, after: int) -> Mail:
        return await self._client.poll(peer, after)

    async def stop(self) -> None:
        await self._client.stop()
        await self._telemetry.close()

    @once_begun
    async def serve(self) -> None:
        """Parks until talking to the governor fails."""
        await self._client.failed()
