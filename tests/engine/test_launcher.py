"""What is opened and when: rounds in order and whole, preludes first, never above the limits."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.admission.ledger import Balance
from matrix.admission.rounds import CostEstimate
from matrix.engine.launcher import AtCap, Launcher, Past
from matrix.engine.messages import Counters, Picture
from matrix.model.entries import Ended, Share, Tally
from matrix.model.plan import Cell, Plan
from matrix.model.records import Outcome, SessionPlan

COST = 100
"""What every session costs, and its upper estimate."""


def plan_of(cells: int, sessions: int, *, preludes: bool) -> Plan:
    return Plan(
        tuple(
            Cell(
                f"scenario-{n // 2}", "counter", {"n": str(n)}, {}, {}, {}, 1 if preludes else None
            )
            for n in range(cells)
        ),
        sessions,
        1,
        10,
        60.0,
    )


def picture(spent: int = 0, cap: int = 10**9, open_spent: int = 0, held: int = 0) -> Picture:
    return Picture(Balance(cap, spent, 0, held, 0), Counters(), open_spent, {})


def launcher(
    plan: Plan,
    *,
    limit: int = 1000,
    at_cap: AtCap = "whole-rounds",
    done: Sequence[str] = (),
    begun: Mapping[str, int] | None = None,
) -> Launcher:
    return Launcher(
        plan=plan,
        at_cap=at_cap,
        limit=limit,
        upper=[CostEstimate(COST) for _ in plan.cells],
        prelude_upper=10,
        done={session_id: Past("completed", 1.0) for session_id in done},
        begun=begun or {},
    )


def end(plan: SessionPlan, outcome: Outcome = "completed") -> Ended:
    tally = Tally(1.0, {"counter": Share(1, 1, 1, COST)})
    return Ended(plan.session_id, outcome, "", "", 1, 1.0, tally, 0.0)


def everything(plan: Plan) -> list[SessionPlan]:
    return [session for planned in plan.all_rounds() for session in planned.sessions]


@settings(deadline=None)
@given(
    cells=st.integers(1, 5),
    sessions=st.integers(1, 23),
    limit=st.integers(1, 9),
    preludes=st.booleans(),
    at_cap=st.sampled_from(["whole-rounds", "spend-all"]),
    done=st.sets(st.integers(0, 22)),
    order=st.randoms(use_true_random=False),
)
def test_every_session_is_opened_once_after_its_prelude_and_within_the_limit(
    cells: int,
    sessions: int,
    limit: int,
    preludes: bool,
    at_cap: AtCap,
    done: set[int],
    order: random.Random,
) -> None:
    plan = plan_of(cells, sessions, preludes=preludes)
    whole = everything(plan)
    before = [whole[n].session_id for n in done if n < len(whole)]
    it = launcher(plan, limit=limit, at_cap=at_cap, done=before)
    opened: list[SessionPlan] = []
    ready: set[str] = set()
    under_way: list[SessionPlan] = []
    while not it.finished:
        while True:
            taken = it.take(picture())
            opened += taken
            under_way += taken
            for one in taken:
                assert one.prelude_id is None or one.prelude_id in ready
            if not (it.wants_round() and it.next_round(picture())):
                break
        assert len(under_way) == it.open_count <= limit
        if under_way:
            over = under_way.pop(order.randrange(len(under_way)))
            ready.add(over.session_id)
            it.ended(over, end(over))
    ids = [one.session_id for one in opened if one.part == "play"]
    assert sorted([*ids, *before]) == sorted(one.session_id for one in whole)
    prepared = [one.session_id for one in opened if one.part == "prelude"]
    assert len(set(prepared)) == len(prepared)
    assert set(prepared) == {one.prelude_id for one in opened if one.prelude_id}
    if not preludes:
        assert [one.order for one in opened] == sorted(one.order for one in opened)


def test_a_round_is_lined_up_whole_or_not_at_all() -> None:
    it = launcher(plan_of(4, 12, preludes=False))
    assert it.next_round(picture(cap=4 * COST))
    assert len(it.take(picture())) == 4
    assert not it.next_round(picture(cap=8 * COST - 1))
    assert not it.cap_reached, "what is open may turn out cheaper"
    assert it.next_round(picture(cap=8 * COST))
    assert len(it.take(picture())) == 4


def test_what_open_sessions_have_spent_is_not_counted_twice() -> None:
    it = launcher(plan_of(4, 12, preludes=False))
    it.next_round(picture())
    it.take(picture())
    assert it.next_round(picture(spent=150, open_spent=150, cap=8 * COST))


def test_when_nothing_is_open_and_a_round_does_not_fit_the_cap_is_reached() -> None:
    it = launcher(plan_of(2, 8, preludes=False))
    it.next_round(picture())
    for one in it.take(picture()):
        it.ended(one, end(one))
    assert not it.next_round(picture(spent=2 * COST, cap=4 * COST - 1))
    assert it.cap_reached
    assert it.finished


def test_spend_all_lines_rounds_up_whatever_they_may_cost() -> None:
    it = launcher(plan_of(2, 8, preludes=False), at_cap="spend-all")
    assert it.next_round(picture(cap=1))


def test_once_the_cap_has_cut_a_session_short_nothing_more_is_opened() -> None:
    it = launcher(plan_of(3, 9, preludes=False), limit=2)
    it.next_round(picture())
    first, second = it.take(picture())
    it.ended(first, end(first, "censored"))
    assert it.cap_reached
    assert it.take(picture()) == []
    assert not it.wants_round()
    assert not it.finished
    it.ended(second, end(second))
    assert it.finished


def test_sessions_of_a_prelude_that_was_cut_short_are_not_opened() -> None:
    it = launcher(plan_of(2, 4, preludes=True))
    it.next_round(picture())
    (prelude,) = it.take(picture())
    assert prelude.part == "prelude"
    it.ended(prelude, end(prelude, "censored"))
    assert it.take(picture()) == []
    assert it.finished


def test_a_stopped_launcher_opens_nothing_and_is_finished_when_all_are_back() -> None:
    it = launcher(plan_of(2, 8, preludes=False))
    it.next_round(picture())
    first, second = it.take(picture())
    it.stop()
    assert not it.wants_round()
    it.suspended(first)
    assert not it.finished
    it.ended(second, end(second))
    assert it.finished


def test_a_run_of_which_everything_is_done_is_finished_without_opening_anything() -> None:
    plan = plan_of(2, 8, preludes=True)
    it = launcher(plan, done=[one.session_id for one in everything(plan)])
    while it.wants_round() and it.next_round(picture(cap=0)):
        assert it.take(picture()) == []
    assert it.finished
    assert not it.cap_reached


def test_what_an_earlier_life_spent_on_a_begun_session_is_not_needed_again() -> None:
    plan = plan_of(2, 4, preludes=False)
    begun = {plan.round(0).sessions[0].session_id: COST // 2}
    needed = 2 * COST  # what was spent before, and what is still needed
    it = launcher(plan, begun=begun)
    assert not it.next_round(picture(spent=COST // 2, cap=needed - 1))
    it = launcher(plan, begun=begun)
    assert it.next_round(picture(spent=COST // 2, cap=needed))


@given(st.integers(0, 30 * COST), st.integers(0, 30 * COST), st.integers(1, 40))
def test_spend_all_opens_no_more_sessions_than_the_cap_is_expected_to_pay_for(
    cap: int, spent: int, limit: int
) -> None:
    it = launcher(plan_of(40, 40, preludes=False), at_cap="spend-all", limit=limit)
    now = picture(spent=spent, cap=cap)
    it.next_round(now)
    opened = len(it.take(now))
    assert opened >= 1, "one always goes on, until the cap itself binds"
    assert opened == 1 or spent + (opened - 1) * COST < cap
    assert opened == min(40, limit) or spent + opened * COST >= cap
    later = picture(spent=spent, open_spent=opened * COST, cap=cap)
    assert it.take(later) == [] or spent < cap, "what they have spent is not needed again"
