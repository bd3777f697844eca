"""The governor's decisions, one law at a time; ``test_governor_model.py`` mixes them at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from matrix.admission.accounts import MOST_OF_A_CALL
from matrix.admission.breaker import CircuitBreaker
from matrix.admission.ledger import Balance
from matrix.admission.rates import Bucket, RateGroup, Remaining
from matrix.engine.governor.books import History, PartCaps
from matrix.engine.governor.core import DRIVER, GovernorCore, Tick
from matrix.engine.governor.history import NOTHING_KNOWN, fold_session
from matrix.engine.governor.lingering import GRACE_S
from matrix.engine.governor.refusals import DRAINING, PARKED
from matrix.engine.wire.messages import (
    EndSession,
    Granted,
    LetGo,
    OpenSession,
    ProviderClosed,
    Recorded,
    Refused,
    SaveTurn,
    SessionEnded,
    SessionOpened,
    SessionSuspended,
    Settle,
    StillOut,
    Supply,
    SuspendNow,
    SuspendSession,
    ToGovernor,
)
from matrix.model.entries import Ended, Held, Lent, Opened, Settled, Tally, TurnDone
from matrix.model.errors import ProtocolError
from matrix.model.money import show_usd
from matrix.model.records import CallKey, Failure, Phase, Usage
from tests.engine.plans import GROUP, answer, ask, ended, key, plan, settle

HELD = "one call of sim/counter is held at"


class Desk:
    """A core with one session open, spoken to one message and one tick at a time."""

    def __init__(
        self,
        cap: int = 1000,
        sessions: int = 1,
        groups: Mapping[str, RateGroup] | None = None,
        parts: PartCaps | None = None,
        history: History | None = None,
    ) -> None:
        self.core = GovernorCore(cap, groups or {GROUP: RateGroup()}, history, parts)
        for number in range(1, sessions + 1):
            opened = plan(f"s{number}", order=number)
            self.core.open_session(
                "worker", opened, NOTHING_KNOWN, NOTHING_KNOWN.snapshot, 0.0, 0.0
            )
        self.opening = self.tick()

    def tick(self, now: float = 0.0) -> Tick:
        tick = self.core.tick(now, now)
        self.core.sent(tick.mail)
        return tick

    def say(self, *messages: ToGovernor, peer: str = "worker", now: float = 0.0) -> Tick:
        for message in messages:
            self.core.handle(peer, message, now, now)
        return self.tick(now)


def letters(tick: Tick, kind: type[Any]) -> list[Any]:
    return [message for _, message in tick.mail if isinstance(message, kind)]


def test_opening_a_session_is_journalled_in_the_tick_that_answers_it() -> None:
    desk = Desk()
    assert desk.opening.entries == [Opened(plan(order=1), 0.0)]
    assert desk.opening.mail == [("worker", SessionOpened("s1", NOTHING_KNOWN.snapshot))]


def test_a_grant_comes_with_the_entry_of_its_hold() -> None:
    tick = Desk().say(ask(bound=70), now=3.0)
    assert tick.mail == [("worker", Granted(key(), 1, 1))]
    (held,) = tick.entries
    assert isinstance(held, Held)
    assert (held.hold_id, held.key, held.attempt, held.amount) == (1, key(), 1, 70)
    assert (held.owner, held.at) == ("worker", 3.0)


def test_an_answer_comes_with_one_entry_that_holds_settlement_and_answer() -> None:
    desk = Desk()
    desk.say(ask(bound=100))
    tick = desk.say(settle(key(), 1), now=2.0)
    assert tick.mail == [("worker", Recorded(key(), "digest", answer()))]
    (entry,) = tick.entries
    assert isinstance(entry, Settled)
    assert (entry.hold_id, entry.held, entry.cost, entry.answer) == (1, 100, 60, answer())
    assert entry.digest == "digest"
    assert desk.core.ledger.balance.settled == 60


def test_the_age_of_the_oldest_attempt_in_flight_is_that_of_the_first_let_go() -> None:
    desk = Desk()
    assert desk.core.picture(9.0).counters.oldest_s == 0.0
    desk.say(ask(), now=2.0)
    desk.say(ask(key(slot="1")), now=5.0)
    assert desk.core.picture(9.0).counters.oldest_s == 7.0
    desk.say(settle(key(), 1), now=9.0)
    assert desk.core.picture(9.5).counters.oldest_s == 4.5
    desk.say(settle(key(slot="1"), 2), now=10.0)
    assert desk.core.picture(99.0).counters.oldest_s == 0.0


def test_a_recorded_call_is_answered_without_money() -> None:
    desk = Desk()
    desk.say(ask())
    desk.say(settle(key(), 1))
    tick = desk.say(ask(), peer="another")
    assert tick == Tick([], [("another", Recorded(key(), "digest", answer()))], None)


def test_two_askers_of_one_call_have_one_hold_and_are_both_told() -> None:
    desk = Desk()
    first, second = desk.say(ask(), peer="a"), desk.say(ask(), peer="b")
    assert [peer for peer, _ in first.mail] == ["a"]
    assert second == Tick([], [], None)
    told = desk.say(settle(key(), 1), peer="a").mail
    assert told == [(peer, Recorded(key(), "digest", answer())) for peer in "ab"]


def test_when_the_owner_of_a_call_dies_the_next_asker_takes_its_place() -> None:
    desk = Desk()
    desk.say(ask(), peer="a")
    desk.say(ask(), peer="b")
    desk.core.lose("a", 1.0)
    assert letters(desk.tick(), Granted) == [Granted(key(), 2, 2)]
    told = desk.say(settle(key(), 2), peer="b").mail
    assert told == [("b", Recorded(key(), "digest", answer()))]


def test_between_two_attempts_a_call_still_belongs_to_who_pauses() -> None:
    desk = Desk()
    desk.say(ask(), peer="a")
    desk.say(settle(key(), 1, disposition="released", cost=0, answer=None), peer="a")
    assert desk.say(ask(), peer="b") == Tick([], [], None)
    desk.core.lose("a", 1.0)
    assert desk.tick().mail == [("b", Granted(key(), 2, 2))]


# --- a governor in the place of one that died -----------------------------------------------------


def successor(*holds: Held) -> Desk:
    """A governor that knows of holds whose owner, ``worker``, is alive."""
    desk = Desk(sessions=0, history=History(last_hold_id=9))
    for held in holds:
        desk.core.restore(held, GROUP, since=0.0)
    desk.core.rejoin("worker", plan(), NOTHING_KNOWN, 0.0, 0.0)
    return desk


OUT = Held(7, key(), 1, "counter", "sim/counter", 300, "worker", 0.0)


def test_what_a_living_process_has_in_flight_stays_held_and_is_settled_by_it() -> None:
    desk = successor(OUT)
    assert desk.core.ledger.balance.held == 300
    assert desk.say(ask()) == Tick([], [], None), "joined: its attempt is out"
    told = desk.say(settle(key(), 7, cost=100))
    assert letters(told, Recorded) == [Recorded(key(), "digest", answer())]
    assert desk.core.ledger.balance == Balance(1000, 100, 0, 0, 0)


def test_a_hold_that_nobody_was_told_of_is_released() -> None:
    desk = successor(OUT)
    (entry,) = desk.say(StillOut(())).entries
    assert isinstance(entry, Settled)
    assert (entry.disposition, entry.cost, entry.error_class) == ("released", 0, "NeverSent")
    assert letters(desk.say(ask()), Granted) == [Granted(key(), 10, 2)]


def test_what_is_repeated_to_a_new_governor_changes_nothing_the_second_time() -> None:
    desk = successor(OUT)
    done = checkpoint("turn", 1)
    for message in (settle(key(), 7), done, ask(), EndSession(ended())):
        desk.say(message)
        entries = desk.say(message).entries
        assert entries == []


def test_a_session_whose_worker_died_goes_on_with_its_calls_as_they_are() -> None:
    desk = Desk()
    desk.say(ask(), peer="client")
    (lost,) = desk.core.lose("worker", 1.0)
    assert (lost.plan, lost.done) == (plan(order=1), None)
    desk.core.open_session(
        "successor", plan(order=1), NOTHING_KNOWN, NOTHING_KNOWN.snapshot, 2.0, 2.0
    )
    assert desk.say(ask(), peer="client").mail == [
        ("successor", SessionOpened("s1", NOTHING_KNOWN.snapshot))
    ], "its call is still out, and joined"
    assert desk.core.lose("successor", 3.0)


def test_a_call_of_a_turn_that_is_over_is_not_paid_again() -> None:
    """Whoever asks has not seen the newest checkpoint: it is let go, to go on from there."""
    desk = Desk()
    desk.say(ask())
    desk.say(settle(key(), 1), checkpoint("turn", 1))
    late = desk.say(ask(key(slot="1")), ask(), ask(key(turn=2)))
    assert [entry.key for entry in late.entries if isinstance(entry, Held)] == [key(turn=2)]
    assert {(one.key.turn, one.why) for one in letters(late, Refused)} == {(1, "draining")}


def test_a_call_that_waits_when_its_turn_is_over_takes_no_money_and_no_place() -> None:
    desk = Desk(groups={GROUP: RateGroup(concurrency=1)})
    desk.say(ask(), ask(key(slot="1")))
    over = desk.say(checkpoint("turn", 1))
    assert [one.key for one in letters(over, Refused)] == [key(slot="1")]
    out = desk.say(settle(key(), 1, cost=10))
    assert letters(out, Recorded) == [Recorded(key(), "digest", answer())]
    assert letters(desk.say(ask(key(turn=2))), Granted)
    assert desk.core.ledger.balance == Balance(1000, 10, 0, 100, 0)


def test_a_session_that_another_worker_has_is_not_let_go_by_the_one_before() -> None:
    desk = Desk()
    desk.core.open_session("next", plan(order=1), NOTHING_KNOWN, NOTHING_KNOWN.snapshot, 1.0, 1.0)
    assert not letters(desk.say(SuspendSession("s1")), SessionSuspended), "it came late"
    assert desk.core.is_open("s1")
    assert letters(desk.say(SuspendSession("s1"), peer="next"), SessionSuspended)
    assert not desk.core.is_open("s1")


def test_a_final_error_is_a_recorded_answer() -> None:
    desk = Desk()
    desk.say(ask())
    failed = answer("", 0)._replace(failure=Failure("RequestRejected", "no such model"))
    desk.say(settle(key(), 1, disposition="released", error_class="RequestRejected", answer=failed))
    again = desk.say(ask())
    assert again.mail == [("worker", Recorded(key(), "digest", failed))]
    assert again.entries == []


def test_an_answer_from_before_a_crash_is_recorded_and_attempts_count_on() -> None:
    desk = Desk()
    desk.say(ask(key(slot="0")), ask(key(slot="1")))
    old = desk.say(settle(key(slot="0"), 1))
    history = fold_session(
        [
            Held(1, key(slot="0"), 1, "counter", "m", 100, "w", 0.0),
            Held(2, key(slot="1"), 1, "counter", "m", 100, "w", 0.0),
            *old.entries,
        ]
    )
    core = GovernorCore(1000, {}, History(settled=60, presumed=100, last_hold_id=2))
    core.open_session("w", plan(), history, history.snapshot, 0.0, 0.0)
    core.handle("w", ask(key(slot="0")), 0.0, 0.0)
    core.handle("w", ask(key(slot="1")), 0.0, 0.0)
    mail = [message for _, message in core.tick(0.0, 0.0).mail]
    assert mail[1:] == [
        Recorded(key(slot="0"), "digest", answer()),
        Granted(key(slot="1"), 3, 2),
    ]


def test_settling_twice_or_ending_twice_changes_nothing() -> None:
    desk = Desk()
    desk.say(ask())
    desk.say(settle(key(), 1))
    before = desk.core.picture(0.0)
    told = desk.say(settle(key(), 1), settle(key(), 99))
    assert told.entries == []
    assert set(told.mail) == {("worker", Recorded(key(), "digest", answer()))}
    first = desk.say(EndSession(ended()))
    assert first.entries == [ended()]
    assert first.mail == [(DRIVER, SessionEnded(plan(order=1), ended()))]
    assert desk.say(EndSession(ended())) == Tick([], [], None)
    assert desk.say(settle(key(), 1)) == Tick([], [], None)
    assert desk.core.picture(0.0).balance == before.balance


def test_draining_refuses_who_waits_and_who_asks_later_and_lets_what_is_in_flight_settle() -> None:
    desk = Desk(groups={GROUP: RateGroup(concurrency=1)})
    desk.say(ask(key(slot="0")), ask(key(slot="1")))
    desk.core.drain()
    assert desk.tick().mail == [("worker", Refused(key(slot="1"), "draining", DRAINING))]
    assert desk.say(ask(key(slot="2"))).mail == [
        ("worker", Refused(key(slot="2"), "draining", DRAINING))
    ]
    assert letters(desk.say(settle(key(slot="0"), 1)), Recorded)
    assert desk.say(ask(key(slot="0"))).mail == [
        ("worker", Recorded(key(slot="0"), "digest", answer()))
    ]
    tick = desk.say(SuspendSession("s1"))
    assert tick == Tick(
        [], [("worker", LetGo("s1")), (DRIVER, SessionSuspended(plan(order=1)))], None
    )


def test_a_call_that_does_not_fit_waits_while_money_is_held_and_is_refused_after_that() -> None:
    desk = Desk(cap=150)
    assert letters(desk.say(ask(key(slot="0"), bound=100)), Granted)
    assert desk.say(ask(key(slot="1"), bound=100)).mail == []
    told = desk.say(settle(key(slot="0"), 1, cost=60))
    reason = f"cap: {HELD} {show_usd(100)}, and {show_usd(90)} is left"
    assert letters(told, Refused) == [Refused(key(slot="1"), "cap", reason)]


def test_money_that_comes_back_goes_to_the_oldest_session_first() -> None:
    desk = Desk(cap=100, sessions=3)
    desk.say(ask(key("s1"), bound=100, order=1))
    desk.say(ask(key("s3"), bound=40, order=3), ask(key("s2"), bound=40, order=2))
    told = desk.say(settle(key("s1"), 1, disposition="released", cost=0))
    assert [grant.key.session_id for grant in letters(told, Granted)] == ["s2", "s3"]


def test_a_retry_is_a_new_attempt_with_a_new_hold_and_no_answer_before_it() -> None:
    desk = Desk()
    desk.say(ask())
    lost = settle(key(), 1, disposition="presumed", cost=0, usage=Usage(), answer=None)
    assert desk.say(lost).mail == []
    assert letters(desk.say(ask()), Granted) == [Granted(key(), 2, 2)]
    assert desk.core.picture(0.0).counters.retries == 1
    assert desk.core.ledger.balance.presumed == 100


def test_a_429_pauses_its_whole_limit_group() -> None:
    desk = Desk(groups={GROUP: RateGroup(), "other": RateGroup()})
    desk.say(ask(key(slot="0")))
    desk.say(
        settle(
            key(slot="0"),
            1,
            disposition="released",
            error_class="RateLimited",
            answer=None,
            pause_s=9.0,
        ),
        now=100.0,
    )
    paused = desk.say(ask(key(slot="1")), ask(key(slot="2"), group="other"), now=101.0)
    assert [grant.key.slot for grant in letters(paused, Granted)] == ["2"]
    assert paused.wake_in_s == pytest.approx(8.0)
    assert [grant.key.slot for grant in letters(desk.tick(now=109.0), Granted)] == ["1"]


def checkpoint(phase: Phase, turn: int) -> SaveTurn:
    return SaveTurn(TurnDone("s1", phase, turn, b"{}", (), (), (), (), Tally(), None, (1, 1), 0.0))


def test_a_checkpoint_forgets_the_calls_of_its_own_turn_only() -> None:
    desk = Desk()
    keys = [
        CallKey("s1", "turn", 1, "0"),
        CallKey("s1", "turn", 2, "0"),
        CallKey("s1", "finish", 1, "0"),
    ]
    for hold_id, one in enumerate(keys, start=1):
        desk.say(ask(one))
        desk.say(settle(one, hold_id))
    assert desk.say(checkpoint("turn", 1)).entries == [checkpoint("turn", 1).turn]
    answered = [bool(letters(desk.say(ask(one)), Recorded)) for one in keys]
    assert answered == [False, True, True]


def test_what_a_dead_process_had_in_flight_is_presumed_spent() -> None:
    desk = Desk()
    desk.say(ask(key(slot="0"), bound=70), peer="dead")
    desk.say(ask(key(slot="1"), bound=50), peer="alive")
    assert desk.core.lose("dead", 4.0) == []
    (entry,) = desk.tick().entries
    assert isinstance(entry, Settled)
    assert (entry.hold_id, entry.disposition, entry.cost) == (1, "presumed", 70)
    assert (entry.answer, entry.error_class, entry.at) == (None, "ProcessDied", 4.0)
    assert (desk.core.ledger.presumed, desk.core.ledger.held) == (70, 50)
    assert desk.core.lose("dead", 5.0) == []
    assert letters(desk.say(ask(key(slot="0")), peer="successor"), Granted) == [
        Granted(key(slot="0"), 3, 2)
    ]


def test_an_overrun_closes_admission() -> None:
    desk = Desk(cap=1000)
    desk.say(ask(bound=100))
    desk.say(settle(key(), 1, cost=130, answer=answer(cost=130)))
    balance = desk.core.ledger.balance
    assert (balance.settled, balance.overrun) == (100, 30)
    refused = desk.say(ask(key(slot="1"), bound=1))
    ((peer, told),) = refused.mail
    assert isinstance(told, Refused)
    assert (peer, told.key, told.why) == ("worker", key(slot="1"), "cap")
    assert told.reason == (
        "overrun: an attempt of counter on sim/counter cost $1.30e-07 on a hold of $1.00e-07, so "
        "nothing more is sent in this run"
    )


def test_the_picture_adds_up() -> None:
    desk = Desk(groups={GROUP: RateGroup(concurrency=3)})
    desk.say(*(ask(key(slot=str(n), turn=10), role="ab"[n % 2], bound=100) for n in range(5)))
    desk.say(
        settle(key(slot="0", turn=10), 1),
        settle(
            key(slot="1", turn=10), 2, disposition="presumed", cost=0, usage=Usage(), answer=None
        ),
        checkpoint("turn", 9),
    )
    picture = desk.core.picture(0.0)
    counters = picture.counters
    assert (counters.attempts, counters.answered, counters.retries) == (5, 1, 0)
    assert (counters.in_flight, counters.waiting, counters.turns) == (3, 0, 1)
    assert (counters.tokens_in, counters.tokens_out) == (20, 1)
    assert picture.balance.spent == 60 + 100 == picture.open_spent
    assert picture.spent_by_role == {"a": 60, "b": 100}
    assert picture.balance.held == 300


def test_a_call_of_a_session_that_is_not_open_is_refused() -> None:
    desk = Desk()
    desk.say(EndSession(ended()))
    assert letters(desk.say(ask()), Refused) == [Refused(key(), "draining", DRAINING)]


def test_a_session_must_be_opened_with_its_history() -> None:
    with pytest.raises(ProtocolError):
        Desk().say(OpenSession(plan()))


def test_a_prelude_is_no_open_spending() -> None:
    core = GovernorCore(1000, {})
    core.open_session("w", plan(part="prelude"), NOTHING_KNOWN, NOTHING_KNOWN.snapshot, 0.0, 0.0)
    core.handle("w", ask(), 0.0, 0.0)
    core.tick(0.0, 0.0)
    core.handle("w", settle(key(), 1), 0.0, 0.0)
    assert core.picture(0.0).open_spent == 0
    assert core.picture(0.0).balance.spent == 60


def test_ended_sessions_carry_their_whole_plan_to_the_driver() -> None:
    desk = Desk(sessions=2)
    tick = desk.say(EndSession(ended("s2", "errored")))
    (news,) = letters(tick, SessionEnded)
    assert news.plan == plan("s2", order=2)
    assert isinstance(tick.entries[0], Ended)


# --- caps on parts of the run -------------------------------------------------------------------


def test_a_session_that_reaches_its_own_cap_is_told_so_and_holds_up_nobody() -> None:
    desk = Desk(sessions=2, parts=PartCaps(session=150))
    first = desk.say(ask(key("s1"), bound=100), ask(key("s2"), bound=100))
    assert len(letters(first, Granted)) == 2
    waits = desk.say(ask(key("s1", slot="1"), bound=100), ask(key("s2", slot="1"), bound=50))
    assert [granted.key for granted in letters(waits, Granted)] == [key("s2", slot="1")]
    assert letters(waits, Refused) == [], "its first attempt may come back cheaper"
    told = desk.say(settle(key("s1"), 1, cost=60))
    (refused,) = letters(told, Refused)
    assert (refused.key, refused.why) == (key("s1", slot="1"), "session-cap")
    smaller = key("s1", slot="2")
    assert desk.say(ask(smaller, bound=90)).mail == [("worker", Granted(smaller, 4, 1))]


def test_a_role_that_reaches_its_cap_ends_sessions_as_the_runs_cap_does() -> None:
    desk = Desk(parts=PartCaps(roles={"counter": 100}))
    desk.say(ask(bound=100))
    told = desk.say(settle(key(), 1, cost=60), ask(key(slot="1"), bound=50))
    assert letters(told, Refused) == [
        Refused(
            key(slot="1"),
            "cap",
            f"cap of role counter: {HELD} {show_usd(50)}, and {show_usd(40)} is left",
        )
    ]
    free = desk.say(ask(key(slot="2"), bound=500, role="somebody else"))
    assert len(letters(free, Granted)) == 1


def test_what_parts_spent_in_earlier_lives_counts() -> None:
    history = History(settled=90, spent_by_role={"counter": 90})
    desk = Desk(parts=PartCaps(roles={"counter": 100}), history=history)
    (refused,) = letters(desk.say(ask(bound=20)), Refused)
    assert refused == Refused(
        key(), "cap", f"cap of role counter: {HELD} {show_usd(20)}, and {show_usd(10)} is left"
    )
    core = GovernorCore(1000, {GROUP: RateGroup()}, None, PartCaps(session=100))
    core.open_session(
        "worker", plan(), NOTHING_KNOWN._replace(spent=95), NOTHING_KNOWN.snapshot, 0.0, 0.0
    )
    core.handle("worker", ask(bound=20), 0.0, 0.0)
    (refused,) = letters(core.tick(0.0, 0.0), Refused)
    assert refused.why == "session-cap"


def test_what_variants_share_is_no_sessions_own_money() -> None:
    core = GovernorCore(1000, {GROUP: RateGroup()}, None, PartCaps(session=10))
    core.open_session(
        "worker", plan(part="prelude"), NOTHING_KNOWN, NOTHING_KNOWN.snapshot, 0.0, 0.0
    )
    core.handle("worker", ask(bound=500), 0.0, 0.0)
    assert len(letters(core.tick(0.0, 0.0), Granted)) == 1


# --- the response cache, reports of limits, overruns ----------------------------------------------


def test_an_answer_from_the_cache_costs_nothing_and_is_journalled_before_it_is_seen() -> None:
    desk = Desk(cap=0)
    bought = answer(cost=0)
    tick = desk.say(Supply(key(), "digest", "counter", "sim/counter", bought, saved=60))
    (entry,) = tick.entries
    assert isinstance(entry, Settled)
    assert (entry.disposition, entry.cost, entry.held, entry.saved) == ("cached", 0, 0, 60)
    assert tick.mail == [("worker", Recorded(key(), "digest", bought))]
    counters = desk.core.picture(0.0).counters
    assert (counters.answered, counters.attempts) == (1, 0)
    assert (counters.from_cache, counters.saved) == (1, 60)
    again = desk.say(Supply(key(), "digest", "counter", "sim/counter", answer("7", 0), saved=60))
    assert again.entries == []
    assert again.mail == [("worker", Recorded(key(), "digest", bought))]


def test_a_cached_answer_does_not_replace_a_call_that_is_under_way() -> None:
    desk = Desk()
    desk.say(ask())
    assert desk.say(Supply(key(), "digest", "counter", "sim/counter", answer(), 60)).mail == []
    told = desk.say(settle(key(), 1))
    assert letters(told, Recorded) == [Recorded(key(), "digest", answer())]


LENT = Lent(key(), "digest", answer("of the parent"), 60)
"""What the parent of a session was answered at the place of its first call."""


def desk_of_a_child(**changes: Any) -> Desk:
    """A desk of an open session that has an answer of its parent's at hand, and no money."""
    desk = Desk(sessions=0, cap=0, **changes)
    past = NOTHING_KNOWN._replace(lent={LENT.key: LENT})
    desk.core.open_session("worker", plan(), past, past.snapshot, 0.0, 0.0)
    desk.tick()
    return desk


