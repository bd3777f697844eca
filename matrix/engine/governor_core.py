"""The governor's decisions, as a plain synchronous class: messages in, entries and mail out.

It joins the ledger, the gate and the books of open sessions. A message changes state at once;
:meth:`GovernorCore.tick` then lets the gate decide and hands over what must be journalled and,
*after that is durable*, who must be told. Holds are journalled before they are granted, and an
answer is journalled with its settlement before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from matrix.admission.gate import Gate, Grant, Request
from matrix.admission.ledger import Ledger
from matrix.admission.rates import Health, RateGroup
from matrix.engine.messages import (
    Acquire,
    Counters,
    EndSession,
    FromGovernor,
    Granted,
    OpenSession,
    Picture,
    Recorded,
    Refused,
    SaveTurn,
    SessionEnded,
    SessionOpened,
    SessionSuspended,
    Settle,
    Snapshot,
    SuspendSession,
    ToGovernor,
)
from matrix.model.entries import Entry, Held, Opened, Settled, TurnDone
from matrix.model.errors import MatrixError
from matrix.model.money import NanoUSD
from matrix.model.records import Answer, CallKey, SessionPlan, Usage

DRIVER = "driver"
"""The driver's mailbox."""

CAP_REACHED = "cap"
DRAINING = "interrupted"


class ProtocolError(MatrixError):
    """A message that makes no sense in this state; a defect of the sender."""


@dataclass(slots=True)
class _CallBook:
    """What is known of one call of an open session."""

    digest: str
    attempts: int = 0
    answer: Answer | None = None
    waiting: Acquire | None = None
    asked_at: float = 0.0
    askers: list[str] = field(default_factory=list)
    hold_id: int | None = None


@dataclass(slots=True)
class _SessionBook:
    """An open session: who plays it, and the calls since its newest checkpoint."""

    plan: SessionPlan
    worker: str
    spent: NanoUSD = 0
    calls: dict[CallKey, _CallBook] = field(default_factory=dict)


class _OpenHold(NamedTuple):
    key: CallKey
    role: str
    model: str
    group: str
    amount: NanoUSD
    attempt: int
    waited_s: float


class Tick(NamedTuple):
    """What one round of decisions gave."""

    entries: list[Entry]
    mail: list[tuple[str, FromGovernor]]
    wake_in_s: float | None


class History(NamedTuple):
    """What the journal says of money and attempts, folded; the state a governor starts from."""

    settled: NanoUSD = 0
    presumed: NanoUSD = 0
    overrun: NanoUSD = 0
    last_hold_id: int = 0
    spent_by_role: Mapping[str, NanoUSD] = {}
    counters: Counters = Counters()


