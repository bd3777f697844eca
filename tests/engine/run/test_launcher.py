"""Launching: rounds whole and in order, preludes first, within places and cap, and no dead end.

A life of a run is played without an engine: what the launcher opens ends in an order, with an
outcome and at a cost that hypothesis picks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.admission.ledger import Balance
from matrix.admission.rounds import CostEstimate, NoRoom, RoleCap
from matrix.engine.run.launcher import AtCap, Launcher, Past
from matrix.engine.wire.messages import Counters, Picture
from matrix.model.entries import Ended, RoleShare, Tally
from matrix.model.plan import Cell, Plan
from matrix.model.records import Outcome, SessionPlan
from tests.sampling import examples

Step = tuple[int, Outcome, float]
"""Which open session ends, how, and how far the next one has spent its money by then."""

NO_CAP = 10**15
UPPER = 1_000
PRELUDES_UPPER = 600


def cell_of(scenario: str, variant: int, prelude: str | None) -> Cell:
    levels = {"prompt": f"prompt-{variant}"}
    return Cell(scenario, "counter", levels, {}, {"narrator": "sim/opus"}, {}, prelude)


def plan_of(cells: Sequence[Cell], sessions: int) -> Plan:
    return Plan(tuple(cells), sessions, seed=1, max_turns=5, max_session_s=60.0)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to three scenarios with up to three variants, which share preludes in any way."""
    preludes = st.sampled_from([None, None, "small group", "large group"])
    cells = [
        cell_of(f"scenario-{scenario}", variant, draw(preludes))
        for scenario in range(draw(st.integers(1, 3)))
        for variant in range(draw(st.integers(1, 3)))
    ]
    return plan_of(cells, draw(st.integers(1, 30)))


def scripts(*outcomes: Outcome) -> st.SearchStrategy[list[Step]]:
    step = st.tuples(st.integers(0, 60), st.sampled_from(outcomes), st.floats(0, 1))
    return st.lists(step, min_size=1, max_size=20)


FAIR: tuple[Outcome, ...] = ("completed", "completed", "timeout", "failed", "errored")


def picture(cap: int, spent: int = 0, open_spent: int = 0) -> Picture:
    return Picture(Balance(cap, spent, presumed=0, held=0, overrun=0), Counters(), open_spent, {})


@dataclass
class Life:
    """One life of a run, and the laws that every step of it must obey."""

    launcher: Launcher
    cap: int = NO_CAP
    costs: Mapping[int, int] = field(default_factory=dict)
    prelude_costs: Sequence[int] = (0,)
    opened: dict[str, SessionPlan] = field(default_factory=dict)
    open: dict[str, SessionPlan] = field(default_factory=dict)
    ended: dict[str, Outcome] = field(default_factory=dict)
    paid: dict[str, int] = field(default_factory=dict)

    def cost_of(self, plan: SessionPlan) -> int:
        if plan.part == "play":
            return self.costs.get(plan.order % len(self.launcher.plan.cells), 0)
        preludes = self.launcher.plan.round(plan.round).preludes
        position = [p.session_id for p in preludes].index(plan.session_id)
        return self.prelude_costs[position % len(self.prelude_costs)]

    @property
    def spent(self) -> int:
        return sum(self.paid.values())

    def picture(self) -> Picture:
        open_spent = sum(self.paid[i] for i, plan in self.open.items() if plan.part == "play")
        seen = picture(self.cap, self.spent, open_spent)
        return seen._replace(spent_by_role={"narrator": self.spent})

    def launch(self) -> None:
        """Open what may be opened, as the driver does it."""
        while True:
            for plan in self.launcher.take(self.picture()):
                self.begin(plan)
            assert self.launcher.open_count == len(self.open) <= self.launcher.limit
            if not self.launcher.wants_round() or not self.launcher.next_round(self.picture()):
                return

    def begin(self, plan: SessionPlan) -> None:
        assert plan.session_id not in self.opened, "opened twice"
        assert plan.session_id not in self.launcher.done, "done in an earlier life"
        if plan.prelude_id is not None and plan.prelude_id not in self.launcher.done:
            assert self.ended[plan.prelude_id] != "censored", "its prelude comes first"
        for earlier in range(plan.round):
            self.left_nobody_behind(earlier)
        self.opened[plan.session_id] = self.open[plan.session_id] = plan
        self.paid[plan.session_id] = 0

    def left_nobody_behind(self, number: int) -> None:
        """Of an earlier round only what waits for its own prelude may still be unopened."""
        for plan in pending(self.launcher, number):
            unopened = plan.session_id not in self.opened
            assert not unopened or plan.prelude_id in self.open, "rounds start whole and in order"

    def end(self, which: int, outcome: Outcome) -> None:
        plan = self.open.pop(list(self.open)[which % len(self.open)])
        cost = self.paid[plan.session_id] = self.cost_of(plan)
        self.ended[plan.session_id] = outcome
        tally = Tally(1.0, {"narrator": RoleShare(1, 1, 1, cost)})
        self.launcher.ended(
            plan, Ended(plan.session_id, outcome, "", "", 1, None, tally, at=0.0, result=None)
        )

    def spend(self, which: int, share: float) -> None:
        if self.open:
            plan = list(self.open.values())[which % len(self.open)]
            reached = int(share * self.cost_of(plan))
            self.paid[plan.session_id] = max(self.paid[plan.session_id], reached)

    def play(self, script: Iterable[Step], stop_after: int | None = None) -> None:
        """To the end; there is one, whatever happens."""
        steps: Iterator[Step] = itertools.cycle(script)
        self.launch()
        for number in itertools.count():
            if self.launcher.finished:
                break
            assert self.open, "a dead end: nothing is open, and nothing will be"
            if number == stop_after:
                self.launcher.stop()
            which, outcome, share = next(steps)
            self.end(which, outcome)
            self.spend(which, share)
            self.launch()
        assert not self.open
        self.launch()
        assert not self.open, "finished means finished"