@pytest.mark.parametrize(
    "asked",
    [ask(), Supply(key(), "digest", "counter", "sim/counter", answer("of another run", 0), 9)],
    ids=["nothing found", "found in the cache"],
)
def test_what_the_parent_was_answered_goes_before_money_and_before_the_cache(
    asked: ToGovernor,
) -> None:
    desk = desk_of_a_child()
    tick = desk.say(asked)
    given = LENT.answer._replace(cost=0, cached=True)
    assert tick.mail == [("worker", Recorded(key(), "digest", given))]
    (entry,) = tick.entries
    assert isinstance(entry, Settled)
    assert (entry.disposition, entry.cost, entry.held, entry.saved) == ("cached", 0, 0, 60)
    assert desk.core.picture(0.0).counters.from_cache == 1
    again = desk.say(asked)
    assert again == Tick([], [("worker", Recorded(key(), "digest", given))], None)


@pytest.mark.parametrize("other", [{"digest": "another request"}, {"fresh": True}])
def test_another_request_and_one_that_wants_a_fresh_answer_are_asked(other: Any) -> None:
    assert [one.why for one in letters(desk_of_a_child().say(ask(**other)), Refused)] == ["cap"]


def test_a_session_that_ends_says_nothing_of_luck_with_its_parents_answers() -> None:
    """What the cache spared is not counted on for sessions to come; they all have a parent."""
    desk = desk_of_a_child()
    desk.say(ask())
    (told,) = letters(desk.say(EndSession(ended())), SessionEnded)
    assert told.saved == 0


