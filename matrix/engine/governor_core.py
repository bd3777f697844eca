"""The governor's decisions, as a plain synchronous class: messages in, entries and mail out.

It joins the ledger, the gate and the books of open sessions. A message changes state at once;
:meth:`GovernorCore.tick` then lets the gate decide and hands over what must be journalled and,
*after that is durable*, who must be told. Holds are journalled before they are granted, and an
answer is journalled with its settlement before anybody sees it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from matrix.admission.envelopes import Envelopes
from matrix.admission.gate import Gate, Grant, Refusal, Request
from matrix.admission.ledger import Ledger
from matrix.admission.rates import Health, Load, RateGroup
from matrix.engine.books import (
    CallBook,
    History,
    OpenHold,
    PartCaps,
    SessionBook,
    Totals,
    held_entry,
    presumed_entry,
    role_envelope,
    session_envelope,
    settled_entry,
    supplied_entry,
)
from matrix.engine.messages import (
    Acquire,
    DiskRefused,
    EffectSaved,
    EndSession,
    FromGovernor,
    Granted,
    OpenSession,
    Picture,
    Recorded,
    Refuse,
    Refused,
    SaveEffect,
    SaveTurn,
    SessionEnded,
    SessionOpened,
    SessionSuspended,
    Settle,
    Snapshot,
    Supply,
    SuspendSession,
    ToGovernor,
)
from matrix.model.entries import Entry, Opened, Settled, TurnDone
from matrix.model.errors import BlobsRefused, MatrixError
from matrix.model.money import NanoUSD, show_usd
from matrix.model.records import Answer, CallKey, SessionPlan

DRIVER = "driver"
"""The driver's mailbox."""

CAP_REACHED = "cap"
OVERRUN = "overrun: an attempt cost more than the most it should"
DRAINING = "interrupted"


class ProtocolError(MatrixError):
    """A message that makes no sense in this state; a defect of the sender."""


class Tick(NamedTuple):
    """What one round of decisions gave."""

    entries: list[Entry]
    mail: list[tuple[str, FromGovernor]]
    wake_in_s: float | None