def pending(launcher: Launcher, number: int) -> list[SessionPlan]:
    """What an earlier life left of a round, by the plain meaning of the rule."""
    planned = launcher.plan.round(number)
    sessions = [s for s in planned.sessions if s.session_id not in launcher.done]
    needed = {s.prelude_id for s in sessions}
    return [
        p for p in planned.preludes if p.session_id in needed and p.session_id not in launcher.done
    ] + sessions


def all_pending(launcher: Launcher) -> set[str]:
    return {p.session_id for n in range(launcher.plan.rounds) for p in pending(launcher, n)}


def launcher_of(
    plan: Plan,
    *,
    at_cap: AtCap = "spend-all",
    limit: int = 8,
    upper: int = UPPER,
    done: Mapping[str, Past] | None = None,
    begun: Mapping[str, int] | None = None,
) -> Launcher:
    estimates = [CostEstimate(upper) for _ in plan.cells]
    spent = {key: {"player": amount} for key, amount in (begun or {}).items()}
    return Launcher(plan, at_cap, limit, estimates, PRELUDES_UPPER, done or {}, spent)


def drawn_done(plan: Plan, data: st.DataObject) -> dict[str, Past]:
    """Any part of the plan, as an earlier life may have left it."""
    everything = [
        p.session_id
        for planned in plan.all_rounds()
        for p in (*planned.preludes, *planned.sessions)
    ]
    done = data.draw(st.sets(st.sampled_from(everything)))
    outcomes = st.sampled_from(FAIR)
    return {session_id: Past(data.draw(outcomes), None) for session_id in sorted(done)}


LIMITS = st.integers(1, 12)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(plans(), LIMITS, scripts(*FAIR), st.sampled_from(["spend-all", "whole-rounds"]))
def test_with_money_every_planned_session_is_opened_once(
    plan: Plan, limit: int, script: list[Step], at_cap: AtCap
) -> None:
    life = Life(launcher_of(plan, at_cap=at_cap, limit=limit))
    life.play(script)
    assert set(life.opened) == all_pending(life.launcher)
    assert not life.launcher.cap_reached
    orders = [opened.order for opened in life.opened.values()]
    if all(opened.part == "play" for opened in life.opened.values()):
        assert orders == sorted(orders), "nobody waits, so nobody is overtaken"


@settings(max_examples=examples(150))
@given(plans(), LIMITS, scripts(*FAIR), st.sampled_from(["spend-all", "whole-rounds"]), st.data())
def test_a_resumed_run_opens_what_is_left_and_only_the_preludes_it_needs(
    plan: Plan, limit: int, script: list[Step], at_cap: AtCap, data: st.DataObject
) -> None:
    life = Life(launcher_of(plan, at_cap=at_cap, limit=limit, done=drawn_done(plan, data)))
    life.play(script)
    assert set(life.opened) == all_pending(life.launcher)