def test_what_a_provider_says_is_left_slows_its_group_down() -> None:
    desk = Desk(groups={GROUP: RateGroup(requests=Bucket(1.0, 60.0, 60.0, 0.0))})
    desk.say(ask())
    desk.say(settle(key(), 1, took_s=0.0, left=Remaining(requests=0)))
    told = desk.say(*(ask(key(slot=f"{number}")) for number in range(1, 4)))
    assert len(letters(told, Granted)) == 1
    assert told.wake_in_s == pytest.approx(1.0)


def test_a_model_that_cost_more_than_its_hold_is_held_dearer_from_then_on() -> None:
    desk = Desk(history=History(inflation={"sim/counter": 2.5}))
    desk.say(ask(bound=100))
    assert desk.core.ledger.balance.held == 250
    desk.say(settle(key(), 1, cost=500))
    assert desk.core.ledger.balance.overrun == 250
    told = desk.say(ask(key(slot="1"), bound=100))
    assert [refused.why for refused in letters(told, Refused)] == ["cap"]


# --- refused accounts -----------------------------------------------------------------------------


def refused(slot: str, hold_id: int, session: str = "s1") -> Settle:
    """An attempt that found its account refused."""
    failure = Failure("AuthenticationFailed", "401: no such key")
    return settle(
        key(session, slot=slot),
        hold_id,
        disposition="released",
        cost=0,
        usage=Usage(),
        error_class="AuthenticationFailed",
        answer=answer("", 0)._replace(failure=failure),
    )


