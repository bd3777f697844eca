"""The governor: one process that owns the journal, the money and the rate limits of a run.

This is the shell around :class:`GovernorCore`. Whatever anybody wants of it (a batch of messages, a
death to note, a look to record, an end of granting) goes into one inbox, and one task takes it out
in that order: it lets the core decide, makes the decisions durable in one transaction, and only
then answers. While a transaction is being written, more gathers; that is the next one. A session's
past is read from the journal only when nothing of it waits to be written, and the journal is used
by one thread, its own.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from matrix.admission.clock import onward
from matrix.engine.governor.books import PartCaps, presumed_entry
from matrix.engine.governor.core import DRIVER, GovernorCore, LostSession
from matrix.engine.governor.history import NOTHING_KNOWN, SessionHistory, fold_session
from matrix.engine.governor.money_fold import KEEP_EVERY, KEPT_AS, money_so_far
from matrix.engine.governor.rate_groups import rate_groups
from matrix.engine.governor.watch import GovernorWatch
from matrix.engine.wire.link import Mail, Mailboxes
from matrix.engine.wire.messages import (
    AskEnded,
    EndSession,
    LogLine,
    OpenSession,
    Picture,
    Rejoin,
    RunFailed,
    SessionEnded,
    SessionSuspended,
    Snapshot,
    ToGovernor,
)
from matrix.engine.wire.setup import RunSetup
from matrix.model.entries import Acted, Ended, Looked
from matrix.model.errors import DigestMismatch, MatrixError, StoreError
from matrix.model.records import JSON, SessionPlan
from matrix.store.journal.codec import ENDED, OPENED
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix.store.journal.journal_thread import JournalThread
from matrix.store.journal.session_state import fold_all
from matrix.telemetry.log import NO_LOG, Log

PRELUDES_KEPT = 1024
"""Results of preludes kept in memory; older ones are read from the journal again."""

T = TypeVar("T")


class _Batch(NamedTuple):
    """Messages of a peer."""

    peer: str
    number: int
    messages: Sequence[ToGovernor]


class _Lose(NamedTuple):
    """A process is confirmed dead; whoever says so hears which sessions it played."""

    peer: str
    told: asyncio.Future[list[LostSession]]


class _Condemn(NamedTuple):
    """A session is given up."""

    plan: SessionPlan
    reason: str
    told: asyncio.Future[None]


class _Record(NamedTuple):
    """A look at the scores is to be journalled; whoever says so waits until it is durable."""

    look: Looked
    told: asyncio.Future[None]


class _Drain(NamedTuple):
    """Nothing more is to be granted."""


_Item: TypeAlias = _Batch | _Lose | _Condemn | _Record | _Drain


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
        self._clock, self._utc, self._log = onward(clock), utc, log
        self._flushes = setup.flushes
        self._journal = JournalThread(Path(setup.run_dir) / JOURNAL_NAME)
        self._journal.do_now(lambda journal: journal.add_resources(setup.resources))
        self._money = money = self._journal.do_now(money_so_far)
        self._unkept = 0
        orphans = [held for held in money.attempts.open.values() if held.owner not in alive]
        lost = [presumed_entry(held.hold_id, held, utc()) for held in orphans]
        if lost:
            self._journal.do_now(lambda journal: journal.append(lost))
            money.take(lost)
        history = money.history()
        fresh = history.last_hold_id == 0
        groups = rate_groups(setup, self._clock(), fresh=fresh)
        parts = PartCaps(setup.session_cap_nano, setup.role_caps_nano)
        self._core = GovernorCore(setup.cap_nano, groups, history, parts)
        for held in sorted(money.attempts.open.values()):
            since = self._clock() - max(0.0, utc() - held.at)
            self._core.restore(held, setup.models[held.model].group, since)
        if alive:
            self._core.expect(self._journal.do_now(_open_sessions))
        self._watch = GovernorWatch(log, groups, self._core.ledger.balance)
        self._watch.look(lost, self._clock())
        self._mailboxes = Mailboxes()
        self._lost: set[str] = set()
        self._inbox: list[_Item] = []
        self._looks: list[Looked] = []
        self._owed: list[Callable[[], None]] = []
        self._waiting: set[asyncio.Future[Any]] = set()
        self._preludes: OrderedDict[str, tuple[JSON, str]] = OrderedDict()
        self._wake = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None
        self._failure = ""
        self._idle = asyncio.Event()
        self._idle.set()

    def start(self) -> None:
        """Begin to work; needs a running event loop."""
        self._pump = asyncio.create_task(self._run(), name="governor")

    async def post(self, peer: str, number: int, batch: Sequence[ToGovernor]) -> None:
        """Take a batch; returns at once, and answers come by mail."""
        if peer not in self._lost and self._mailboxes.is_new(peer, number):
            self._put(_Batch(peer, number, batch))

    async def poll(self, peer: str, after: int) -> Mail:
        """Mail for this peer; parks until there is some."""
        return await self._mailboxes.collect(peer, after)

    def picture(self) -> Picture:
        """The state of money, rates and sessions now."""
        return self._core.picture(self._clock())

    async def lose(self, peer: str) -> list[LostSession]:
        """A process of the run is confirmed dead; what it said before still counts.

        Returns:
            The sessions it played, when all that follows from its death is durable.

        Raises:
            StoreError: The governor cannot go on; the run has failed.
        """
        told: asyncio.Future[list[LostSession]] = self._promise()
        self._put(_Lose(peer, told))
        return await told

    async def end_poisoned(self, plan: SessionPlan, reason: str) -> None:
        """Give a session up, because whoever plays it dies; returns when its end is durable.

        Raises:
            StoreError: The governor cannot go on; the run has failed.
        """
        told: asyncio.Future[None] = self._promise()
        self._put(_Condemn(plan, reason, told))
        await told

    def drain(self) -> None:
        """Grant nothing more; what is in flight settles, sessions are let go."""
        self._put(_Drain())

    async def record(self, look: Looked) -> None:
        """Journal a look at the scores; returns when it is durable. Saying it twice is harmless.

        Raises:
            StoreError: The governor cannot go on; the run has failed.
        """
        told: asyncio.Future[None] = self._promise()
        self._put(_Record(look, told))
        await told

    async def stop(self, *, at_once: bool = False) -> None:
        """Finish what has been received, unless ``at_once``, then close the journal."""
        if not self._failure and not at_once:
            self._wake.set()
            await self._idle.wait()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        self._break_promises("the governor was stopped")
        if self._unkept and not self._failure and not at_once:
            with suppress(StoreError):  # the entries say the same
                await self._keep_money()
        self._mailboxes.close()
        await self._journal.close()

    # --- the inbox --------------------------------------------------------------------------------

    def _put(self, item: _Item) -> None:
        self._inbox.append(item)
        self._idle.clear()
        self._wake.set()

    def _promise(self) -> asyncio.Future[T]:
        """Something that whoever asks will wait for."""
        if self._failure:
            raise StoreError(f"the journal takes no more: {self._failure}")
        promise: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.add(promise)
        promise.add_done_callback(self._waiting.discard)
        return promise

    def _break_promises(self, why: str) -> None:
        for promise in list(self._waiting):
            if not promise.done():
                promise.set_exception(StoreError(why))
                promise.exception()  # whoever waited may have gone

    async def _run(self) -> None:
        try:
            wake_in: float | None = None
            while True:
                await self._wait(wake_in)
                wake_in = await self._step()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the run cannot go on; the driver must hear why
            failed = RunFailed.of(error)
            self._failure = text = failed.message
            self._idle.set()
            self._break_promises(text)
            self._mailboxes.deliver(DRIVER, [failed])
            if not isinstance(error, MatrixError):
                raise

    async def _wait(self, wake_in: float | None) -> None:
        if not self._wake.is_set():
            self._idle.set()
        # wait_for would lose a cancellation that comes as the event is set (Python 3.11)
        with suppress(TimeoutError):
            async with asyncio.timeout(wake_in):
                await self._wake.wait()
        self._idle.clear()
        self._wake.clear()

    async def _step(self) -> float | None:
        inbox, self._inbox = self._inbox, []
        now, at = self._clock(), self._utc()
        for item in inbox:
            await self._receive(item, now, at)
        return await self._commit(now, at)

    async def _receive(self, item: _Item, now: float, at: float) -> None:
        match item:
            case _Batch(peer, number, messages):
                if peer in self._lost:
                    return
                for message in messages:
                    await self._take(peer, message, now, at)
                self._owed.append(lambda: self._mailboxes.done(peer, number))
            case _Lose(peer, told):
                lost = self._core.lose(peer, at)
                self._lost.add(peer)
                self._mailboxes.forget(peer)
                self._owed.append(lambda: _keep_promise(told, lost))
            case _Condemn(plan, reason, told):
                await self._give_up(plan, reason, now, at)
                self._owed.append(lambda: _keep_promise(told, None))
            case _Record(look, told):
                self._looks.append(look)
                self._owed.append(lambda: _keep_promise(told, None))
            case _Drain():
                self._core.drain()

    async def _commit(self, now: float, at: float) -> float | None:
        """Let the core decide, write what it decided, and then tell everybody."""
        tick = self._core.tick(now, at)
        looks, self._looks = self._looks, []
        entries = [*tick.entries, *looks]
        if entries:
            flush = self._flushes or any(isinstance(one, Acted) for one in entries)
            await self._journal.do(lambda journal: journal.append(entries, flush=flush))
            self._money.take(entries)
            self._unkept += len(entries)
            if self._unkept >= KEEP_EVERY:
                await self._keep_money()
        for entry in tick.entries:
            if isinstance(entry, Ended) and entry.result is not None:
                self._keep_prelude(entry)
        owed, self._owed = self._owed, []
        for keep in owed:
            keep()
        self._core.sent(tick.mail)
        self._watch.look(tick.entries, now)
        by_peer: dict[str, list[object]] = {}
        for peer, letter in tick.mail:
            by_peer.setdefault(peer, []).append(letter)
        for peer, messages in by_peer.items():
            self._mailboxes.deliver(peer, messages)
        return tick.wake_in_s

    async def _keep_money(self) -> None:
        """Spare whoever takes this run up reading all of the journal."""
        self._unkept, sums = 0, self._money.to_json()
        await self._journal.do(lambda journal: journal.keep(KEPT_AS, sums))

    async def _take(self, peer: str, message: ToGovernor, now: float, at: float) -> None:
        match message:
            case OpenSession(plan):
                past = await self._past(plan.session_id, now, at)
                snapshot = await self._snapshot(plan, past, now, at)
                self._core.open_session(peer, plan, past, snapshot, now, at)
            case Rejoin(plans):
                for plan in plans:
                    past = await self._past(plan.session_id, now, at)
                    if past.snapshot.done is None:
                        self._core.rejoin(peer, plan, past, now, at)
            case LogLine(line):
                self._log.append(line)
            case AskEnded(plans):
                for plan in plans:
                    await self._tell_end(plan, now, at)
            case EndSession(ended) if ended.error_class == DigestMismatch.__name__:
                # it has not seen all that was recorded for it, which is paid all the same
                past = await self._past(ended.session_id, now, at)
                tally = past.used._replace(clock_s=ended.tally.clock_s)
                self._core.handle(peer, EndSession(replace(ended, tally=tally)), now, at)
            case _:
                self._core.handle(peer, message, now, at)

    async def _give_up(self, plan: SessionPlan, reason: str, now: float, at: float) -> None:
        past = await self._past(plan.session_id, now, at)
        if (done := past.snapshot.done) is not None:
            self._core.tell_end(SessionEnded(plan, done))
            return
        # nobody may have rejoined it since this governor took over
        self._core.rejoin(DRIVER, plan, past, now, at)
        ended = _given_up(plan, reason, past, at)
        self._core.handle(DRIVER, EndSession(ended), now, at)

    # --- what the journal knows -------------------------------------------------------------------

    async def _past(self, session_id: str, now: float, at: float) -> SessionHistory:
        """A session's past; what is not yet written of it is written first."""
        if self._core.unwritten(session_id):
            await self._commit(now, at)
        return await self._journal.do(lambda journal: _past_in(journal, session_id))

    async def _snapshot(
        self, plan: SessionPlan, past: SessionHistory, now: float, at: float
    ) -> Snapshot:
        if plan.prelude_id is None:
            return past.snapshot
        made, failure = await self._prelude(plan.prelude_id, now, at)
        return past.snapshot._replace(prelude=made, prelude_failure=failure)

    async def _tell_end(self, plan: SessionPlan, now: float, at: float) -> None:
        """The driver waits for this session: its end may have been told by nobody."""
        if self._core.is_open(plan.session_id):
            return
        ended = (await self._past(plan.session_id, now, at)).snapshot.done
        if ended is not None:
            self._core.tell_end(SessionEnded(plan, ended))
        elif self._core.draining:
            self._core.tell_end(SessionSuspended(plan))

    async def _prelude(self, session_id: str, now: float, at: float) -> tuple[JSON, str]:
        """What a prelude made, and why it failed if it did."""
        if session_id not in self._preludes:
            ended = (await self._past(session_id, now, at)).snapshot.done
            if ended is None:
                return None, "it has not ended"
            self._keep_prelude(ended)
        return self._preludes[session_id]

    def _keep_prelude(self, ended: Ended) -> None:
        failure = "" if ended.outcome == "completed" else f"{ended.error_class}: {ended.reason}"
        self._preludes[ended.session_id] = (ended.result, failure)
        while len(self._preludes) > PRELUDES_KEPT:
            self._preludes.popitem(last=False)


def _open_sessions(journal: JournalWriter) -> list[str]:
    """Sessions that were opened and have not ended."""
    rows = journal.since(0, (OPENED, ENDED))
    return [key for key, state in fold_all(row.entry for row in rows).items() if not state.ended]


def _past_in(journal: JournalWriter, session_id: str) -> SessionHistory:
    known = journal.knows(session_id)
    return fold_session(journal.session(session_id)) if known else NOTHING_KNOWN


def _given_up(plan: SessionPlan, reason: str, past: SessionHistory, at: float) -> Ended:
    checkpoint = past.snapshot.checkpoint
    return Ended(
        session_id=plan.session_id,
        outcome="errored",
        reason=reason,
        error_class="KillsItsWorker",
        turns=0 if checkpoint is None else checkpoint.turn,
        score=None,
        tally=past.used,
        at=at,
    )


def _keep_promise(promise: asyncio.Future[Any], value: object) -> None:
    if not promise.done():
        promise.set_result(value)
