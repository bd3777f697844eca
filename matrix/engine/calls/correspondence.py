"""What a provider host has said to the governor and still awaits a word on, and what is out.

The governor answers by mail, at most once per question and perhaps only after it has been replaced:
a new one is told again whatever has not been answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from matrix.engine.calls.attempts import NO_USAGE
from matrix.engine.wire.messages import (
    Acquire,
    Granted,
    Recorded,
    Refused,
    Settle,
    StillOut,
    Supply,
    ToGovernor,
)
from matrix.model.entries import Disposition
from matrix.model.records import CallKey

Said: TypeAlias = Granted | Recorded | Refused
"""What the governor says about a call."""


class _Asked(NamedTuple):
    """A message that the governor will answer, and where its answer is waited for."""

    message: Acquire | Settle | Supply
    future: asyncio.Future[Said]


class Correspondence:
    """Questions and settlements to the governor; one question per call at a time."""

    def __init__(self, send: Callable[[ToGovernor], None]) -> None:
        self._send = send
        self._expected: dict[CallKey, _Asked] = {}
        self._out: set[int] = set()

    def deliver(self, message: Said) -> None:
        """Hand over mail from the governor."""
        asked = self._expected.pop(message.key, None)
        if isinstance(message, Granted):
            self._out.add(message.hold_id)
        if asked is not None and not asked.future.done():
            asked.future.set_result(message)
        elif isinstance(message, Granted):  # whoever asked has gone; nothing was sent
            self.give_up(message, "released", 0.0)

    def resume(self) -> list[ToGovernor]:
        """What a new governor must hear: attempts that are out, and what still waits for a word."""
        waiting = [asked.message for asked in self._expected.values() if not asked.future.done()]
        return [StillOut(tuple(sorted(self._out))), *waiting]

    async def exchange(self, message: Acquire | Settle | Supply) -> Said:
        """Say something, and wait for what the governor says to it."""
        future: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self._expected[message.key] = _Asked(message, future)
        if isinstance(message, Settle):
            self.settle(message)
        else:
            self._send(message)
        try:
            return await future
        except asyncio.CancelledError:  # perhaps just when the word had come
            said = future.result() if future.done() and not future.cancelled() else None
            if isinstance(said, Granted):
                self.give_up(said, "released", 0.0)
            raise

    def settle(self, message: Settle) -> None:
        """Say how an attempt ended, without waiting for a word."""
        self._out.discard(message.hold_id)
        self._send(message)

    def give_up(self, grant: Granted, disposition: Disposition, took_s: float) -> None:
        """End an attempt whose caller was cancelled; its call may be asked again."""
        self.settle(
            Settle(grant.key, grant.hold_id, disposition, 0, NO_USAGE, took_s, "Cancelled", None)
        )