def parked(slot: str, session: str = "s1") -> Refused:
    return Refused(key(session, slot=slot), "parked", PARKED)


def test_a_call_whose_account_is_refused_is_not_over_and_is_asked_again_after_a_pause() -> None:
    desk = Desk()
    desk.say(ask(key(slot="0")))
    told = desk.say(refused("0", 1))
    (entry,) = told.entries
    assert isinstance(entry, Settled)
    assert (entry.disposition, entry.error_class, entry.answer) == (
        "released", "AuthenticationFailed", None,
    )  # fmt: skip
    assert told.mail == [("worker", parked("0"))]
    waiting = desk.say(ask(key(slot="0")), now=0.25)
    assert (waiting.mail, waiting.wake_in_s) == ([], 0.75)
    assert desk.core.picture(0.0).counters.waiting == 1
    assert letters(desk.tick(1.0), Granted) == [Granted(key(slot="0"), 2, 2)]
    told = desk.say(settle(key(slot="0"), 2), now=1.0)
    assert letters(told, Recorded) == [Recorded(key(slot="0"), "digest", answer())]
    assert desk.core.picture(0.0).counters.waiting == 0


def test_three_refusals_in_a_row_drain_and_leave_every_session_open() -> None:
    desk = Desk(sessions=2, groups={GROUP: RateGroup(concurrency=3)})
    desk.say(*(ask(key(slot=str(n))) for n in range(3)), ask(key("s2")))
    assert desk.say(refused("0", 1), refused("1", 2)).mail[:2] == [
        ("worker", parked("0")),
        ("worker", parked("1")),
    ]
    told = desk.say(refused("2", 3))
    assert (DRIVER, ProviderClosed(GROUP, "sim/counter", "401: no such key")) in told.mail
    assert desk.core.draining
    assert ("worker", parked("2")) in told.mail
    assert all(entry.answer is None for entry in told.entries if isinstance(entry, Settled))
    again = desk.say(*(ask(key(slot=str(n))) for n in range(3)))
    assert {one.why for one in letters(again, Refused)} == {"draining"}
    assert letters(desk.say(SuspendSession("s1")), SessionSuspended)


