"""The governor's decisions, as a plain synchronous class: messages in, entries and mail out.

It keeps the books of open sessions, and leaves their calls to the :class:`CallDesk`. A message
changes state at once; :meth:`GovernorCore.tick` then lets the gate decide and hands over what must
be journalled and, *after that is durable*, who must be told. Holds are journalled before they are
granted, and an answer is journalled with its settlement before anybody sees it.

A message may come twice, when a governor has died and its peers repeat to the next one what may
not have survived; every message is so read that the second time changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from matrix.admission.ledger import Ledger
from matrix.admission.rates import RateGroup
from matrix.engine.governor.books import CallBook, History, Outbox, PartCaps, SessionBook
from matrix.engine.governor.call_desk import CallDesk
from matrix.engine.governor.history import SessionHistory
from matrix.engine.governor.lingering import Lingering
from matrix.engine.wire.messages import (
    Acquire,
    AskEnded,
    DiskRefused,
    EffectSaved,
    EndSession,
    FromGovernor,
    Granted,
    LetGo,
    LogLine,
    OpenSession,
    Picture,
    ProviderClosed,
    Rejoin,
    SaveEffect,
    SaveTurn,
    SessionEnded,
    SessionOpened,
    SessionSuspended,
    Settle,
    Snapshot,
    StillOut,
    Supply,
    SuspendNow,
    SuspendSession,
    ToGovernor,
)
from matrix.model.entries import Entry, Held, Opened, TurnDone, session_of
from matrix.model.errors import BlobsRefused, ProtocolError
from matrix.model.money import NanoUSD
from matrix.model.records import Phase, SessionPlan

DRIVER = "driver"
"""The driver's mailbox."""


class Tick(NamedTuple):
    """What one round of decisions gave."""

    entries: list[Entry]
    mail: list[tuple[str, FromGovernor]]
    wake_in_s: float | None


class LostSession(NamedTuple):
    """A session whose worker died, and the newest checkpoint it had reached."""

    plan: SessionPlan
    done: tuple[Phase, int] | None


