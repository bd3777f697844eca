"""Effects: what a session does to the world, done once as far as that can be had.

An effect is recorded like the answer of a call: under (session, phase, turn, slot), with its result
and the tree of the working folder that it left. The session goes on when the record is on the disk;
taken up again, it is given the result and the folder. An effect without a record is done, also if
it was begun before: at least once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

import orjson

from matrix.engine.session.workspace import Workspace
from matrix.engine.wire.messages import EffectSaved, SaveEffect
from matrix.engine.wire.storable import MAX_REASON
from matrix.model.entries import Acted
from matrix.model.errors import CallFailed, DigestMismatch, MatrixError
from matrix.model.records import JSON, CallKey, Failure, storable_text
from matrix.model.seeds import content_hash

Act = Callable[[], Awaitable[JSON]]


class EffectDesk:
    """A worker's side: records go to the governor, which says when they are durable."""

    def __init__(self, send: Callable[[SaveEffect], None]) -> None:
        self._send = send
        self._waiting: dict[CallKey, tuple[Acted, asyncio.Future[None]]] = {}

    async def save(self, acted: Acted) -> None:
        """Record an effect; returns when it is on the disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[acted.key] = (acted, done)
        self._send(SaveEffect(acted))
        await done

    def saved(self, message: EffectSaved) -> None:
        """The governor has answered."""
        _, done = self._waiting.pop(message.key, (None, None))
        if done is not None and not done.done():
            done.set_result(None)

    def unanswered(self) -> list[SaveEffect]:
        """What to say again to another governor."""
        return [SaveEffect(acted) for acted, _ in self._waiting.values()]


class Effects:
    """The effects of one session."""

    def __init__(
        self,
        recorded: Iterable[Acted],
        save: Callable[[Acted], Awaitable[None]],
        *,
        utc: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._recorded = {acted.key: acted for acted in recorded}
        self._save, self._utc, self._clock = save, utc, clock
        self.workspace: Workspace | None = None

    def check_call(self, key: CallKey) -> None:
        """A model is about to be asked at this place.

        Raises:
            DigestMismatch: An effect was recorded here.
        """
        if (acted := self._recorded.get(key)) is not None:
            raise DigestMismatch(
                f"at {key} the effect {acted.name!r} was recorded, and now a model is asked: the "
                "code changed under the session"
            )

    async def do(self, key: CallKey, name: str, arguments: JSON, act: Act) -> JSON:
        """The result of an effect: the recorded one, or that of doing it now.

        Raises:
            CallFailed: It raised, now or then.
            DigestMismatch: Another effect was recorded at this place.
            SessionStop: What it left in the folder cannot be kept.
        """
        digest = content_hash(["effect", name, arguments])
        acted = self._recorded.get(key)
        if acted is None:
            acted = await self._act(key, name, digest, act)
        elif acted.digest != digest:
            what = "with other arguments" if acted.name == name else f"as {acted.name!r}"
            raise DigestMismatch(
                f"effect {name!r} at {key} was recorded {what}: the code changed under the session"
            )
        elif self.workspace is not None:
            await self.workspace.restore(acted.tree)
        if acted.failure is not None:
            raise CallFailed(acted.failure.error_class, acted.failure.message)
        return acted.result

    async def _act(self, key: CallKey, name: str, digest: str, act: Act) -> Acted:
        began, workspace = self._clock(), self.workspace
        stored_before = 0 if workspace is None else workspace.stored_bytes
        result: JSON = None
        failure = None
        try:
            # as it will be read again, so that a session that goes on sees the same values
            result = orjson.loads(orjson.dumps(await act()))
        except MatrixError:
            raise
        except Exception as error:
            text = storable_text(str(error)[:MAX_REASON])
            failure = Failure(type(error).__name__, f"effect {name!r}: {text}")
        tree = "" if workspace is None else await workspace.store()
        took_s = round(self._clock() - began, 6)
        changed = 0 if workspace is None else workspace.stored_bytes - stored_before
        acted = Acted(key, name, digest, result, failure, tree, took_s, self._utc(), changed)
        await self._save(acted)
        return acted
