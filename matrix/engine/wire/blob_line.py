"""A line to whoever serves the run's blobs now, for threads: it outlasts the server's death."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition
from typing import TypeVar

from matrix.engine.wire.link import ServerGone
from matrix.store.blobs.blob_parts import BlobPart
from matrix.store.blobs.blob_server import BlobPort

T = TypeVar("T")


class BlobLine:
    """A :class:`BlobPort` over ports that die. What a dead one was asked, its successor is asked.

    Whoever asks while there is no successor waits for one; :meth:`close` ends that.
    """

    def __init__(self, port: BlobPort) -> None:
        """``port`` raises :class:`ServerGone` when its process has died."""
        self._port = port
        self._changed = Condition()
        self._closed = False

    def reconnect(self, port: BlobPort) -> None:
        """Another server stands in the place of one that died."""
        with self._changed:
            self._port = port
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody waits for a successor any more: who does, or would, gets :class:`ServerGone`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def keep(self, digests: Sequence[str]) -> list[str]:
        """See :class:`BlobPort`."""
        return self._ask(lambda port: port.keep(digests))

    def take(self, sender: str, parts: Sequence[BlobPart]) -> None:
        """See :class:`BlobPort`."""
        self._ask(lambda port: port.take(sender, parts))

    def give(self, digests: Sequence[str], offset: int) -> list[BlobPart]:
        """See :class:`BlobPort`."""
        return self._ask(lambda port: port.give(digests, offset))

    def _ask(self, ask: Callable[[BlobPort], T]) -> T:
        while True:
            port = self._port
            try:
                return ask(port)
            except ServerGone:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._port is not port)  # noqa: B023
                    if self._closed:
                        raise
