"""The governor: one process that owns the journal, the money and the rate limits of a run.

This is the shell around :class:`GovernorCore`: it receives batches, lets the core decide, makes
the decisions durable in one transaction, and only then sends the mail. While a transaction is
being written, more batches gather; they are the next one. Nobody waits inside a method call.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from matrix.admission.clock import onward
from matrix.engine.books import PartCaps, presumed_entry
from matrix.engine.governor_core import DRIVER, GovernorCore, LostSession
from matrix.engine.governor_watch import GovernorWatch
from matrix.engine.history import NOTHING_KNOWN, MoneyFold, SessionHistory, fold_session
from matrix.engine.link import Mail, Mailboxes
from matrix.engine.messages import (
    AskEnded,
    EndSession,
    OpenSession,
    Picture,
    Rejoin,
    RunFailed,
    SessionEnded,
    SessionSuspended,
    Snapshot,
    ToGovernor,
)
from matrix.engine.rate_groups import rate_groups
from matrix.engine.setup import RunSetup
from matrix.model.entries import Ended, Looked
from matrix.model.errors import DigestMismatch, MatrixError, StoreError
from matrix.model.records import JSON, SessionPlan
from matrix.store.journal import JOURNAL_NAME, JournalWriter
from matrix.telemetry.log import NO_LOG, Log

PRELUDES_KEPT = 1024
"""Results of preludes kept in memory; older ones are read from the journal again."""


class Governor:
    """One run's governor. Create it, ``start`` it on a running loop, ``stop`` it at the end."""

    def __init__(
        self,
        setup: RunSetup,
        *,
        alive: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
        utc: Callable[[], float] = time.time,
        log: Log = NO_LOG,
    ) -> None:
        """Open the journal for writing and take up where it stands.

        ``alive`` are processes that outlived an earlier governor of this life of the run: what
        they have in flight they will settle. What anybody else had in flight counts as spent.

        Raises:
            RunLocked: The run is alive in another process.
            StoreError: The journal cannot be opened.
        """
        self._clock, self._utc = onward(clock), utc
        self._journal = JournalWriter(Path(setup.run_dir) / JOURNAL_NAME)
        self._journal.add_resources(setup.resources)
        money = MoneyFold()
        money.take(row.entry for row in self._journal.rows())
        orphans = [held for held in money.open_holds.values() if held.owner not in alive]
        lost = [presumed_entry(held.hold_id, held, utc()) for held in orphans]
        if lost:
            self._journal.append(lost)
            money.take(lost)
        history = money.history()
        fresh = history.last_hold_id == 0
        groups = rate_groups(setup, self._clock(), fresh=fresh)
        parts = PartCaps(setup.session_cap_nano, setup.role_caps_nano)
        self._core = GovernorCore(setup.cap_nano, groups, history, parts)
        for held in sorted(money.open_holds.values()):
            self._core.restore(held, setup.models[held.model].group)
        if alive:
            self._core.expect(money.open_sessions)
        self._watch = GovernorWatch(log, groups, self._core.ledger.balance)
        self._watch.look(lost, self._core.ledger.balance, self._clock())
        self._mailboxes = Mailboxes()
        self._lost: set[str] = set()
        self._inbox: list[tuple[str, int, Sequence[ToGovernor]]] = []
        self._preludes: OrderedDict[str, tuple[JSON, str]] = OrderedDict()
        self._wake = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None
        self._writing: asyncio.Future[None] | None = None
        self._failed = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._looks: list[tuple[Looked, asyncio.Future[None]]] = []

    def start(self) -> None:
        """Begin to work; needs a running event loop."""
        self._pump = asyncio.create_task(self._run(), name="governor")

    async def post(self, peer: str, number: int, batch: Sequence[ToGovernor]) -> None:
        """Take a batch; returns at once, and answers come by mail."""
        if peer not in self._lost and self._mailboxes.is_new(peer, number):
            self._inbox.append((peer, number, batch))
            self._idle.clear()
            self._wake.set()

    async def poll(self, peer: str, after: int) -> Mail:
        """Mail for this peer; parks until there is some."""
        return await self._mailboxes.collect(peer, after)

    def picture(self) -> Picture:
        """The state of money, rates and sessions now."""
        return self._core.picture()

    def lose(self, peer: str) -> list[LostSession]:
        """A process of the run is confirmed dead; see :meth:`GovernorCore.lose`."""
        now, at = self._clock(), self._utc()
        last_words = [batch for name, _, batch in self._inbox if name == peer]
        self._inbox = [item for item in self._inbox if item[0] != peer]
        for message in itertools.chain(*last_words):
            self._take(peer, message, now, at)
        lost = self._core.lose(peer, at)
        self._lost.add(peer)
        self._mailboxes.forget(peer)
        self._idle.clear()
        self._wake.set()
        return lost

    def condemn(self, plan: SessionPlan, reason: str) -> None:
        """Give a session up: whoever plays it dies."""
        past = self._past(plan)
        checkpoint = past.snapshot.checkpoint
        ended = Ended(
            session_id=plan.session_id,
            outcome="errored",
            reason=reason,
            error_class="KillsItsWorker",
            turns=0 if checkpoint is None else checkpoint.turn,
            score=None,
            tally=past.used,
            at=self._utc(),
        )
        self._take(DRIVER, EndSession(ended), self._clock(), ended.at)
        self._idle.clear()
        self._wake.set()

    def drain(self) -> None:
        """Grant nothing more; what is in flight settles, sessions are let go."""
        self._core.drain()
        self._idle.clear()
        self._wake.set()

    async def record(self, look: Looked) -> None:
        """Journal a look at the scores; returns when it is durable. Saying it twice is harmless.

        Raises:
            MatrixError: The governor cannot go on; the run has failed.
        """
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._failed:
            raise StoreError("the journal takes no more; see why the run failed")
        self._looks.append((look, durable))
        self._idle.clear()
        self._wake.set()
        await durable

    async def stop(self, *, at_once: bool = False) -> None:
        """Finish what has been received, unless ``at_once``, then close the journal."""
        if not self._failed and not at_once:
            self._wake.set()
            await self._idle.wait()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        if self._writing is not None:  # a thread cannot be stopped in the middle of a write
            await asyncio.gather(self._writing, return_exceptions=True)
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
            for _, durable in self._looks:
                if not durable.done():
                    durable.set_exception(StoreError(text))
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
        inbox, self._inbox = self._inbox, []
        now, at = self._clock(), self._utc()
        for peer, _, batch in inbox:
            for message in batch:
                self._take(peer, message, now, at)
        tick = self._core.tick(now, at)
        looks = [look for look, _ in self._looks]
        taken = len(looks)
        if tick.entries or looks:
            for entry in tick.entries:
                if isinstance(entry, Ended) and entry.result is not None:
                    self._keep_prelude(entry)
            self._writing = asyncio.ensure_future(
                asyncio.to_thread(self._journal.append, [*tick.entries, *looks])
            )
            await asyncio.shield(self._writing)
        for _, durable in self._looks[:taken]:
            if not durable.done():
                durable.set_result(None)
        del self._looks[:taken]
        for peer, number, _ in inbox:
            self._mailboxes.done(peer, number)
        self._core.sent(tick.mail)
        self._watch.look(tick.entries, self._core.ledger.balance, now)
        by_peer: dict[str, list[object]] = {}
        for peer, letter in tick.mail:
            by_peer.setdefault(peer, []).append(letter)
        for peer, messages in by_peer.items():
            self._mailboxes.deliver(peer, messages)
        return tick.wake_in_s

    def _take(self, peer: str, message: ToGovernor, now: float, at: float) -> None:
        match message:
            case OpenSession(plan):
                past = self._past(plan)
                self._core.open_session(peer, plan, past, self._snapshot(plan, past), now, at)
            case Rejoin(plans):
                for plan in plans:
                    past = self._past(plan)
                    if past.snapshot.done is None:
                        self._core.rejoin(peer, plan, past, now, at)
            case AskEnded(plans):
                for plan in plans:
                    self._tell_end(plan)
            case EndSession(ended) if ended.error_class == DigestMismatch.__name__:
                # it has not seen all that was recorded for it, which is paid all the same
                used = fold_session(self._journal.session(ended.session_id)).used
                tally = used._replace(clock_s=ended.tally.clock_s)
                self._core.handle(peer, EndSession(replace(ended, tally=tally)), now, at)
            case _:
                self._core.handle(peer, message, now, at)

    def _past(self, plan: SessionPlan) -> SessionHistory:
        if not self._journal.knows(plan.session_id):
            return NOTHING_KNOWN
        return fold_session(self._journal.session(plan.session_id))

    def _snapshot(self, plan: SessionPlan, past: SessionHistory) -> Snapshot:
        if plan.prelude_id is None:
            return past.snapshot
        made, failure = self._prelude(plan.prelude_id)
        return past.snapshot._replace(prelude=made, prelude_failure=failure)

    def _tell_end(self, plan: SessionPlan) -> None:
        """The driver waits for this session: its end may have been told by nobody."""
        if self._core.is_open(plan.session_id):
            return
        ended = self._past(plan).snapshot.done
        if ended is not None:
            self._core.tell_end(SessionEnded(plan, ended))
        elif self._core.draining:
            self._core.tell_end(SessionSuspended(plan))

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
