"""Calls of open sessions: admission, attempts, settlement, answers. Half of the governor's core.

It joins the ledger, the gate and the books. What must be journalled and who must be told goes to
the :class:`Outbox`, which the other half empties once per tick.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

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
    unsent_entry,
)
from matrix.engine.messages import (
    Acquire,
    FromGovernor,
    Granted,
    Recorded,
    Refuse,
    Refused,
    Settle,
    Supply,
)
from matrix.model.entries import Entry, Held
from matrix.model.errors import MatrixError
from matrix.model.money import NanoUSD, show_usd
from matrix.model.records import Answer, CallKey

CAP_REACHED = "cap"
OVERRUN = "overrun: an attempt cost more than the most it should"
DRAINING = "interrupted"


_Repeated: TypeAlias = Acquire | Supply | Settle


class ProtocolError(MatrixError):
    """A message that makes no sense in this state; a defect of the sender."""


@dataclass(slots=True)
class Outbox:
    """What a tick hands over: entries to journal, and mail to send after that."""

    entries: list[Entry] = field(default_factory=list)
    mail: list[tuple[str, FromGovernor]] = field(default_factory=list)

    def tell(self, peer: str, message: FromGovernor) -> None:
        """Queue a letter."""
        self.mail.append((peer, message))


class CallDesk:
    """Money and rates over the calls of open sessions. ``books`` are shared with the core."""

    def __init__(
        self,
        cap: NanoUSD,
        groups: Mapping[str, RateGroup],
        past: History,
        parts: PartCaps,
        books: Mapping[str, SessionBook],
        out: Outbox,
    ) -> None:
        self.ledger = Ledger(cap, past.settled, past.presumed, past.overrun)
        self.totals = Totals.after(past.counters)
        self.draining = False
        self.spent_by_role: dict[str, NanoUSD] = dict(past.spent_by_role)
        self._parts, self._books, self._out = parts, books, out
        self._envelopes = Envelopes()
        for role, amount in parts.roles.items():
            self._envelopes.open(role_envelope(role), amount, past.spent_by_role.get(role, 0))
        self._gate = Gate(self.ledger, groups, past.last_hold_id + 1, self._envelopes)
        self._inflation = dict(past.inflation)
        self._open_holds: dict[int, OpenHold] = {}
        self._adrift: dict[str, list[tuple[str, _Repeated]]] = {}

    # --- sessions come and go ---------------------------------------------------------------------

    def enter(self, book: SessionBook) -> None:
        """A session was opened: its own cap begins, and its attempts that are out are known."""
        plan = book.plan
        if self._parts.session is not None:
            name = session_envelope(plan.session_id)
            self._envelopes.open(name, self._parts.session, book.spent)
        for hold_id, held in self._open_holds.items():
            if held.key.session_id == plan.session_id:
                call = book.calls.setdefault(held.key, CallBook(digest=""))
                call.hold_id, call.attempts = hold_id, max(call.attempts, held.attempt)
                call.owner = owner = self.ledger.holds[hold_id].owner
                envelopes = tuple(self._parts.of(plan, held.role))
                self._gate.adopt(
                    hold_id,
                    Request(
                        held.key, plan.order, held.group, held.amount, Load(), owner, envelopes
                    ),
                )

    def expect(self, session_ids: Iterable[str]) -> None:
        """Sessions that an earlier governor had open: their calls wait until they are rejoined."""
        self._adrift = {session_id: [] for session_id in session_ids}

    def found(self, session_id: str) -> list[tuple[str, _Repeated]]:
        """A session is open: what was asked for it before is to be asked again."""
        return self._adrift.pop(session_id, [])

    def leave(self, session_id: str) -> None:
        """A session is over or let go."""
        self._gate.leave(session_id)
        self._envelopes.close(session_envelope(session_id))

    def drain(self) -> None:
        """Grant nothing more."""
        self.draining = True
        for peer, message in itertools.chain(*self._adrift.values()):
            self._out.tell(peer, Refused(message.key, "draining", DRAINING))
        self._adrift = {}
        for session_id, book in self._books.items():
            self._gate.leave(session_id)
            for key, call in book.calls.items():
                if call.queued:
                    self._refuse(key, call, "draining", DRAINING)

    # --- one message each -------------------------------------------------------------------------

    def acquire(self, peer: str, message: Acquire, now: float) -> None:
        """Somebody wants to send an attempt."""
        call = self._asked(peer, message)
        if call is None:
            return
        call.asked = message
        if not call.free_for(peer):
            return  # joined: the answer goes to every asker
        if self.draining:
            self._refuse(message.key, call, "draining", DRAINING)
            return
        call.asked_at = now
        self._queue(peer, call, message)

    def supply(self, peer: str, message: Supply, at: float) -> None:
        """Somebody has an answer from the response cache."""
        call = self._asked(peer, message)
        if call is None or not call.free_for(peer):
            return
        call.attempts += 1
        hold_id = self._gate.new_id()
        self._out.entries.append(supplied_entry(hold_id, call.attempts, message, at))
        self.totals.supplied(message.saved)
        self._books[message.key.session_id].saved += message.saved
        self._answer(message.key, call, message.answer)

    def settle(self, peer: str, message: Settle, now: float, at: float) -> None:
        """An attempt is over."""
        held = self._open_holds.pop(message.hold_id, None)
        call = self._call(message.key)
        if held is None:
            self._settled_before(peer, message, call)
            return
        cost = self._close_hold(message, held)
        usage = message.usage
        self.totals.settled(usage, message.error_class)
        known = message.disposition == "settled"
        self._gate.finish(message.hold_id, Load(usage.input, usage.output) if known else None, cost)
        self._hear(held.group, message, now)
        self._charge(held.key.session_id, held.role, cost)
        self._out.entries.append(settled_entry(held, message, cost, at))
        if call is None:
            if message.answer is not None:
                self._out.tell(peer, Recorded(message.key, message.digest, message.answer))
            return
        call.hold_id = None
        if message.answer is not None:
            if peer not in call.askers:
                call.askers.append(peer)
            call.digest = call.digest or message.digest
            self._answer(held.key, call, message.answer)

    def _settled_before(self, peer: str, message: Settle, call: CallBook | None) -> None:
        """The same message came twice; who waits for the answer may not have been told."""
        if message.answer is None:
            return
        if call is None and message.key.session_id in self._adrift:
            self._adrift[message.key.session_id].append((peer, message))
        elif call is not None and call.answer is not None:
            self._out.tell(peer, Recorded(message.key, call.digest, call.answer))

    # --- the gate's decisions ---------------------------------------------------------------------

    def decide(self, now: float, at: float) -> float | None:
        """Grant and refuse; returns in how many seconds looking again can help."""
        decision = self._gate.decide(now)
        for grant in decision.grants:
            self._grant(grant, now, at)
        for refusal in decision.refusals:
            key = refusal.request.key
            if (call := self._call(key)) is not None:
                self._refuse(key, call, *self._why(refusal))
        return decision.wake_in_s

    @property
    def waiting(self) -> int:
        """Attempts in the queues."""
        return self._gate.waiting

    @property
    def in_flight(self) -> int:
        """Attempts that are out."""
        return len(self._open_holds)

    # --- processes that died ----------------------------------------------------------------------

    def restore(self, held: Held, group: str) -> None:
        """A hold from before this governor, whose owner lives and will settle it."""
        self.ledger.restore(held.hold_id, held.amount, held.owner)
        self._open_holds[held.hold_id] = OpenHold(
            held.key, held.role, held.model, group, held.amount, held.attempt, 0.0
        )

    def still_out(self, owner: str, hold_ids: frozenset[int], at: float) -> None:
        """Of this owner's holds only these were ever sent."""
        for hold_id in self.ledger.holds_of(owner):
            if hold_id not in hold_ids:
                held = self._open_holds.pop(hold_id)
                self.ledger.release(hold_id)
                self._out.entries.append(unsent_entry(hold_id, held, at))
                self._attempt_is_over(hold_id, held, 0)

    def lose(self, peer: str, at: float) -> None:
        """A process is confirmed dead: what it had in flight counts as spent, others go on."""
        for hold_id in self.ledger.holds_of(peer):
            held = self._open_holds.pop(hold_id)
            cost = self.ledger.presume(hold_id)
            self._charge(held.key.session_id, held.role, cost)
            self._out.entries.append(presumed_entry(hold_id, held, at))
            self._attempt_is_over(hold_id, held, cost)
        self._gate.leave_with(peer)
        for session_id, waiting in self._adrift.items():
            self._adrift[session_id] = [asked for asked in waiting if asked[0] != peer]
        for book in self._books.values():
            for call in book.calls.values():
                self._bereave(call, peer)

    def _bereave(self, call: CallBook, peer: str) -> None:
        """A process that asked for a call is dead; if the call was its own, the next takes over."""
        if peer in call.askers:
            call.askers.remove(peer)
        if call.owner != peer:
            return
        call.owner, call.queued = None, False
        if not call.askers or call.asked is None:
            return
        if self.draining:
            self._refuse(call.asked.key, call, "draining", DRAINING)
        else:
            self._queue(call.askers[0], call, call.asked)

    def _attempt_is_over(self, hold_id: int, held: OpenHold, cost: NanoUSD) -> None:
        self._gate.finish(hold_id, None, cost)
        if (call := self._call(held.key)) is not None:
            call.hold_id = None

    # --- pieces -----------------------------------------------------------------------------------

    def _asked(self, peer: str, message: Acquire | Supply) -> CallBook | None:
        """The book of a call that has no answer yet; the asker is told, or will be."""
        book = self._books.get(message.key.session_id)
        if book is None:
            waiting = self._adrift.get(message.key.session_id)
            if waiting is None:
                self._out.tell(peer, Refused(message.key, "draining", DRAINING))
            else:
                waiting.append((peer, message))
            return None
        call = book.calls.get(message.key)
        if call is None:
            call = book.calls[message.key] = CallBook(message.digest)
        if call.answer is not None:
            self._out.tell(peer, Recorded(message.key, call.digest, call.answer))
            return None
        call.digest = call.digest or message.digest
        if peer not in call.askers:
            call.askers.append(peer)
        return call

    def _queue(self, peer: str, call: CallBook, message: Acquire) -> None:
        plan = self._books[message.key.session_id].plan
        call.owner, call.queued = peer, True
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

    def _grant(self, grant: Grant, now: float, at: float) -> None:
        request, hold_id = grant
        call = self._books[request.key.session_id].calls[request.key]
        asked = call.asked
        if asked is None:
            raise ProtocolError(f"call {request.key} was granted, but nobody was waiting for it")
        call.queued, call.hold_id = False, hold_id
        call.attempts += 1
        self.totals.granted(call.attempts)
        held = self._open_holds[hold_id] = OpenHold(
            request.key,
            asked.role,
            asked.model,
            request.group,
            request.bound,
            call.attempts,
            now - call.asked_at,
        )
        self._out.entries.append(held_entry(hold_id, held, request.owner, at))
        self._out.tell(request.owner, Granted(request.key, hold_id, call.attempts))

    def _answer(self, key: CallKey, call: CallBook, answer: Answer) -> None:
        """A call has its answer; everybody who asked is told once it is on the disk."""
        call.answer, call.asked, call.owner = answer, None, None
        self.totals.answered += 1
        for peer in call.askers:
            self._out.tell(peer, Recorded(key, call.digest, answer))
        call.askers = []

    def _refuse(self, key: CallKey, call: CallBook, why: Refuse, reason: str) -> None:
        call.queued, call.asked, call.owner = False, None, None
        for peer in call.askers:
            self._out.tell(peer, Refused(key, why, reason))
        call.askers = []

    def _why(self, refusal: Refusal) -> tuple[Refuse, str]:
        """What a refusal means for its session, and why, in words."""
        match refusal.envelope:
            case None:
                return "cap", OVERRUN if self.ledger.closed else CAP_REACHED
            case envelope if envelope == session_envelope(refusal.request.key.session_id):
                return "session-cap", f"its own cap of {show_usd(self._parts.session or 0)}"
            case envelope:
                return "cap", f"cap of {envelope}"

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

    def _charge(self, session_id: str, role: str, cost: NanoUSD) -> None:
        self.spent_by_role[role] = self.spent_by_role.get(role, 0) + cost
        if (book := self._books.get(session_id)) is not None:
            book.spent += cost

    def _call(self, key: CallKey) -> CallBook | None:
        book = self._books.get(key.session_id)
        return book.calls.get(key) if book is not None else None


def _health(error_class: str) -> Health:
    """What the end of an attempt says about its provider; a refusal is a sign of life."""
    if error_class == "RateLimited":
        return "limited"
    down = ("ProviderUnavailable", "ProviderTimeout", "Unreachable")
    return "down" if error_class in down else "alive"
