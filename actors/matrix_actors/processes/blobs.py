"""The actor that serves files to other nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from matrix.store.blobs.blob_parts import BlobPart
from matrix.store.blobs.blob_server import BlobServer
from matrix_actors.process_address import ProcessAddress, here
from matrix_actors.processes.actor import actor


@actor
class BlobServerActor:
    """Takes and gives the files of sessions that are played on other nodes.

    Its work is done in threads; it is no part of the governor, which would be late for it.
    """

    def __init__(self, run_dir: str) -> None:
        self._server = BlobServer(Path(run_dir))

    async def start(self) -> ProcessAddress:
        """Nothing is to be prepared; returns which process this is."""
        return here()

    async def keep(self, digests: Sequence[str]) -> list[str]:
        return await asyncio.to_thread(self._server.keep, digests)

    async def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        await asyncio.to_thread(self._server.take, sender, parts)

    async def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        return await asyncio.to_thread(self._server.give, digests, offset)

    async def stop(self) -> None:
        """What it was told is durable is so."""

    async def serve(self) -> None:
        """Parks for ever; see :meth:`GovernorActor.serve`."""
        await asyncio.Event().wait()