@pytest.mark.slow
@settings(max_examples=examples(250))
@given(
    plan=plans(),
    limit=LIMITS,
    script=scripts(*FAIR, "censored"),
    at_cap=st.sampled_from(["spend-all", "whole-rounds"]),
    cap=st.integers(0, 20 * UPPER) | st.just(NO_CAP),
    costs=st.lists(st.integers(0, 2 * UPPER), min_size=9, max_size=9),
    stop_after=st.none() | st.integers(0, 30),
    data=st.data(),
)
def test_every_life_comes_to_its_end(
    plan: Plan,
    limit: int,
    script: list[Step],
    at_cap: AtCap,
    cap: int,
    costs: list[int],
    stop_after: int | None,
    data: st.DataObject,
) -> None:
    launcher = launcher_of(plan, at_cap=at_cap, limit=limit, done=drawn_done(plan, data))
    Life(launcher, cap, dict(enumerate(costs)), prelude_costs=costs).play(script, stop_after)


@settings(max_examples=examples(250))
@given(
    plan=plans(),
    limit=LIMITS,
    script=scripts(*FAIR),
    cap=st.integers(0, 25 * UPPER),
    costs=st.lists(st.integers(0, UPPER), min_size=9, max_size=9),
    dearest=st.integers(0, PRELUDES_UPPER),
    data=st.data(),
)
def test_estimates_that_hold_keep_whole_rounds_within_the_cap_and_use_it_up(
    plan: Plan,
    limit: int,
    script: list[Step],
    cap: int,
    costs: list[int],
    dearest: int,
    data: st.DataObject,
) -> None:
    """Each cell costs the same every time, at most its estimate; so do a round's preludes."""
    launcher = launcher_of(plan, at_cap="whole-rounds", limit=limit, done=drawn_done(plan, data))
    rest = (PRELUDES_UPPER - dearest) // 5
    life = Life(launcher, cap, dict(enumerate(costs)), prelude_costs=[dearest, *[rest] * 5])
    life.play(script)
    assert life.spent <= cap
    opened = set(life.opened)
    rounds = [{p.session_id for p in pending(launcher, n)} for n in range(plan.rounds)]
    whole = list(itertools.takewhile(lambda ids: ids <= opened, rounds))
    assert opened == set().union(*whole), "rounds start whole"
    if len(whole) < len(rounds):
        assert launcher.cap_reached
        assert cap - life.spent < len(plan.cells) * UPPER + PRELUDES_UPPER


def test_a_cap_of_each_session_bounds_what_a_round_may_take() -> None:
    plan = plan_of([cell_of("one", 0, None), cell_of("one", 1, None)], 4)
    left = 2 * UPPER - 1
    launcher = launcher_of(plan, at_cap="whole-rounds")
    assert not launcher.next_round(picture(left + 7, spent=7))
    assert launcher.no_room == NoRoom(needs=2 * UPPER, left=left, cap=left + 7)
    launcher = launcher_of(plan, at_cap="whole-rounds")
    launcher.session_cap = UPPER - 1
    assert launcher.next_round(picture(left + 7, spent=7))


ROLE = "narrator"