def test_a_provider_that_does_not_answer_for_long_drains_and_says_meanwhile_when_it_is_tried() -> (
    None
):
    desk, now, hold_id = (
        Desk(groups={GROUP: RateGroup(breaker=CircuitBreaker(threshold=1))}),
        0.0,
        0,
    )
    desk.say(ask())
    while not desk.core.draining:
        hold_id += 1
        told = desk.say(down(hold_id), now=now)
        said = desk.core.picture(0.0).counters.trouble
        assert said.startswith(f"{GROUP} does not answer; next try in ")
        assert said.endswith("s: 503: away"), "what the provider said stays, once"
        asked = desk.say(ask(), now=now)
        now += asked.wake_in_s or 0.0
        desk.tick(now)
    (closed,) = (letter for _, letter in told.mail if isinstance(letter, ProviderClosed))
    assert closed == ProviderClosed(GROUP, "sim/counter", "503: away", silent=True)
    assert now > 14 * 60
    assert letters(desk.say(SuspendSession("s1")), SessionSuspended), "its sessions stay open"


def down(hold_id: int) -> Settle:
    """An attempt that found nobody, and is tried again."""
    return settle(
        key(),
        hold_id,
        disposition="released",
        cost=0,
        usage=Usage(),
        error_class="ProviderUnavailable",
        answer=None,
        trouble="503: away",
    )


