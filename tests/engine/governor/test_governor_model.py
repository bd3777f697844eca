"""The governor's decisions against a model that keeps its own, much plainer books."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from matrix.admission.rates import RateGroup
from matrix.engine.governor.core import GovernorCore, Tick
from matrix.engine.governor.history import NOTHING_KNOWN
from matrix.engine.governor.lingering import GRACE_S
from matrix.engine.governor.refusals import BEHIND, DRAINING
from matrix.engine.wire.messages import (
    EndSession,
    Granted,
    Recorded,
    Refused,
    SaveTurn,
    SessionEnded,
    Settle,
    SuspendNow,
    ToGovernor,
)
from matrix.model.entries import Disposition, Held, Settled, Tally, TurnDone
from matrix.model.records import Answer, CallKey, Usage
from tests.engine.plans import answer, ask, ended, plan, settle
from tests.sampling import examples

CAP = 1000
GROUPS = {"wide": None, "narrow": 2}
SESSIONS = st.sampled_from(["s1", "s2", "s3"])
PEERS = st.sampled_from(["a", "b"])
SLOTS = st.sampled_from(["0", "1", "2"])
ASKS = st.tuples(PEERS, SESSIONS, SLOTS, st.integers(1, 400), st.sampled_from(sorted(GROUPS)))
OUTCOMES: st.SearchStrategy[tuple[Disposition, int, bool, bool]] = st.tuples(
    st.sampled_from(["settled", "released", "presumed"]),
    st.integers(0, 100),
    st.booleans(),
    st.booleans(),
)
"""How an attempt ends: disposition, per cent of its hold, whether it ends the call, said twice."""


@dataclass
class ModelCall:
    """One call as the outside sees it: who is owed word, and whether it is over."""

    bound: int = 0
    asked: int = 0
    owner: str | None = None
    owed: list[str] = field(default_factory=list)
    waiting: bool = False
    answer: Answer | None = None


@dataclass
class ModelHold:
    key: CallKey
    amount: int
    owner: str


class GovernorMachine(RuleBasedStateMachine):
    """Every rule is one message and one tick; every tick is checked against all laws."""

    def __init__(self) -> None:
        super().__init__()
        groups = {name: RateGroup(concurrency=limit) for name, limit in GROUPS.items()}
        self.core = GovernorCore(CAP, groups)
        self.open: set[str] = set()
        self.saved: set[str] = set()
        self.calls: dict[CallKey, ModelCall] = {}
        self.holds: dict[int, ModelHold] = {}
        self.closed = 0
        self.recorded: set[tuple[CallKey, Answer]] = set()
        self.settled = self.presumed = self.overrun = 0
        self.draining = False
        self.now = 0.0
        self.moved: dict[str, float] = {}

    @property
    def eventful(self) -> bool:
        """Whether enough has been asked for something rarer to matter."""
        return self.now > 4

    # --- what happens -----------------------------------------------------------------------------

    @initialize()
    def open_all(self) -> None:
        for session in ("s1", "s2", "s3"):
            self._open(session)
        self.core.tick(0.0, 0.0)

    @rule(asks=st.lists(ASKS, min_size=1, max_size=8))
    def ask(self, asks: list[tuple[str, str, str, int, str]]) -> None:
        for peer, session, slot, bound, group in asks:
            key = CallKey(session, "turn", 1, slot)
            request = ask(key, bound, order=int(session[1]), group=group, digest="d")
            if session not in self.open:
                assert self._tell(peer, request).mail == [
                    (peer, Refused(key, "draining", DRAINING))
                ]
                continue
            if session in self.saved:  # its turn is over, and nothing of it is paid again
                assert self._tell(peer, request).mail == [(peer, Refused(key, "draining", BEHIND))]
                continue
            call = self.calls.setdefault(key, ModelCall())
            call.owed += [peer] if peer not in call.owed else []
            call.asked = bound
            free = call.owner in (None, peer) and key not in self._in_flight()
            if call.answer is None and not call.waiting and free:
                call.waiting, call.bound, call.owner = True, bound, peer
            self._check(self._tell(peer, request))

    @rule(data=st.data(), outcomes=st.lists(OUTCOMES, min_size=1, max_size=4))
    def settle(
        self, data: st.DataObject, outcomes: list[tuple[Disposition, int, bool, bool]]
    ) -> None:
        for disposition, part, final, again in outcomes:
            if not self.holds:
                return
            hold_id, hold = self._close(data)
            cost = hold.amount * part // 100 if disposition == "settled" else 0
            self._book(hold.amount, disposition, cost)
            given = answer(f"answer {hold_id}", cost) if final else None
            message = settle(
                hold.key, hold_id, disposition=disposition, cost=cost, usage=Usage(), answer=given
            )
            if given is not None and disposition == "presumed":
                given = given._replace(cost=hold.amount)  # what an answer costs includes that
            if given is not None and hold.key.session_id in self.open:
                self.calls[hold.key].answer = given
            self._check(self._tell(hold.owner, message), message._replace(answer=given))
            if again:
                told = self._tell(hold.owner, message)
                assert told.entries == []
                assert all(isinstance(letter, Recorded) for _, letter in told.mail)

    @precondition(lambda self: self.eventful)
    @rule(
        what=st.sampled_from(["overrun", "end", "open", "turn", "turn", "die", "drain"]),
        session=SESSIONS,
        owner=PEERS,
        data=st.data(),
    )
    def something_rarer(self, what: str, session: str, owner: str, data: st.DataObject) -> None:
        match what:
            case "overrun" if self.holds and not self.overrun:
                self._settle_above_the_hold(data)
            case "end":
                self._end(session)
            case "open":
                self._open_again(session)
            case "turn":
                self._save_turn(session)
            case "die":
                self._die(owner)
            case "drain" if not self.draining:
                self._drain()

    def _settle_above_the_hold(self, data: st.DataObject) -> None:
        hold_id, hold = self._close(data)
        excess = data.draw(st.integers(1, 5000))
        self.settled += hold.amount
        self.overrun += excess
        message = settle(hold.key, hold_id, cost=hold.amount + excess, answer=None)
        self._check(self._tell(hold.owner, message), message)

    def _open_again(self, session: str) -> None:
        in_flight = any(hold.key.session_id == session for hold in self.holds.values())
        if session not in self.open and not in_flight:
            self._open(session)
            self.core.tick(self.now, self.now)

    def _save_turn(self, session: str) -> None:
        """Only when no call of the turn is under way, as sessions do."""
        mine = [key for key in self.calls if key.session_id == session]
        if session not in self.open or any(self.calls[key].answer is None for key in mine):
            return
        turn = TurnDone(session, "turn", 1, b"{}", (), (), (), (), Tally(), None, (1, 1), 0.0)
        entries = self._tell("a", SaveTurn(turn)).entries
        if session in self.saved:
            assert entries == [], "a checkpoint is journalled once"
            return
        assert entries == [turn]
        self.saved.add(session)
        for key in mine:
            del self.calls[key]

    def _end(self, session: str) -> None:
        """At any moment, even with calls waiting and in flight: they are forgotten."""
        tick = self._tell("a", EndSession(ended(session)))
        if session not in self.open:
            assert not tick.entries
            return
        self.open.discard(session)
        self.calls = {k: c for k, c in self.calls.items() if k.session_id != session}
        assert sum(isinstance(message, SessionEnded) for _, message in tick.mail) == 1
        rest = [letter for letter in tick.mail if not isinstance(letter[1], SessionEnded)]
        self._check(Tick(tick.entries, rest, tick.wake_in_s))

    def _die(self, owner: str) -> None:
        lost = [hold_id for hold_id, hold in self.holds.items() if hold.owner == owner]
        self.core.lose(owner, self.now)
        for hold_id in lost:
            self._book(self.holds.pop(hold_id).amount, "presumed", 0)
        self.closed += len(lost)
        for call in self.calls.values():
            if owner in call.owed:
                call.owed.remove(owner)
            if call.owner == owner:
                successor = call.owed[0] if call.owed and not call.answer else None
                call.owner, call.waiting, call.bound = successor, successor is not None, call.asked
        tick = self.core.tick(self.now, self.now)
        presumed = [e for e in tick.entries if isinstance(e, Settled)]
        assert {(e.hold_id, e.disposition) for e in presumed} == {(i, "presumed") for i in lost}
        self._check(tick)

    def _drain(self) -> None:
        self.draining = True
        self.core.drain()
        waiting = {
            (key, peer) for key, call in self.calls.items() if call.waiting for peer in call.owed
        }
        tick = self._without_who_lingers(self.core.tick(self.now, self.now))
        refused = {(m.key, peer) for peer, m in tick.mail if isinstance(m, Refused)}
        assert refused == waiting
        self._check(tick)
        assert not any(call.waiting for call in self.calls.values())

    # --- laws of one tick -------------------------------------------------------------------------

    def _check(self, tick: Tick, message: Settle | None = None) -> None:
        holds_before = bool(self.holds)
        entries = {entry.hold_id: entry for entry in tick.entries if isinstance(entry, Held)}
        settled = [entry for entry in tick.entries if isinstance(entry, Settled)]
        if message is not None:
            (entry,) = (e for e in settled if e.hold_id == message.hold_id)
            assert (entry.answer, entry.disposition) == (message.answer, message.disposition)
            if message.answer is not None:
                self.recorded.add((entry.key, message.answer))
        for peer, letter in tick.mail:
            match letter:
                case Granted(key, hold_id, attempt):
                    held = entries.pop(hold_id)  # journalled in the same tick
                    assert (held.key, held.attempt, held.owner) == (key, attempt, peer)
                    self._granted(key, hold_id, held.amount, peer)
                case Recorded(key, _, given):
                    assert (key, given) in self.recorded
                    if key in self.calls:
                        self.calls[key].owed.remove(peer)
                        self.calls[key].owner = None
                case Refused(key, why, _):
                    call = self.calls[key]
                    if why == "cap":
                        free = CAP - self.settled - self.presumed - self.overrun
                        assert not holds_before
                        assert self.overrun or call.bound > free
                    else:
                        assert self.draining
                    call.owed.remove(peer)
                    call.waiting, call.owner = False, None
                case _:
                    raise AssertionError(letter)
        assert not entries, "a hold that nobody was told of"

    def _granted(self, key: CallKey, hold_id: int, amount: int, peer: str) -> None:
        call = self.calls[key]
        assert not self.draining
        assert call.waiting
        assert amount == call.bound
        assert key not in self._in_flight(), "two holds for one call"
        call.waiting = False
        assert call.owner == peer
        self.holds[hold_id] = ModelHold(key, amount, peer)

    # --- laws at every moment ---------------------------------------------------------------------

    @invariant()
    def the_cap_is_kept(self) -> None:
        balance = self.core.ledger.balance
        assert balance.settled + balance.presumed + balance.held <= CAP

    @invariant()
    def the_picture_adds_up(self) -> None:
        picture = self.core.picture(0.0)
        balance, counters = picture.balance, picture.counters
        assert balance.held == sum(hold.amount for hold in self.holds.values())
        assert (balance.settled, balance.presumed) == (self.settled, self.presumed)
        assert balance.overrun == self.overrun
        assert counters.in_flight == len(self.holds)
        assert counters.waiting == sum(call.waiting for call in self.calls.values())
        assert counters.attempts == len(self.holds) + self.closed
        assert sum(picture.spent_by_role.values()) == balance.spent

    @invariant()
    def who_can_be_told_has_been_told(self) -> None:
        """Nobody waits for a call that is answered; nobody waits without a hold or a queue."""
        for call in self.calls.values():
            if call.answer is not None:
                assert not call.owed
        if not self.holds and not self.draining:
            assert not any(call.waiting for call in self.calls.values())

    def teardown(self) -> None:
        """Whatever happened: when all attempts end in answers, everybody has been told."""
        while self.holds or any(call.waiting for call in self.calls.values()):
            assert self.holds, "calls wait although nothing is in flight"
            hold_id, hold = next(iter(self.holds.items()))
            del self.holds[hold_id]
            self.closed += 1
            given = answer(f"answer {hold_id}", 0)
            if hold.key in self.calls:
                self.calls[hold.key].answer = given
            message = settle(
                hold.key, hold_id, disposition="released", cost=0, usage=Usage(), answer=given
            )
            self._check(self._tell(hold.owner, message), message)
        assert self.core.ledger.balance.held == 0

    def _close(self, data: st.DataObject) -> tuple[int, ModelHold]:
        hold_id = data.draw(st.sampled_from(sorted(self.holds)))
        self.closed += 1
        return hold_id, self.holds.pop(hold_id)

    # --- the model's books ------------------------------------------------------------------------

    def _open(self, session: str) -> None:
        opened = plan(session, order=int(session[1]))
        self.core.open_session("a", opened, NOTHING_KNOWN, NOTHING_KNOWN.snapshot, self.now, 0.0)
        self.open.add(session)
        self.moved[session] = self.now
        self.saved.discard(session)

    def _tell(self, peer: str, message: ToGovernor) -> Tick:
        self.now += 1.0
        self.core.handle(peer, message, self.now, self.now)
        tick = self.core.tick(self.now, self.now)
        self.core.sent(tick.mail)
        if isinstance(message, Settle):
            self.moved[message.key.session_id] = self.now
        return self._without_who_lingers(tick)

    def _without_who_lingers(self, tick: Tick) -> Tick:
        """The tick without those let go: of a drained run, long without a call, and without one."""
        for _, letter in tick.mail:
            if isinstance(letter, SuspendNow):
                assert self.draining
                assert letter.session_id in self.open
                assert self.now - self.moved[letter.session_id] >= GRACE_S
                assert all(key.session_id != letter.session_id for key in self._in_flight())
        mail = [one for one in tick.mail if not isinstance(one[1], SuspendNow)]
        return tick._replace(mail=mail)

    def _book(self, amount: int, disposition: Disposition, cost: int) -> None:
        if disposition == "settled":
            self.settled += cost
        elif disposition == "presumed":
            self.presumed += amount

    def _in_flight(self) -> set[CallKey]:
        """Calls that the open books know to be in flight."""
        return {hold.key for hold in self.holds.values() if hold.key in self.calls}


TestGovernorModel = GovernorMachine.TestCase
TestGovernorModel.settings = settings(max_examples=examples(80), stateful_step_count=40)