class GovernorCore:
    """Money, rates and open sessions of one run. Times are seconds of one monotonic clock."""

    def __init__(
        self,
        cap: NanoUSD,
        groups: Mapping[str, RateGroup],
        history: History | None = None,
        parts: PartCaps | None = None,
    ) -> None:
        self._sessions: dict[str, SessionBook] = {}
        self._out = Outbox()
        self._lingering = Lingering()
        self._desk = CallDesk(
            cap,
            groups,
            history or History(),
            parts or PartCaps(),
            self._sessions,
            self._out,
            self._close_account,
        )

    @property
    def ledger(self) -> Ledger:
        """The run's money."""
        return self._desk.ledger

    @property
    def draining(self) -> bool:
        """Whether nothing more is granted."""
        return self._desk.draining

    def is_open(self, session_id: str) -> bool:
        """Whether somebody plays this session."""
        return session_id in self._sessions

    def unwritten(self, session_id: str) -> bool:
        """Whether entries of this session wait for the next tick."""
        return any(session_of(entry) == session_id for entry in self._out.entries)

    # --- messages ---------------------------------------------------------------------------------

    def handle(self, peer: str, message: ToGovernor, now: float, at: float) -> None:
        """Take one message. ``now`` is monotonic, ``at`` is UTC seconds for the records."""
        match message:
            case Acquire():
                self._desk.acquire(peer, message, now, at)
            case Settle():
                self._lingering.moved(message.key.session_id, now)
                self._desk.settle(peer, message, now, at)
            case Supply():
                self._desk.supply(peer, message, at)
            case SaveTurn():
                self._save_turn(message.turn)
            case SaveEffect():
                self._out.entries.append(message.acted)
                self._out.tell(peer, EffectSaved(message.acted.key))
            case DiskRefused():
                raise BlobsRefused(message.message)
            case EndSession():
                self._end(message)
            case SuspendSession():
                self._suspend(peer, message.session_id)
            case StillOut():
                self._desk.still_out(peer, frozenset(message.hold_ids), at)
            case OpenSession() | Rejoin() | AskEnded() | LogLine():
                raise ProtocolError("only the journal knows what these need")

    def open_session(
        self,
        peer: str,
        plan: SessionPlan,
        past: SessionHistory,
        snapshot: Snapshot,
        now: float,
        at: float,
    ) -> None:
        """A worker takes a session on; ``past`` is what the journal knows of it.

        One whose worker died goes on with its calls as they are, those in flight elsewhere among
        them.
        """
        book = self._sessions.get(plan.session_id)
        if book is None:
            self._enter(peer, plan, past, now, at)
            self._out.entries.append(Opened(plan, at))
        else:
            book.worker = peer
        self._out.tell(peer, SessionOpened(plan.session_id, snapshot))

    def rejoin(
        self, peer: str, plan: SessionPlan, past: SessionHistory, now: float, at: float
    ) -> None:
        """A worker goes on playing a session that was opened by a governor before this one."""
        if plan.session_id not in self._sessions:
            self._enter(peer, plan, past, now, at)

    def expect(self, session_ids: Iterable[str]) -> None:
        """Sessions that an earlier governor had open, and that will be rejoined or opened."""
        self._desk.expect(session_ids)

    def _enter(
        self, peer: str, plan: SessionPlan, past: SessionHistory, now: float, at: float
    ) -> None:
        checkpoint = past.snapshot.checkpoint
        done = None if checkpoint is None else (checkpoint.phase, checkpoint.turn)
        book = SessionBook(plan, peer, past.spent, done, lent=past.lent)
        for key, count in past.attempts.items():
            book.calls[key] = CallBook(digest="", attempts=count)
        for key, settled in past.answers.items():
            entry = book.calls.setdefault(key, CallBook(digest=""))
            entry.digest, entry.answer = settled.digest, settled.answer
        self._sessions[plan.session_id] = book
        self._lingering.moved(plan.session_id, now)
        self._desk.enter(book)
        for asker, message in self._desk.found(plan.session_id):
            self.handle(asker, message, now, at)

    def drain(self) -> None:
        """Grant nothing more; attempts in flight settle, sessions are let go."""
        self._desk.drain()

    def _close_account(self, news: ProviderClosed) -> None:
        """A provider refuses an account: whatever is asked of it would only fail as well."""
        if not self.draining:
            self._out.tell(DRIVER, news)
            self.drain()

    def tick(self, now: float, at: float) -> Tick:
        """Let the gate decide; hand over entries to journal and mail to send after that."""
        wake_in_s = self._desk.decide(now, at)
        if self.draining and self._sessions:
            wake_in_s = self._suspend_who_lingers(now, wake_in_s)
        entries, self._out.entries = self._out.entries, []
        mail, self._out.mail = self._out.mail, []
        return Tick(entries, mail, wake_in_s)

    def _suspend_who_lingers(self, now: float, wake_in_s: float | None) -> float | None:
        """Have sessions let go that ask for nothing; returns when to look again."""
        self._lingering.drains(now)
        for session_id in self._lingering.due(self._idle(), now):
            self._out.tell(self._sessions[session_id].worker, SuspendNow(session_id))
        waits = (wake_in_s, self._lingering.wake_in_s(now))
        return min((wait for wait in waits if wait is not None), default=None)

    def _idle(self) -> Iterator[str]:
        """Open sessions without a call in flight."""
        calling = self._desk.calling
        return (session_id for session_id in self._sessions if session_id not in calling)

    def sent(self, mail: list[tuple[str, FromGovernor]]) -> None:
        """The mail is on its way: from here on its attempts may be billed."""
        for _, message in mail:
            if isinstance(message, Granted) and message.hold_id in self.ledger.holds:
                self.ledger.mark_sent(message.hold_id)

    def picture(self, now: float) -> Picture:
        """Totals for the driver's display and its launching decisions; ``now`` is monotonic."""
        desk = self._desk
        counters = desk.totals.counters(desk.waiting, desk.in_flight, desk.oldest_s(now))
        open_spent = sum(book.spent for book in self._sessions.values() if book.plan.part == "play")
        idle = sum(1 for _ in self._idle()) if self.draining else 0
        return Picture(self.ledger.balance, counters, open_spent, dict(desk.spent_by_role), idle)

    # --- processes that died ----------------------------------------------------------------------

    def restore(self, held: Held, group: str, since: float) -> None:
        """A hold from before this governor, whose owner lives and will settle it."""
        self._desk.restore(held, group, since)

    def lose(self, peer: str, at: float) -> list[LostSession]:
        """A process is confirmed dead.

        Returns:
            The sessions it played; they stay open for whoever takes them on.
        """
        self._desk.lose(peer, at)
        return [
            LostSession(book.plan, book.done)
            for book in self._sessions.values()
            if book.worker == peer
        ]

    def tell_end(self, end: SessionEnded | SessionSuspended) -> None:
        """Repeat to the driver what an earlier governor may not have told it."""
        self._out.tell(DRIVER, end)

    # --- one message each -------------------------------------------------------------------------

    def _save_turn(self, turn: TurnDone) -> None:
        book = self._sessions.get(turn.session_id)
        if book is None or not book.is_newer(turn.phase, turn.turn):
            return  # journalled before: the same message came twice
        book.done = (turn.phase, turn.turn)
        self._out.entries.append(turn)
        self._desk.totals.turns += turn.phase == "turn"
        self._desk.turn_over(book)

    def _end(self, message: EndSession) -> None:
        ended = message.ended
        book = self._sessions.pop(ended.session_id, None)
        if book is None:
            return  # ended before: the same message came twice
        self._desk.leave(ended.session_id)
        self._out.entries.append(ended)
        self._out.tell(DRIVER, SessionEnded(book.plan, ended, book.saved))

    def _suspend(self, peer: str, session_id: str) -> None:
        self._out.tell(peer, LetGo(session_id))
        book = self._sessions.get(session_id)
        if book is None or book.worker != peer:
            return  # another worker has it by now
        del self._sessions[session_id]
        self._desk.leave(session_id)
        self._out.tell(DRIVER, SessionSuspended(book.plan))