def test_an_answer_of_the_account_between_them_sets_the_count_back() -> None:
    desk = Desk()
    for number in range(8):
        slot, good = str(number), f"good {number}"
        desk.say(ask(key(slot=slot)), ask(key(slot=good)))
        desk.say(refused(slot, 2 * number + 1), settle(key(slot=good), 2 * number + 2))
    assert not desk.core.draining


def test_a_call_that_is_refused_while_its_account_answers_others_is_over_after_six() -> None:
    desk, now, hold_id = Desk(), 0.0, 0
    for number in range(MOST_OF_A_CALL):
        good = f"good {number}"
        desk.say(ask(key(slot="0")), ask(key(slot=good)), now=now)
        told = desk.say(settle(key(slot=good), hold_id + 2), refused("0", hold_id + 1), now=now)
        hold_id, now = hold_id + 2, now + 100.0
    assert not desk.core.draining
    assert letters(told, Recorded)[-1].answer.failure == Failure(
        "AuthenticationFailed", "401: no such key"
    )
    assert isinstance(told.entries[-1], Settled)
    assert told.entries[-1].answer is not None


def test_a_governor_that_takes_over_parks_a_call_that_was_parked_before_and_never_told() -> None:
    desk = Desk()
    desk.say(ask(key(slot="0")))
    desk.say(refused("0", 1))
    told = desk.say(refused("0", 1))
    assert (told.entries, told.mail) == ([], [("worker", parked("0"))])