def with_role_cap(launcher: Launcher, cap: int, prelude: int = 0) -> Launcher:
    estimates = [CostEstimate(UPPER // 2) for _ in launcher.plan.cells]
    launcher.role_caps = {ROLE: RoleCap(cap, estimates, prelude)}
    return launcher


@settings(max_examples=examples(100))
@given(plans(), LIMITS, scripts(*FAIR), st.integers(0, 10), st.data())
def test_a_role_with_a_cap_ends_no_session_of_a_round(
    plan: Plan, limit: int, script: list[Step], rounds: int, data: st.DataObject
) -> None:
    """Whatever sessions spend on the role, as long as it is no more than was thought."""
    costs = {cell: data.draw(st.integers(0, UPPER // 2)) for cell in range(len(plan.cells))}
    cap = rounds * len(plan.cells) * UPPER // 2
    launcher = launcher_of(plan, at_cap="whole-rounds", limit=limit)
    life = Life(with_role_cap(launcher, cap), costs=costs)
    life.play(script)
    assert life.spent <= cap
    assert set(life.opened) == set().union(
        *(
            p
            for n in range(plan.rounds)
            if (p := {s.session_id for s in pending(launcher, n)}) and p <= set(life.opened)
        )
    ), "rounds start whole"
    if set(life.opened) < all_pending(launcher):
        assert launcher.no_room is not None
        assert launcher.no_room.role == ROLE
        assert launcher.no_room.left < launcher.no_room.needs
    else:
        assert launcher.no_room is None


def test_what_an_earlier_life_spent_on_a_role_is_not_needed_again() -> None:
    plan = plan_of([cell_of("a", 0, None), cell_of("a", 1, None)], 4)
    first = plan.round(0).sessions[0].session_id
    for role, needs in ((ROLE, UPPER - 3), ("judge", UPPER)):
        launcher = with_role_cap(launcher_of(plan, at_cap="whole-rounds"), 3 + needs - 1)
        launcher.begun = {first: {role: 3}}
        seen = picture(NO_CAP, 3)._replace(spent_by_role={ROLE: 3})
        assert not launcher.next_round(seen)
        assert launcher.no_room == NoRoom(needs, needs - 1, 3 + needs - 1, ROLE)


def test_a_shared_preparation_is_paid_from_its_role_too() -> None:
    launcher = with_role_cap(launcher_of(SHARED, at_cap="whole-rounds"), NO_CAP, prelude=77)
    sessions = len(SHARED.round(0).sessions)
    launcher.role_caps = {ROLE: launcher.role_caps[ROLE]._replace(cap=sessions * UPPER // 2 + 76)}
    assert not launcher.next_round(picture(NO_CAP))
    launcher.cap_reached = False
    launcher.role_caps = {ROLE: launcher.role_caps[ROLE]._replace(cap=sessions * UPPER // 2 + 77)}
    assert launcher.next_round(picture(NO_CAP))


@settings(max_examples=examples(100))
@given(plans(), LIMITS, scripts(*FAIR), st.integers(0, 20))
def test_after_stop_nothing_more_is_opened(
    plan: Plan, limit: int, script: list[Step], after: int
) -> None:
    life = Life(launcher_of(plan, limit=limit))
    life.launch()
    for which, outcome, _ in itertools.islice(itertools.cycle(script), after):
        if life.open:
            life.end(which, outcome)
            life.launch()
    life.launcher.stop()
    before = set(life.opened)
    while life.open:
        assert not life.launcher.finished
        assert not life.launcher.wants_round()
        if len(life.open) % 2:
            life.end(0, "completed")
        else:
            life.launcher.suspended(life.open.pop(next(iter(life.open))))
        life.launch()
    assert life.launcher.finished
    assert set(life.opened) == before


@settings(max_examples=examples(100))
@given(plans(), LIMITS, scripts(*FAIR), st.integers(0, 20))
def test_a_session_cut_short_by_the_cap_is_the_last_to_have_been_opened(
    plan: Plan, limit: int, script: list[Step], after: int
) -> None:
    life = Life(launcher_of(plan, limit=limit))
    life.launch()
    for which, outcome, _ in itertools.islice(itertools.cycle(script), after):
        if life.open:
            life.end(which, outcome)
            life.launch()
    if not life.open:
        return
    life.end(0, "censored")
    before = set(life.opened)
    assert life.launcher.cap_reached
    assert not life.launcher.wants_round()
    assert life.launcher.take(life.picture()) == []
    life.play(script)
    assert set(life.opened) == before


@given(st.integers(0, 30 * UPPER), st.integers(0, 30 * UPPER), st.integers(1, 40))
def test_spend_all_opens_no_more_sessions_than_the_cap_is_expected_to_pay_for(
    cap: int, spent: int, limit: int
) -> None:
    plan = plan_of([cell_of("a", variant, None) for variant in range(40)], 40)
    launcher = launcher_of(plan, at_cap="spend-all", limit=limit)
    now = picture(cap, spent)
    launcher.next_round(now)
    opened = len(launcher.take(now))
    assert opened >= 1, "one always goes on, until the cap itself binds"
    assert opened == 1 or spent + (opened - 1) * UPPER < cap
    assert opened == min(40, limit) or spent + opened * UPPER >= cap
    later = picture(cap, spent, open_spent=opened * UPPER)
    assert launcher.take(later) == [] or spent < cap, "a cap that is spent opens nobody"


# --- single laws, as examples --------------------------------------------------------------------

SHARED = plan_of([cell_of("a", 0, "group"), cell_of("a", 1, "group"), cell_of("b", 0, None)], 6)


def titles(plans: Iterable[SessionPlan]) -> list[tuple[int, str, str]]:
    return [(plan.round, plan.scenario, plan.levels.get("prompt", "prelude")) for plan in plans]


def test_sessions_wait_for_the_prelude_they_share_and_then_go_first() -> None:
    life = Life(launcher_of(SHARED, limit=4))
    life.launch()
    assert titles(life.opened.values()) == [(0, "a", "prelude"), (0, "b", "prompt-0")]
    life.end(0, "completed")
    life.launch()
    assert titles(life.opened.values())[2:] == [(0, "a", "prompt-0"), (0, "a", "prompt-1"),
                                                (1, "a", "prelude")]  # fmt: skip


def test_of_two_rounds_that_are_prepared_at_once_the_older_goes_first() -> None:
    plan = plan_of([cell_of("a", 0, "group"), cell_of("b", 0, None)], 8)
    life = Life(launcher_of(plan, limit=4))
    life.launch()
    preludes = [p for p in life.opened.values() if p.part == "prelude"]
    assert titles(preludes) == [(0, "a", "prelude"), (1, "a", "prelude")]
    for prelude in preludes:
        life.end(list(life.open).index(prelude.session_id), "completed")
    life.launch()
    assert titles(life.opened.values())[4:] == [(0, "a", "prompt-0"), (1, "a", "prompt-0")]


def test_who_waits_for_a_prelude_counts_as_open_when_a_round_is_wanted() -> None:
    life = Life(launcher_of(SHARED, limit=5))
    life.launch()
    assert {plan.round for plan in life.opened.values()} == {0, 1}
    life = Life(launcher_of(SHARED, limit=4))
    life.launch()
    assert {plan.round for plan in life.opened.values()} == {0}


@pytest.mark.parametrize("outcome", ["failed", "errored"])
def test_a_failed_prelude_does_not_take_its_sessions_out_of_the_denominator(
    outcome: Outcome,
) -> None:
    life = Life(launcher_of(SHARED, limit=4))
    life.launch()
    life.end(0, outcome)
    life.launch()
    assert titles(life.opened.values())[2:4] == [(0, "a", "prompt-0"), (0, "a", "prompt-1")]


def test_a_prelude_of_an_earlier_life_is_shared_by_the_sessions_that_are_left() -> None:
    planned = SHARED.round(0)
    done = {p.session_id: Past("completed", None) for p in (*planned.preludes, planned.sessions[0])}
    life = Life(launcher_of(SHARED, limit=2, done=done))
    life.launch()
    assert titles(life.opened.values()) == [(0, "a", "prompt-1"), (0, "b", "prompt-0")]


def test_a_prelude_nobody_needs_any_more_is_not_made() -> None:
    planned = SHARED.round(0)
    done = {session.session_id: Past("completed", 1.0) for session in planned.sessions[:2]}
    life = Life(launcher_of(SHARED, limit=1, done=done))
    life.launch()
    assert titles(life.opened.values()) == [(0, "b", "prompt-0")]


def test_rounds_that_are_done_need_no_money() -> None:
    done = {
        plan.session_id: Past("completed", None)
        for planned in SHARED.all_rounds()
        for plan in (*planned.preludes, *planned.sessions)
    }
    last = SHARED.round(1).sessions[2].session_id
    del done[last]
    life = Life(launcher_of(SHARED, at_cap="whole-rounds", done=done), cap=UPPER)
    life.launch()
    assert list(life.opened) == [last]


def test_a_run_of_which_everything_is_done_is_over_without_money_or_preludes() -> None:
    sessions = [session for planned in SHARED.all_rounds() for session in planned.sessions]
    done = {session.session_id: Past("completed", 1.0) for session in sessions}
    life = Life(launcher_of(SHARED, at_cap="whole-rounds", done=done), cap=0)
    life.launch()
    assert life.opened == {}
    assert life.launcher.finished
    assert not life.launcher.cap_reached


def test_a_round_is_lined_up_whole_or_not_at_all() -> None:
    plan = plan_of([cell_of("a", variant, None) for variant in range(4)], 12)
    life = Life(launcher_of(plan, at_cap="whole-rounds", limit=100))
    for cap, opened in ((4 * UPPER, 4), (8 * UPPER - 1, 4), (8 * UPPER, 8)):
        life.cap = cap
        life.launch()
        assert len(life.opened) == opened
        assert not life.launcher.cap_reached, "what is open may turn out cheaper"


def test_what_an_earlier_life_spent_on_a_begun_session_is_not_needed_again() -> None:
    plan = plan_of([cell_of("a", 0, None), cell_of("a", 1, None)], 4)
    spent = UPPER // 2
    begun = {plan.round(0).sessions[0].session_id: spent}
    needed = 2 * UPPER  # what was spent before, and what is still needed
    launcher = launcher_of(plan, at_cap="whole-rounds", begun=begun)
    assert not launcher.next_round(picture(needed - 1, spent))
    launcher = launcher_of(plan, at_cap="whole-rounds", begun=begun)
    assert launcher.next_round(picture(needed, spent))


def test_a_round_waits_for_the_preparation_of_the_rounds_before_it() -> None:
    launcher = launcher_of(SHARED, at_cap="whole-rounds", limit=12)
    life = Life(launcher, cap=6 * UPPER + PRELUDES_UPPER)
    life.launch()
    assert {plan.round for plan in life.opened.values()} == {0}
    life.end(0, "completed")  # the prelude, which cost nothing
    life.launch()
    assert {plan.round for plan in life.opened.values()} == {0, 1}


@pytest.mark.parametrize(("cap", "rounds"), [(2 * UPPER - 1, 1), (2 * UPPER, 2)])
def test_what_an_open_session_has_spent_counts_once(cap: int, rounds: int) -> None:
    plan = plan_of([cell_of("a", 0, None)], 10)
    life = Life(launcher_of(plan, at_cap="whole-rounds"), UPPER, costs={0: UPPER})
    life.launch()
    life.spend(0, 0.9)
    life.cap = cap
    life.launch()
    assert len(life.opened) == rounds


@pytest.mark.parametrize(("cap", "more"), [(10 * UPPER, 0), (10 * UPPER + 1, 1)])
def test_spend_all_counts_what_open_sessions_have_spent_once(cap: int, more: int) -> None:
    plan = plan_of([cell_of("a", variant, None) for variant in range(20)], 20)
    launcher = launcher_of(plan, limit=10)
    launcher.next_round(picture(NO_CAP))
    assert len(launcher.take(picture(NO_CAP))) == 10
    launcher.limit = 11
    half = 5 * UPPER
    assert len(launcher.take(picture(cap, spent=half, open_spent=half))) == more


def test_costs_are_learned_from_whole_sessions_of_their_own_cell() -> None:
    plan = plan_of([cell_of("a", 0, None), cell_of("a", 1, None)], 20)
    launcher = launcher_of(plan, limit=20)
    life = Life(launcher, costs={0: 40, 1: 900})
    life.launch()
    whole: tuple[Outcome, ...] = ("completed", "timeout")
    for outcome in itertools.islice(itertools.cycle(whole), 16):
        life.end(0, outcome)
    assert [estimate.upper for estimate in launcher.upper] == [40, 900]
    cut_short: tuple[Outcome, ...] = ("failed", "errored", "censored")
    for outcome in cut_short:
        life.end(0, outcome)
    counts = [one.count for one in launcher.upper if isinstance(one, CostEstimate)]
    assert counts == [8, 8]


def test_spend_all_goes_on_until_the_cap_itself_binds() -> None:
    life = Life(launcher_of(SHARED, limit=100), cap=1)
    life.play([(0, "completed", 1.0)])
    assert len([plan for plan in life.opened.values() if plan.part == "play"]) == 6


def test_estimates_that_are_guesses_are_tried_on_one_round_first() -> None:
    """What a metered agent was said to cost is no bound: only what a round did cost opens more."""
    launcher = launcher_of(plan_of([cell_of("one", 0, None)], 12), at_cap="whole-rounds", limit=100)
    launcher.guessed = True
    now = picture(cap=20 * UPPER)
    assert launcher.next_round(now)
    (first,) = launcher.take(now)
    assert launcher.wants_round()
    assert not launcher.next_round(now)
    cost = 10 * UPPER
    launcher.ended(
        first,
        Ended(
            first.session_id,
            "completed",
            "",
            "",
            1,
            None,
            Tally(0.0, {"player": RoleShare(cost=cost)}),
            0.0,
        ),
    )
    assert launcher.next_round(picture(cap=29 * UPPER, spent=cost))
    launcher.take(picture(cap=29 * UPPER, spent=cost))
    assert not launcher.next_round(picture(cap=29 * UPPER, spent=cost))  # two more would not fit


def test_where_nobody_knows_a_cost_the_first_round_is_alone_also_if_all_is_to_be_spent() -> None:
    launcher = launcher_of(plan_of([cell_of("one", n, None) for n in range(2)], 12), limit=100)
    launcher.guessed = True
    now = picture(cap=NO_CAP)
    assert launcher.next_round(now)
    opened = launcher.take(now)
    assert len(opened) == 2
    assert not launcher.next_round(now)
    for plan in opened:
        launcher.ended(plan, Ended(plan.session_id, "errored", "", "", 1, None, Tally(), 0.0))
    assert launcher.next_round(now)
