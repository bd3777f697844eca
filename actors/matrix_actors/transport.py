"""Post and poll over actor calls. One ref in flight for each; answers stay small and many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matrix.engine.link import Mail, ServerGone


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