def test_a_parked_call_goes_on_with_who_else_asked_for_it_when_its_process_dies() -> None:
    desk = Desk()
    desk.say(ask(key(slot="0")))
    desk.say(refused("0", 1))
    desk.say(ask(key(slot="0")))
    desk.say(ask(key(slot="0")), peer="other")
    desk.core.lose("worker", 0.0)
    told = desk.tick()
    assert letters(told, Granted) == [Granted(key(slot="0"), 2, 2)]
    assert desk.core.picture(0.0).counters.waiting == 0


def test_a_session_that_is_let_go_takes_its_parked_calls_with_it() -> None:
    desk = Desk()
    desk.say(ask(key(slot="0")))
    desk.say(refused("0", 1), ask(key(slot="0")))
    assert desk.core.picture(0.0).counters.waiting == 1
    assert desk.say(SuspendSession("s1")).wake_in_s is None
    assert desk.core.picture(0.0).counters.waiting == 0


def drained(sessions: int) -> Desk:
    """One whose run drains from the time 0 on."""
    desk = Desk(sessions=sessions)
    desk.core.drain()
    assert desk.tick().wake_in_s == GRACE_S
    return desk


def test_a_session_without_a_call_in_flight_is_let_go_a_while_after_the_run_drains() -> None:
    desk = drained(sessions=2)
    assert not letters(desk.tick(GRACE_S - 1), SuspendNow)
    assert desk.tick(GRACE_S).mail == [
        ("worker", SuspendNow("s1")),
        ("worker", SuspendNow("s2")),
    ]
    desk.say(SuspendSession("s1"), now=GRACE_S)
    assert not letters(desk.tick(2 * GRACE_S - 1), SuspendNow)
    again = letters(desk.tick(2 * GRACE_S), SuspendNow)
    assert again == [SuspendNow("s2")], "who is still there is asked again"


def test_a_call_in_flight_is_waited_for_and_what_its_session_makes_of_the_answer() -> None:
    desk = Desk(sessions=2)
    desk.say(ask(key("s1")))
    desk.core.drain()
    desk.tick(0.0)
    assert desk.core.picture(0.0).idle == 1
    assert letters(desk.tick(GRACE_S), SuspendNow) == [SuspendNow("s2")]
    assert not letters(desk.tick(9 * GRACE_S), SuspendNow)[1:]
    desk.say(settle(key("s1"), 1), now=100.0)
    assert SuspendNow("s1") not in letters(desk.tick(100.0 + GRACE_S - 1), SuspendNow)
    assert SuspendNow("s1") in letters(desk.tick(100.0 + GRACE_S), SuspendNow)


def test_while_a_run_goes_on_nobody_is_let_go_for_what_its_code_does() -> None:
    desk = Desk()
    assert desk.tick(1_000_000.0) == Tick([], [], None)
    assert desk.core.picture(1_000_000.0).idle == 0
