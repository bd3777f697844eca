"""The governor: one process that owns the journal, the money and the rate limits of a run.

This is the shell around :class:`GovernorCore`: it receives batches, lets the core decide, makes
the decisions durable in one transaction, and only then sends the mail. While a transaction is
being written, more batches gather; they are the next one. Nobody waits inside a method call.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from matrix.admission.adaptive import AdaptiveConcurrency
from matrix.admission.breaker import CircuitBreaker
from matrix.admission.rates import Bucket, RateGroup, per_minute
from matrix.engine.books import PartCaps, presumed_entry
from matrix.engine.catalogue import SIMULATED
from matrix.engine.governor_core import DRIVER, GovernorCore
from matrix.engine.governor_watch import GovernorWatch
from matrix.engine.history import NOTHING_KNOWN, fold_money, fold_session
from matrix.engine.link import Mail, Mailboxes
from matrix.engine.messages import OpenSession, Picture, RunFailed, ToGovernor
from matrix.engine.setup import GroupLimits, RunSetup
from matrix.model.entries import Ended
from matrix.model.errors import MatrixError
from matrix.model.records import JSON
from matrix.store.journal import JOURNAL_NAME, JournalWriter
from matrix.telemetry.log import NO_LOG, Log

MOST_IN_FLIGHT = 1000
"""Where a limit group looks for its own concurrency, it never goes above this."""

PRELUDES_KEPT = 1024
"""Results of preludes kept in memory; older ones are read from the journal again."""


class Governor:
    """One run's governor. Create it, ``start`` it on a running loop, ``stop`` it at the end."""

    def __init__(
        self,
        setup: RunSetup,
        *,
        clock: Callable[[], float] = time.monotonic,
        utc: Callable[[], float] = time.time,
        log: Log = NO_LOG,
    ) -> None:
        """Open the journal for writing and take up where it stands.

        Raises:
            RunLocked: The run is alive in another process.
            StoreError: The journal cannot be opened.
        """
        self._clock, self._utc = clock, utc
        self._journal = JournalWriter(Path(setup.run_dir) / JOURNAL_NAME)
        self._journal.add_resources(setup.resources)
        money = fold_money(row.entry for row in self._journal.rows())
        lost = [presumed_entry(held.hold_id, held, utc()) for held in money.open_holds]
        if lost:
            self._journal.append(lost)
            money = fold_money(row.entry for row in self._journal.rows())
        fresh = money.history.last_hold_id == 0
        groups = _rate_groups(setup, clock(), fresh=fresh)
        parts = PartCaps(setup.session_cap_nano, setup.role_caps_nano)
        self._core = GovernorCore(setup.cap_nano, groups, money.history, parts)
        self._watch = GovernorWatch(log, groups, self._core.ledger.balance)
        self._watch.look(lost, self._core.ledger.balance, clock())
        self._mailboxes = Mailboxes()
        self._inbox: list[tuple[str, ToGovernor]] = []
        self._preludes: OrderedDict[str, tuple[JSON, str]] = OrderedDict()
        self._wake = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None
        self._failed = False
        self._idle = asyncio.Event()
        self._idle.set()

    def start(self) -> None:
        """Begin to work; needs a running event loop."""
        self._pump = asyncio.create_task(self._run(), name="governor")

    async def post(self, peer: str, number: int, batch: Sequence[ToGovernor]) -> None:
        """Take a batch; returns at once, and answers come by mail."""
        if self._mailboxes.is_new(peer, number):
            self._inbox += [(peer, message) for message in batch]
            self._idle.clear()
            self._wake.set()

    async def poll(self, peer: str, after: int) -> Mail:
        """Mail for this peer; parks until there is some."""
        return await self._mailboxes.collect(peer, after)

    def picture(self) -> Picture:
        """The state of money, rates and sessions now."""
        return self._core.picture()

    def drain(self) -> None:
        """Grant nothing more; what is in flight settles, sessions are let go."""
        self._core.drain()
        self._idle.clear()
        self._wake.set()

    async def stop(self) -> None:
        """Finish what has been received, then close the journal."""
        if not self._failed:
            self._wake.set()
            await self._idle.wait()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        self._mailboxes.close()
        self._journal.close()

    async def _run(self) -> None:
        try:
            wake_in: float | None = None
            while True:
                await self._wait(wake_in)
                wake_in = await self._step()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the run cannot go on; the driver must hear why
            self._failed = True
            self._idle.set()
            name = type(error).__name__
            text = str(error) if isinstance(error, MatrixError) else f"{name}: {error}"
            self._mailboxes.deliver(DRIVER, [RunFailed(name, text)])
            if not isinstance(error, MatrixError):
                raise

    async def _wait(self, wake_in: float | None) -> None:
        if not self._wake.is_set():
            self._idle.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), wake_in)
        self._idle.clear()
        self._wake.clear()

    async def _step(self) -> float | None:
        batch, self._inbox = self._inbox, []
        now, at = self._clock(), self._utc()
        for peer, message in batch:
            if isinstance(message, OpenSession):
                self._open(peer, message, at)
            else:
                self._core.handle(peer, message, now, at)
        tick = self._core.tick(now, at)
        if tick.entries:
            for entry in tick.entries:
                if isinstance(entry, Ended) and entry.result is not None:
                    self._keep_prelude(entry)
            await asyncio.to_thread(self._journal.append, tick.entries)
        self._core.sent(tick.mail)
        self._watch.look(tick.entries, self._core.ledger.balance, now)
        by_peer: dict[str, list[object]] = {}
        for peer, letter in tick.mail:
            by_peer.setdefault(peer, []).append(letter)
        for peer, messages in by_peer.items():
            self._mailboxes.deliver(peer, messages)
        return tick.wake_in_s

    def _open(self, peer: str, message: OpenSession, at: float) -> None:
        plan = message.plan
        if self._journal.knows(plan.session_id):
            past = fold_session(self._journal.session(plan.session_id))
        else:
            past = NOTHING_KNOWN
        snapshot = past.snapshot
        if plan.prelude_id is not None:
            made, failure = self._prelude(plan.prelude_id)
            snapshot = snapshot._replace(prelude=made, prelude_failure=failure)
        self._core.open_session(peer, plan, snapshot, past.answers, past.attempts, past.spent, at)

    def _prelude(self, session_id: str) -> tuple[JSON, str]:
        """What a prelude made, and why it failed if it did."""
        if session_id not in self._preludes:
            ends = [e for e in self._journal.session(session_id) if isinstance(e, Ended)]
            if not ends:
                return None, "it has not ended"
            self._keep_prelude(ends[-1])
        return self._preludes[session_id]

    def _keep_prelude(self, ended: Ended) -> None:
        failure = "" if ended.outcome == "completed" else f"{ended.error_class}: {ended.reason}"
        self._preludes[ended.session_id] = (ended.result, failure)
        while len(self._preludes) > PRELUDES_KEPT:
            self._preludes.popitem(last=False)