class GovernorCore:
    """Money, rates and open sessions of one run. Times are seconds of one monotonic clock."""

    def __init__(
        self, cap: NanoUSD, groups: Mapping[str, RateGroup], history: History | None = None
    ) -> None:
        past = history or History()
        self.ledger = Ledger(cap, past.settled, past.presumed, past.overrun)
        self._gate = Gate(self.ledger, groups, past.last_hold_id + 1)
        self._sessions: dict[str, _SessionBook] = {}
        self._open_holds: dict[int, _OpenHold] = {}
        self._entries: list[Entry] = []
        self._mail: list[tuple[str, FromGovernor]] = []
        self._spent_by_role: dict[str, NanoUSD] = dict(past.spent_by_role)
        self._draining = False
        before = past.counters
        self._answered, self._attempts = before.answered, before.attempts
        self._retries, self._limited = before.retries, before.rate_limited
        self._turns = before.turns
        self._tokens_in, self._tokens_out = before.tokens_in, before.tokens_out

    # --- messages ---------------------------------------------------------------------------------

    def handle(self, peer: str, message: ToGovernor, now: float, at: float) -> None:
        """Take one message. ``now`` is monotonic, ``at`` is UTC seconds for the records."""
        match message:
            case Acquire():
                self._acquire(peer, message, now)
            case Settle():
                self._settle(message, now, at)
            case SaveTurn():
                self._save_turn(message.turn)
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
        at: float,
    ) -> None:
        """Take a session in: ``answers`` and ``attempts`` are those since its checkpoint."""
        book = _SessionBook(plan, peer, spent=_spent_in(snapshot))
        for key, count in attempts.items():
            book.calls[key] = _CallBook(digest="", attempts=count)
        for key, settled in answers.items():
            entry = book.calls.setdefault(key, _CallBook(digest=""))
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
                    self._refuse(key, call, DRAINING)

    def tick(self, now: float, at: float) -> Tick:
        """Let the gate decide; hand over entries to journal and mail to send after that."""
        decision = self._gate.decide(now)
        for grant in decision.grants:
            self._grant(grant, now, at)
        for refusal in decision.refusals:
            key = refusal.request.key
            if (call := self._call(key)) is not None:
                self._refuse(key, call, CAP_REACHED)
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
            self._gate.finish(hold_id, None)
            self._charge(held.key.session_id, held.role, cost)
            self._entries.append(_presumed(hold_id, held, cost, at))
            if (call := self._call(held.key)) is not None:
                call.hold_id = None
        return len(lost)

    def picture(self) -> Picture:
        """Totals for the driver's display and its launching decisions."""
        counters = Counters(
            answered=self._answered,
            attempts=self._attempts,
            retries=self._retries,
            rate_limited=self._limited,
            turns=self._turns,
            waiting=self._gate.waiting,
            in_flight=len(self._open_holds),
            tokens_in=self._tokens_in,
            tokens_out=self._tokens_out,
        )
        open_spent = sum(book.spent for book in self._sessions.values() if book.plan.part == "play")
        return Picture(self.ledger.balance, counters, open_spent, dict(self._spent_by_role))

    # --- one message each -------------------------------------------------------------------------

    def _acquire(self, peer: str, message: Acquire, now: float) -> None:
        book = self._sessions.get(message.key.session_id)
        if book is None:
            self._mail.append((peer, Refused(message.key, DRAINING)))
            return
        call = book.calls.get(message.key)
        if call is None:
            call = book.calls[message.key] = _CallBook(message.digest)
        if call.answer is not None:
            self._mail.append((peer, Recorded(message.key, call.digest, call.answer)))
            return
        call.digest = call.digest or message.digest
        if peer not in call.askers:
            call.askers.append(peer)
        if call.waiting is not None or call.hold_id is not None:
            return  # joined: the answer goes to every asker
        if self._draining:
            self._refuse(message.key, call, DRAINING)
            return
        call.waiting, call.asked_at = message, now
        self._gate.join(
            Request(message.key, message.order, message.group, message.bound, message.tokens, peer)
        )

    def _grant(self, grant: Grant, now: float, at: float) -> None:
        request, hold_id = grant
        call = self._sessions[request.key.session_id].calls[request.key]
        asked = call.waiting
        if asked is None:
            raise ProtocolError(f"call {request.key} was granted, but nobody was waiting for it")
        call.waiting, call.hold_id = None, hold_id
        call.attempts += 1
        self._attempts += 1
        self._retries += call.attempts > 1
        self._open_holds[hold_id] = _OpenHold(
            request.key,
            asked.role,
            asked.model,
            request.group,
            request.bound,
            call.attempts,
            now - call.asked_at,
        )
        self._entries.append(
            Held(
                hold_id,
                request.key,
                call.attempts,
                asked.role,
                asked.model,
                request.bound,
                request.owner,
                at,
            )
        )
        self._mail.append((request.owner, Granted(request.key, hold_id, call.attempts)))

    def _settle(self, message: Settle, now: float, at: float) -> None:
        held = self._open_holds.pop(message.hold_id, None)
        if held is None:
            return  # settled before: the same batch came twice
        cost = self._close_hold(message)
        usage = message.usage
        self._tokens_in += usage.input
        self._tokens_out += usage.output
        self._gate.finish(
            message.hold_id,
            usage.input + usage.output if message.disposition == "settled" else None,
        )
        self._gate.hear(held.group, _health(message.error_class), now)
        if message.error_class == "RateLimited":
            self._limited += 1
            if message.pause_s > 0:
                self._gate.pause(held.group, now + message.pause_s)
        self._charge(held.key.session_id, held.role, cost)
        call = self._call(held.key)
        digest = call.digest if call is not None else ""
        self._entries.append(
            Settled(
                message.hold_id,
                held.key,
                held.attempt,
                held.role,
                held.model,
                digest,
                held.amount,
                message.disposition,
                cost,
                usage,
                held.waited_s,
                message.took_s,
                message.error_class,
                message.answer,
                at,
            )
        )
        if call is None:
            return
        call.hold_id = None
        if message.answer is not None:
            call.answer = message.answer
            self._answered += 1
            recorded = Recorded(held.key, call.digest, message.answer)
            self._mail += [(peer, recorded) for peer in call.askers]
            call.askers = []

    def _close_hold(self, message: Settle) -> NanoUSD:
        match message.disposition:
            case "settled":
                overrun = self.ledger.settle(message.hold_id, message.cost)
                return message.cost - overrun
            case "released":
                self.ledger.release(message.hold_id)
                return 0
            case "presumed":
                return self.ledger.presume(message.hold_id)

    def _save_turn(self, turn: TurnDone) -> None:
        self._entries.append(turn)
        self._turns += turn.phase == "turn"
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
        self._gate.leave(ended.session_id)
        self._entries.append(ended)
        self._mail.append((DRIVER, SessionEnded(book.plan, ended)))

    def _suspend(self, session_id: str) -> None:
        book = self._sessions.pop(session_id, None)
        if book is not None:
            self._gate.leave(session_id)
            self._mail.append((DRIVER, SessionSuspended(book.plan)))

    def _refuse(self, key: CallKey, call: _CallBook, reason: str) -> None:
        call.waiting = None
        self._mail += [(peer, Refused(key, reason)) for peer in call.askers]
        call.askers = []

    def _charge(self, session_id: str, role: str, cost: NanoUSD) -> None:
        self._spent_by_role[role] = self._spent_by_role.get(role, 0) + cost
        if (book := self._sessions.get(session_id)) is not None:
            book.spent += cost

    def _call(self, key: CallKey) -> _CallBook | None:
        book = self._sessions.get(key.session_id)
        return book.calls.get(key) if book is not None else None


def _health(error_class: str) -> Health:
    """What the end of an attempt says about its provider; a refusal is a sign of life."""
    if error_class == "RateLimited":
        return "limited"
    down = ("ProviderUnavailable", "ProviderTimeout", "Unreachable")
    return "down" if error_class in down else "alive"


def _spent_in(snapshot: Snapshot) -> NanoUSD:
    return snapshot.checkpoint.tally.cost if snapshot.checkpoint is not None else 0


def _presumed(hold_id: int, held: _OpenHold, cost: NanoUSD, at: float) -> Settled:
    return Settled(
        hold_id,
        held.key,
        held.attempt,
        held.role,
        held.model,
        "",
        held.amount,
        "presumed",
        cost,
        Usage(),
        held.waited_s,
        0.0,
        "ProcessDied",
        None,
        at,
    )
