"""Calls of open sessions: admission, attempts, settlement. Half of the governor's core.

It joins who asks for calls, the gate, and the money of attempts that are out. What must be
journalled and who must be told goes to the :class:`Outbox`, which the other half empties once per
tick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from matrix.admission.envelopes import Envelopes
from matrix.admission.gate import Gate, Grant, Request
from matrix.admission.ledger import Ledger
from matrix.admission.rates import Health, Load, RateGroup
from matrix.engine.governor.asked_calls import AskedCalls
from matrix.engine.governor.books import (
    CallBook,
    History,
    OpenHold,
    Outbox,
    PartCaps,
    RunningTotals,
    SessionBook,
    held_entry,
    presumed_entry,
    role_envelope,
    session_envelope,
    settled_entry,
    supplied_by,
    supplied_entry,
    unsent_entry,
)
from matrix.engine.governor.open_holds import OpenHolds
from matrix.engine.governor.parking import Parking
from matrix.engine.governor.pending_requests import Repeated
from matrix.engine.governor.refusals import BEHIND, DRAINING, why_refused
from matrix.engine.wire.messages import Acquire, Granted, ProviderClosed, Settle, Supply
from matrix.model.entries import Held
from matrix.model.errors import ProtocolError
from matrix.model.money import NanoUSD


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
        close: Callable[[ProviderClosed], None],
    ) -> None:
        """``books`` and ``out`` are the core's; ``close`` is told of a refused account."""
        self.ledger = Ledger(cap, past.settled, past.presumed, past.overrun)
        self.totals = RunningTotals.after(past.counters)
        self.draining = False
        self._parts, self._books, self._out = parts, books, out
        self._envelopes = Envelopes()
        for role, amount in parts.roles.items():
            self._envelopes.open(role_envelope(role), amount, past.spent_by_role.get(role, 0))
        self._gate = Gate(self.ledger, groups, past.last_hold_id + 1, self._envelopes)
        self._holds = OpenHolds(self.ledger, past)
        self._close = close
        self._calls = AskedCalls(books, out)
        self._parking = Parking(self._calls, close)

    # --- sessions come and go ---------------------------------------------------------------------

    def enter(self, book: SessionBook) -> None:
        """A session was opened: its own cap begins, and its attempts that are out are known."""
        plan = book.plan
        if self._parts.session is not None:
            name = session_envelope(plan.session_id)
            self._envelopes.open(name, self._parts.session, book.spent)
        for hold_id, held, owner in self._holds.of_session(plan.session_id):
            call = book.calls.setdefault(held.key, CallBook(digest=""))
            call.hold_id, call.attempts = hold_id, max(call.attempts, held.attempt)
            call.owner = owner
            envelopes = tuple(self._parts.of(plan, held.role))
            self._gate.adopt(
                hold_id,
                Request(held.key, plan.order, held.group, held.amount, Load(), owner, envelopes),
            )

    def expect(self, session_ids: Iterable[str]) -> None:
        """Sessions that an earlier governor had open: their calls wait until they are rejoined."""
        self._calls.expect(session_ids)

    def found(self, session_id: str) -> list[tuple[str, Repeated]]:
        """A session is open: what was asked for it before is to be asked again."""
        return self._calls.found(session_id)

    def turn_over(self, book: SessionBook) -> None:
        """A session has a new checkpoint: the calls before it are never granted any more.

        Whoever still waits for one plays it from an older checkpoint, or did not wait for all that
        its turn had asked.
        """
        for key in [key for key in book.calls if not book.is_newer(key.phase, key.turn)]:
            call = book.calls.pop(key)
            self._parking.take_out(key)
            if call.hold_id is None:  # what is out is settled, and its process told, all the same
                self._calls.refuse(key, call, "draining", BEHIND)

    def leave(self, session_id: str) -> None:
        """A session is over or let go."""
        self._gate.leave(session_id)
        self._parking.forget(session_id)
        self._envelopes.close(session_envelope(session_id))

    def drain(self) -> None:
        """Grant nothing more."""
        self.draining = True
        self._calls.drain()
        for session_id in self._books:
            self._gate.leave(session_id)
        for key, call in self._calls.queued():
            self._calls.refuse(key, call, "draining", DRAINING)
        self._parking.clear()

    # --- one message each -------------------------------------------------------------------------

    def acquire(self, peer: str, message: Acquire, now: float, at: float) -> None:
        """Somebody wants to send an attempt."""
        if not message.fresh and (lent := self._lent(message)) is not None:
            self._give(peer, lent, at)
            return
        call = self._calls.ask(peer, message)
        if call is None:
            return
        call.asked = message
        if not call.free_for(peer):
            return  # joined: the answer goes to every asker
        if self.draining:
            self._calls.refuse(message.key, call, "draining", DRAINING)
            return
        call.asked_at = now
        if not self._parking.holds_back(peer, call, message, now):
            self._queue(peer, call, message)

    def supply(self, peer: str, message: Supply, at: float) -> None:
        """Somebody has an answer from the response cache; what the session has goes first."""
        if (lent := self._lent(message)) is not None:
            self._give(peer, lent, at)
        elif self._give(peer, message, at):
            self._books[message.key.session_id].saved += message.saved

    def _give(self, peer: str, message: Supply, at: float) -> bool:
        """Answer a call with what was bought before, unless somebody is at it; whether it was."""
        call = self._calls.ask(peer, message)
        if call is None or not call.free_for(peer):
            return False
        call.attempts += 1
        hold_id = self._gate.new_id()
        self._out.entries.append(supplied_entry(hold_id, call.attempts, message, at))
        self.totals.supplied(message.saved)
        self.totals.answered += 1
        self._calls.answer(message.key, call, message.answer)
        return True

    def _lent(self, message: Acquire | Supply) -> Supply | None:
        """The answer that its session's parent was given to the very same request, if any.

        Sessions to come have a parent as well, so it is not counted as what they may lack.
        """
        book = self._books.get(message.key.session_id)
        lent = None if book is None else book.lent.get(message.key)
        if lent is None or lent.digest != message.digest:
            return None
        return supplied_by(lent, message)

    def settle(self, peer: str, message: Settle, now: float, at: float) -> None:
        """An attempt is over."""
        closed = self._holds.settle(message)
        if closed is None:
            self._calls.settled_before(peer, message)
            return
        held, cost = closed
        if message.answer is not None and message.disposition == "presumed":
            # only here is it known what the ledger took for it
            bought = message.answer
            message = message._replace(answer=bought._replace(cost=bought.cost + cost))
        usage = message.usage
        self.totals.settled(usage, message.error_class, message.trouble)
        known = message.disposition == "settled"
        self._gate.finish(message.hold_id, Load(usage.input, usage.output) if known else None, cost)
        self._hear(held, message, now)
        self._charge(held.key.session_id, cost)
        over = self._parking.judged(held, message, now)
        self._out.entries.append(settled_entry(held, over, cost, at))
        self.totals.answered += self._calls.settled(peer, over)
        if message.answer is not None and over.answer is None:
            self._calls.park(peer, message)

    # --- the gate's decisions ---------------------------------------------------------------------

    def decide(self, now: float, at: float) -> float | None:
        """Grant and refuse; returns in how many seconds looking again can help."""
        for peer, parked, asked in self._parking.due(now):
            self._queue(peer, parked, asked)
        decision = self._gate.decide(now)
        for grant in decision.grants:
            self._grant(grant, now, at)
        for refusal in decision.refusals:
            key = refusal.request.key
            if (call := self._calls.find(key)) is not None:
                left = self._envelopes.left(refusal.envelope or "")
                why = why_refused(
                    refusal,
                    call.asked,
                    self.ledger,
                    self._holds.overrun,
                    self._parts.session,
                    left,
                )
                self._calls.refuse(key, call, *why)
        waits = (decision.wake_in_s, self._parking.wake_in_s(now))
        return min((wait for wait in waits if wait is not None), default=None)

    @property
    def waiting(self) -> int:
        """Attempts in the queues, and calls that are held back."""
        return self._gate.waiting + len(self._parking)

    @property
    def in_flight(self) -> int:
        """Attempts that are out."""
        return len(self._holds)

    @property
    def calling(self) -> set[str]:
        """Sessions that have one."""
        return self._holds.sessions

    def oldest_s(self, now: float) -> float:
        """For how long the oldest of them has been out, in seconds; 0 if none is."""
        oldest = self._holds.oldest()
        return 0.0 if oldest is None else max(0.0, now - oldest.since)

    @property
    def spent_by_role(self) -> Mapping[str, NanoUSD]:
        """What every role has cost, earlier lives included."""
        return self._holds.spent_by_role

    # --- processes that died ----------------------------------------------------------------------

    def restore(self, held: Held, group: str, since: float) -> None:
        """A hold from before this governor, whose owner lives and will settle it."""
        self._holds.restore(held, group, since)

    def still_out(self, owner: str, hold_ids: frozenset[int], at: float) -> None:
        """Of this owner's holds only these were ever sent."""
        for hold_id in self._holds.of_owner(owner):
            if hold_id not in hold_ids:
                held = self._holds.release(hold_id)
                self._out.entries.append(unsent_entry(hold_id, held, at))
                self._attempt_is_over(hold_id, held, 0)

    def lose(self, peer: str, at: float) -> None:
        """A process is confirmed dead: what it had in flight counts as spent, others go on."""
        for hold_id in self._holds.of_owner(peer):
            held, cost = self._holds.presume(hold_id)
            self._charge(held.key.session_id, cost)
            self._out.entries.append(presumed_entry(hold_id, held, at))
            self._attempt_is_over(hold_id, held, cost)
        self._gate.leave_with(peer)
        for successor, asked, call in self._calls.fail_over(peer):
            self._parking.take_out(asked.key)
            if self.draining:
                self._calls.refuse(asked.key, call, "draining", DRAINING)
            else:
                self._queue(successor, call, asked)

    def _attempt_is_over(self, hold_id: int, held: OpenHold, cost: NanoUSD) -> None:
        self._gate.finish(hold_id, None, cost)
        if (call := self._calls.find(held.key)) is not None:
            call.hold_id = None

    # --- pieces -----------------------------------------------------------------------------------

    def _queue(self, peer: str, call: CallBook, message: Acquire) -> None:
        plan = self._books[message.key.session_id].plan
        call.owner, call.queued = peer, True
        self._gate.join(
            Request(
                message.key,
                message.order,
                message.group,
                self._holds.bound(message.model, message.bound),
                message.load,
                peer,
                tuple(self._parts.of(plan, message.role)),
            )
        )

    def _grant(self, grant: Grant, now: float, at: float) -> None:
        request, hold_id = grant
        call = self._calls.find(request.key)
        if call is None:  # its turn was over before its place in the queue came
            self.ledger.release(hold_id)
            self._gate.finish(hold_id, None, 0)
            return
        asked = call.asked
        if asked is None:
            raise ProtocolError(f"call {request.key} was granted, but nobody was waiting for it")
        call.queued, call.hold_id = False, hold_id
        call.attempts += 1
        self.totals.granted(call.attempts)
        held = OpenHold(
            request.key,
            asked.role,
            asked.model,
            request.group,
            request.bound,
            call.attempts,
            now - call.asked_at,
            asked.bound,
            asked.agent,
            asked.tag,
            now,
        )
        self._holds.add(hold_id, held)
        self._out.entries.append(held_entry(hold_id, held, request.owner, at))
        self._out.tell(request.owner, Granted(request.key, hold_id, call.attempts))

    def _hear(self, held: OpenHold, message: Settle, now: float) -> None:
        """What the end of an attempt says about its limit group."""
        group = held.group
        broken = self._gate.hear(group, _health(message.error_class), now)
        if broken is not None:
            said = message.trouble or message.reason or self.totals.trouble
            pause = f"{group} does not answer; next try in {broken.wait(now) or 0:.0f} s"
            self.totals.trouble = f"{pause}: {said.removeprefix(pause)}"
            if broken.is_hopeless:
                self._close(ProviderClosed(group, held.model, said, silent=True))
        if message.left is not None:
            self._gate.correct(group, message.left, message.took_s, now)
        if message.error_class == "RateLimited" and message.pause_s > 0:
            self._gate.pause(group, now + message.pause_s)

    def _charge(self, session_id: str, cost: NanoUSD) -> None:
        if (book := self._books.get(session_id)) is not None:
            book.spent += cost


def _health(error_class: str) -> Health:
    """What the end of an attempt says about its provider; a refusal is a sign of life."""
    if error_class == "RateLimited":
        return "limited"
    down = ("ProviderUnavailable", "ProviderTimeout", "Unreachable")
    return "down" if error_class in down else "alive"
