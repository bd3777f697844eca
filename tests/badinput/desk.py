"""Callers at a provider host and a governor's core whose clock moves only when everybody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from matrix.admission.rates import RateGroup
from matrix.admission.tariffs import Tariff
from matrix.engine.calls.provider_host import ProviderHost
from matrix.engine.governor.core import GovernorCore
from matrix.engine.governor.history import NOTHING_KNOWN
from matrix.engine.wire.messages import Granted, Recorded, Refused, ToGovernor
from matrix.engine.wire.setup import ModelEntry
from matrix.model.entries import Entry, Settled
from matrix.model.money import NanoUSD
from matrix.model.records import Call
from matrix.providers.base import ProviderReply
from matrix.providers.scripted import Handler, ScriptedProvider
from tests.engine.plans import GROUP, MODEL, USD, plan

PEER = "host"


class Sent(NamedTuple):
    """One attempt on its way to the model."""

    at: float
    call: Call


class Desk:
    """Everything between a call and its provider, in virtual time."""

    def __init__(
        self,
        handler: Handler,
        tariff: Tariff,
        *,
        cap: NanoUSD = 1_000 * USD,
        group: RateGroup | None = None,
        attempts: int = 3,
    ) -> None:
        self.core = GovernorCore(cap, {GROUP: group or RateGroup()})
        self.core.open_session(PEER, plan(), NOTHING_KNOWN, NOTHING_KNOWN.snapshot, 0.0, 0.0)
        self.now, self.sent = 0.0, list[Sent]()
        self.entries: list[Entry] = list(self.core.tick(0.0, 0.0).entries)
        self.most_held: NanoUSD = 0
        self._wake_in: float | None = None
        self._provider = ScriptedProvider(handler)
        models: Mapping[str, ModelEntry] = {MODEL: ModelEntry("litellm", "m", tariff, GROUP)}
        self.host = ProviderHost(
            {"litellm": self},
            models,
            self._send,
            attempts=attempts,
            sleep=self._sleep,
            clock=lambda: self.now,
        )

    @property
    def settled(self) -> list[Settled]:
        """How every attempt has ended, in order."""
        return [entry for entry in self.entries if isinstance(entry, Settled)]

    async def complete(self, call: Call, attempt: int) -> ProviderReply:
        """Note when an attempt is sent, and answer as the handler says."""
        self.sent.append(Sent(self.now, call))
        return await self._provider.complete(call, attempt)

    async def serve(self, calls: list[Call], until: float = 1e9) -> list[object]:
        """Ask all of these at once; whenever everybody waits, time goes on to the next event."""
        asking = [asyncio.ensure_future(self.host.ask(call)) for call in calls]
        while self.now < until and not all(task.done() for task in asking):
            before = len(self.entries)
            for _ in range(12):
                await asyncio.sleep(0)
            if len(self.entries) == before and self._wake_in is not None:
                self.now += self._wake_in
                self._tick()
        for task in asking:
            task.cancel()
        return await asyncio.gather(*asking, return_exceptions=True)

    def _send(self, message: ToGovernor) -> None:
        self.core.handle(PEER, message, self.now, 0.0)
        self._tick()

    def _tick(self) -> None:
        tick = self.core.tick(self.now, 0.0)
        self.entries += tick.entries
        self.most_held = max(self.most_held, self.core.ledger.held)
        self._wake_in = tick.wake_in_s
        self.core.sent(tick.mail)
        for _, letter in tick.mail:
            if isinstance(letter, Granted | Recorded | Refused):
                asyncio.get_running_loop().call_soon(self.host.deliver, letter)

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)
