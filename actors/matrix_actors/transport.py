"""Post and poll over actor calls, one ref in flight for each; and blobs, in bounded parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from matrix.engine.wire.link import Mail, ServerGone
from matrix.store.blobs.blob_parts import BlobPart

PAUSE_S = 0.2
"""Pause before an actor that cannot be reached is asked again."""


class RayTransport:
    """Reaches an actor that has ``post`` and ``poll`` methods."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        await self._reach(self._actor.post.remote(peer, number, batch))

    async def poll(self, peer: str, after: int) -> Mail:
        mail: Mail = await self._reach(self._actor.poll.remote(peer, after))
        return mail

    async def _reach(self, reply: Any) -> Any:
        # not with the others: Ray reads its settings when it is first imported
        from ray.exceptions import RayActorError, RayTaskError

        try:
            return await reply
        except RayActorError as error:
            raise ServerGone("the process of this actor has died") from error
        except RayTaskError as error:
            raise error.cause from None


class RayBlobs:
    """Reaches the actor that serves the run's blobs, from any thread but an event loop's."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def keep(self, digests: Sequence[str]) -> list[str]:
        missing: list[str] = self._reach(lambda actor: actor.keep.remote(digests))
        return missing

    def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        self._reach(lambda actor: actor.take.remote(sender, parts))

    def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        parts: list[BlobPart] = self._reach(lambda actor: actor.give.remote(digests, offset))
        return parts

    def _reach(self, ask: Callable[[Any], Any]) -> Any:
        import ray
        from ray.exceptions import (
            ActorUnavailableError,
            ObjectLostError,
            RayActorError,
            RayTaskError,
        )

        while True:
            try:
                return ray.get(ask(self._actor))
            except (ActorUnavailableError, ObjectLostError):
                time.sleep(PAUSE_S)  # the network, not the actor; everything may be asked twice
            except RayActorError as error:
                raise ServerGone("the process of this actor has died") from error
            except RayTaskError as error:
                raise error.cause from None