class GovernorCore:
    """Money, rates and open sessions of one run. Times are seconds of one monotonic clock."""

    def __init__(
        self,
        cap: NanoUSD,
        groups: Mapping[str, RateGroup],
        history: History | None = None,
        parts: PartCaps | None = None,
    ) -> None:
        past = history or History()
        self.ledger = Ledger(cap, past.settled, past.presumed, past.overrun)
        self._parts = parts or PartCaps()
        self._envelopes = Envelopes()
        for role, amount in self._parts.roles.items():
            self._envelopes.open(role_envelope(role), amount, past.spent_by_role.get(role, 0))
        self._gate = Gate(self.ledger, groups, past.last_hold_id + 1, self._envelopes)
        self._inflation = dict(past.inflation)
        self._sessions: dict[str, SessionBook] = {}
        self._open_holds: dict[int, OpenHold] = {}
        self._entries: list[Entry] = []
        self._mail: list[tuple[str, FromGovernor]] = []
        self._spent_by_role: dict[str, NanoUSD] = dict(past.spent_by_role)
        self._draining = False
        self._totals = Totals.after(past.counters)

    # --- messages ---------------------------------------------------------------------------------

    def handle(self, peer: str, message: ToGovernor, now: float, at: float) -> None:
        """Take one message. ``now`` is monotonic, ``at`` is UTC seconds for the records."""
        match message:
            case Acquire():
                self._acquire(peer, message, now)
            case Settle():
                self._settle(message, now, at)
            case Supply():
                self._supply(peer, message, at)
            case SaveTurn():
                self._save_turn(message.turn)
            case SaveEffect():
                self._entries.append(message.acted)
                self._mail.append((peer, EffectSaved(message.acted.key)))
            case DiskRefused():
                raise BlobsRefused(message.message)
            case EndSession():
                self._end(message)
            case SuspendSession():
                self._suspend(message.session_id)
            case OpenSession():
                raise ProtocolError("sessions are opened with what the journal knows of them")

    def open_session(
        self,
        peer: str,
        plan: SessionPlan,
        snapshot: Snapshot,
        answers: Mapping[CallKey, Settled],
        attempts: Mapping[CallKey, int],
        spent: NanoUSD,
        at: float,
    ) -> None:
        """Take a session in.

        ``answers`` and ``attempts`` are those since its checkpoint; ``spent`` is all that its
        attempts have cost so far.
        """
        book = SessionBook(plan, peer, spent)
        if self._parts.session is not None:
            self._envelopes.open(session_envelope(plan.session_id), self._parts.session, spent)
        for key, count in attempts.items():
            book.calls[key] = CallBook(digest="", attempts=count)
        for key, settled in answers.items():
            entry = book.calls.setdefault(key, CallBook(digest=""))
            entry.digest, entry.answer = settled.digest, settled.answer
        self._sessions[plan.session_id] = book
        self._entries.append(Opened(plan, at))
        self._mail.append((peer, SessionOpened(plan.session_id, snapshot)))

    def drain(self) -> None:
        """Grant nothing more; attempts in flight settle, sessions are let go."""
        self._draining = True
        for session_id, book in self._sessions.items():
            self._gate.leave(session_id)
            for key, call in book.calls.items():
                if call.waiting is not None:
                    self._refuse(key, call, "draining", DRAINING)

    def tick(self, now: float, at: float) -> Tick:
        """Let the gate decide; hand over entries to journal and mail to send after that."""
        decision = self._gate.decide(now)
        for grant in decision.grants:
            self._grant(grant, now, at)
        for refusal in decision.refusals:
            key = refusal.request.key
            if (call := self._call(key)) is not None:
                self._refuse(key, call, *self._why(refusal))
        entries, self._entries = self._entries, []
        mail, self._mail = self._mail, []
        return Tick(entries, mail, decision.wake_in_s)

    def sent(self, mail: list[tuple[str, FromGovernor]]) -> None:
        """The mail is on its way: from here on its attempts may be billed."""
        for _, message in mail:
            if isinstance(message, Granted) and message.hold_id in self.ledger.holds:
                self.ledger.mark_sent(message.hold_id)

    def presume_holds_of(self, owner: str, at: float) -> int:
        """A provider process is confirmed dead: what it had in flight counts as spent."""
        lost = self.ledger.holds_of(owner)
        for hold_id in lost:
            held = self._open_holds.pop(hold_id)
            cost = self.ledger.presume(hold_id)
            self._gate.finish(hold_id, None, cost)
            self._charge(held.key.session_id, held.role, cost)
            self._entries.append(presumed_entry(hold_id, held, at))
            if (call := self._call(held.key)) is not None:
                call.hold_id = None
        return len(lost)

    def picture(self) -> Picture:
        """Totals for the driver's display and its launching decisions."""
        counters = self._totals.counters(self._gate.waiting, len(self._open_holds))
        open_spent = sum(book.spent for book in self._sessions.values() if book.plan.part == "play")
        return Picture(self.ledger.balance, counters, open_spent, dict(self._spent_by_role))

    # --- one message each -------------------------------------------------------------------------

    def _acquire(self, peer: str, message: Acquire, now: float) -> None:
        call = self._asked(peer, message)
        if call is None or call.waiting is not None or call.hold_id is not None:
            return  # answered already, or joined: the answer goes to every asker
        if self._draining:
            self._refuse(message.key, call, "draining", DRAINING)
            return
        call.waiting, call.asked_at = message, now
        plan = self._sessions[message.key.session_id].plan
        self._gate.join(
            Request(
                message.key,
                message.order,
                message.group,
                math.ceil(message.bound * self._inflation.get(message.model, 1.0)),
                message.load,
                peer,
                tuple(self._parts.of(plan, message.role)),
            )
        )

    def _supply(self, peer: str, message: Supply, at: float) -> None:
        call = self._asked(peer, message)
        if call is None or call.waiting is not None or call.hold_id is not None:
            return
        call.attempts += 1
        self._entries.append(supplied_entry(self._gate.new_id(), call.attempts, message, at))
        self._totals.supplied(message.saved)
        self._sessions[message.key.session_id].saved += message.saved
        self._answer(message.key, call, message.answer)

    def _asked(self, peer: str, message: Acquire | Supply) -> CallBook | None:
        """The book of a call that has no answer yet; the asker is told, or will be."""
        book = self._sessions.get(message.key.session_id)
        if book is None:
            self._mail.append((peer, Refused(message.key, "draining", DRAINING)))
            return None
        call = book.calls.get(message.key)
        if call is None:
            call = book.calls[message.key] = CallBook(message.digest)
        if call.answer is not None:
            self._mail.append((peer, Recorded(message.key, call.digest, call.answer)))
            return None
        call.digest = call.digest or message.digest
        if peer not in call.askers:
            call.askers.append(peer)
        return call

    def _grant(self, grant: Grant, now: float, at: float) -> None:
        request, hold_id = grant
        call = self._sessions[request.key.session_id].calls[request.key]
        asked = call.waiting
        if asked is None:
            raise ProtocolError(f"call {request.key} was granted, but nobody was waiting for it")
        call.waiting, call.hold_id = None, hold_id
        call.attempts += 1
        self._totals.granted(call.attempts)
        held = self._open_holds[hold_id] = OpenHold(
            request.key,
            asked.role,
            asked.model,
            request.group,
            request.bound,
            call.attempts,
            now - call.asked_at,
        )
        self._entries.append(held_entry(hold_id, held, request.owner, at))
        self._mail.append((request.owner, Granted(request.key, hold_id, call.attempts)))

    def _settle(self, message: Settle, now: float, at: float) -> None:
        held = self._open_holds.pop(message.hold_id, None)
        if held is None:
            return  # settled before: the same batch came twice
        cost = self._close_hold(message, held)
        usage = message.usage
        self._totals.settled(usage, message.error_class)
        known = message.disposition == "settled"
        self._gate.finish(message.hold_id, Load(usage.input, usage.output) if known else None, cost)
        self._hear(held.group, message, now)
        self._charge(held.key.session_id, held.role, cost)
        call = self._call(held.key)
        digest = call.digest if call is not None else ""
        self._entries.append(settled_entry(held, message, digest, cost, at))
        if call is not None:
            call.hold_id = None
            if message.answer is not None:
                self._answer(held.key, call, message.answer)

    def _answer(self, key: CallKey, call: CallBook, answer: Answer) -> None:
        """A call has its answer; everybody who asked is told once it is on the disk."""
        call.answer = answer
        self._totals.answered += 1
        recorded = Recorded(key, call.digest, answer)
        self._mail += [(peer, recorded) for peer in call.askers]
        call.askers = []

    def _hear(self, group: str, message: Settle, now: float) -> None:
        """What the end of an attempt says about its limit group."""
        self._gate.hear(group, _health(message.error_class), now)
        if message.left is not None:
            self._gate.correct(group, message.left, message.took_s, now)
        if message.error_class == "RateLimited" and message.pause_s > 0:
            self._gate.pause(group, now + message.pause_s)

    def _close_hold(self, message: Settle, held: OpenHold) -> NanoUSD:
        match message.disposition:
            case "settled":
                overrun = self.ledger.settle(message.hold_id, message.cost)
                if overrun and held.amount:
                    dearer = message.cost / held.amount * self._inflation.get(held.model, 1.0)
                    self._inflation[held.model] = dearer
                return message.cost - overrun
            case "released":
                self.ledger.release(message.hold_id)
                return 0
            case "presumed":
                return self.ledger.presume(message.hold_id)
            case "cached":
                raise ProtocolError("an answer from the cache has no hold to settle")

    def _save_turn(self, turn: TurnDone) -> None:
        self._entries.append(turn)
        self._totals.turns += turn.phase == "turn"
        book = self._sessions.get(turn.session_id)
        if book is not None:
            done = (turn.phase, turn.turn)
            # calls of the checkpointed turn will never be asked again
            for key in [key for key in book.calls if (key.phase, key.turn) == done]:
                del book.calls[key]

    def _end(self, message: EndSession) -> None:
        ended = message.ended
        book = self._sessions.pop(ended.session_id, None)
        if book is None:
            return  # ended before: the same batch came twice
        self._let_go(ended.session_id)
        self._entries.append(ended)
        self._mail.append((DRIVER, SessionEnded(book.plan, ended, book.saved)))

    def _suspend(self, session_id: str) -> None:
        book = self._sessions.pop(session_id, None)
        if book is not None:
            self._let_go(session_id)
            self._mail.append((DRIVER, SessionSuspended(book.plan)))

    def _let_go(self, session_id: str) -> None:
        self._gate.leave(session_id)
        self._envelopes.close(session_envelope(session_id))

    def _why(self, refusal: Refusal) -> tuple[Refuse, str]:
        """What a refusal means for its session, and why, in words."""
        match refusal.envelope:
            case None:
                return "cap", OVERRUN if self.ledger.closed else CAP_REACHED
            case envelope if envelope == session_envelope(refusal.request.key.session_id):
                return "session-cap", f"its own cap of {show_usd(self._parts.session or 0)}"
            case envelope:
                return "cap", f"cap of {envelope}"

    def _refuse(self, key: CallKey, call: CallBook, why: Refuse, reason: str) -> None:
        call.waiting = None
        self._mail += [(peer, Refused(key, why, reason)) for peer in call.askers]
        call.askers = []

    def _charge(self, session_id: str, role: str, cost: NanoUSD) -> None:
        self._spent_by_role[role] = self._spent_by_role.get(role, 0) + cost
        if (book := self._sessions.get(session_id)) is not None:
            book.spent += cost

    def _call(self, key: CallKey) -> CallBook | None:
        book = self._sessions.get(key.session_id)
        return book.calls.get(key) if book is not None else None


def _health(error_class: str) -> Health:
    """What the end of an attempt says about its provider; a refusal is a sign of life."""
    if error_class == "RateLimited":
        return "limited"
    down = ("ProviderUnavailable", "ProviderTimeout", "Unreachable")
    return "down" if error_class in down else "alive"