def _rate_groups(setup: RunSetup, now: float, *, fresh: bool) -> dict[str, RateGroup]:
    """A group for every limit group in use.

    Real providers that nobody has set a limit for look for their own concurrency, and every real
    provider has a breaker.
    """
    real = {entry.group for entry in setup.models.values() if entry.provider != SIMULATED}
    groups = {}
    for name in sorted(setup.groups.keys() | {entry.group for entry in setup.models.values()}):
        limits = setup.groups.get(name, GroupLimits())
        groups[name] = _rate_group(limits, now, fresh=fresh)
        if name in real:
            groups[name].breaker = CircuitBreaker()
            if limits == GroupLimits():
                groups[name].adaptive = AdaptiveConcurrency(MOST_IN_FLIGHT)
    return groups


def _rate_group(limits: GroupLimits, now: float, *, fresh: bool) -> RateGroup:
    def bucket(limit: float | None) -> Bucket | None:
        if limit is None:
            return None
        return per_minute(limit, now, burst_s=limits.burst_s, fresh=fresh)

    return RateGroup(
        requests=bucket(limits.rpm),
        tokens=bucket(limits.tpm),
        input_tokens=bucket(limits.itpm),
        output_tokens=bucket(limits.otpm),
        concurrency=limits.concurrency,
    )
