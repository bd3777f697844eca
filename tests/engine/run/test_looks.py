"""Looking at the scores while a run goes on: when, what follows, and that it is never revised."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.admission.ledger import Balance
from matrix.admission.rounds import CostEstimate
from matrix.engine.run.interim_looks import Looks
from matrix.engine.run.launcher import Launcher
from matrix.engine.wire.messages import Counters, Picture
from matrix.model.entries import Ended, Looked, Tally
from matrix.model.plan import Cell, Plan
from matrix.model.records import Outcome, SessionPlan
from matrix.stats import Rules
from matrix.stats.rounds.rules import MIN_ROUNDS
from tests.sampling import examples

LEVELS = ("plain", "good", "best")
RULES = Rules(engine="planned", failure_margin=0.2)
ROUNDS = 40


def plan_of(rounds: int = ROUNDS) -> Plan:
    """Two scenarios, three levels of ``prompt``."""
    cells = tuple(
        Cell(scenario, "counter", {"prompt": level}, {}, {}, {}, None)
        for scenario in ("one", "two")
        for level in LEVELS
    )
    return Plan(cells, rounds * len(cells), 1, 10, 60.0)


def looks_of(plan: Plan, newest: Looked | None = None, rules: Rules = RULES) -> Looks:
    return Looks(plan, "prompt", LEVELS, rules, newest)


def scores(plan: Plan, gaps: Mapping[str, float], seed: int = 1) -> Callable[[SessionPlan], float]:
    """A score for each session: the level's mean, and noise of its own."""
    noise = np.random.default_rng(seed).normal(0.0, 2.0, plan.sessions)
    return lambda one: 50.0 + gaps[one.levels["prompt"]] + float(noise[one.order])


class Drive:
    """Plays a plan as a driver does, the ends of open sessions coming in a random order."""

    def __init__(
        self,
        looks: Looks,
        score: Callable[[SessionPlan], float],
        order: random.Random,
        *,
        limit: int = 1000,
        outcome: Callable[[SessionPlan], Outcome] = lambda plan: "completed",
    ) -> None:
        self.looks, self._score, self._order, self._outcome = looks, score, order, outcome
        self.launcher = Launcher(
            plan=looks.plan,
            at_cap="whole-rounds",
            limit=limit,
            upper=[CostEstimate(100) for _ in looks.plan.cells],
            prelude_upper=0,
            done={},
            launch_filter=looks,
        )
        self.launched: list[SessionPlan] = []
        self.made: list[Looked] = []

    def play(self) -> None:
        """To the end."""
        running: list[SessionPlan] = []
        while not self.launcher.finished:
            running += self._launch()
            if not running:
                break
            plan = running.pop(self._order.randrange(len(running)))
            outcome = self._outcome(plan)
            self.launcher.ended(plan, Ended(plan.session_id, outcome, "", "", 1, 1.0, Tally(), 0.0))
            self.looks.ended(plan, outcome, self._score(plan))
            for look in self.looks.due(0.0):
                self.made.append(look)
                self.looks.made(look)

    def _launch(self) -> list[SessionPlan]:
        opened: list[SessionPlan] = []
        picture = Picture(Balance(10**12, 0, 0, 0, 0), Counters(), 0, {})
        while True:
            opened += self.launcher.take(picture)
            if not self.launcher.wants_round() or not self.launcher.next_round(picture):
                self.launched += opened
                return opened


CLEAR: Mapping[str, float] = {"plain": 0.0, "good": 4.0, "best": 8.0}
EQUAL: Mapping[str, float] = dict.fromkeys(LEVELS, 0.0)


def played(
    gaps: Mapping[str, float], order: int = 0, newest: Looked | None = None, **changes: object
) -> Drive:
    plan = plan_of()
    drive = Drive(looks_of(plan, newest), scores(plan, gaps), random.Random(order), **changes)  # type: ignore[arg-type]
    drive.play()
    return drive


def test_a_clear_winner_ends_the_run_and_beaten_variants_get_no_more_sessions() -> None:
    drive = played(CLEAR)
    last = drive.made[-1]
    assert last.decided == "winner"
    assert last.stop_from == last.rounds - 1 + drive.looks.lag
    assert {one.level for one in last.dropped} == {"plain", "good"}
    assert all(one.by in LEVELS for one in last.dropped)
    assert max(plan.round for plan in drive.launched) == last.stop_from - 1
    for plan in drive.launched:
        assert not last.unlaunched(plan)
    launched = {plan.session_id for plan in drive.launched}
    missing = [p for r in drive.looks.plan.all_rounds() for p in r.sessions
               if p.session_id not in launched]  # fmt: skip
    assert all(last.unlaunched(plan) in ("dropped", "decided") for plan in missing)
    assert drive.looks.unplayed().sessions == len(missing) > 0


def test_equal_variants_are_played_to_the_end_of_the_plan() -> None:
    drive = played(EQUAL)
    assert len(drive.launched) == drive.looks.plan.sessions
    assert [look.rounds for look in drive.made] == list(range(MIN_ROUNDS, ROUNDS + 1))
    assert not drive.looks.over
    assert drive.looks.unplayed().sessions == 0


@settings(max_examples=examples(25))
@given(order=st.integers(0, 2**32), limit=st.integers(1, 60), gap=st.sampled_from([0.0, 1.5, 4.0]))
def test_what_is_launched_does_not_depend_on_which_sessions_are_quick(
    order: int, limit: int, gap: float
) -> None:
    gaps = {"plain": 0.0, "good": gap, "best": 2 * gap}
    one, other = played(gaps), played(gaps, order, limit=limit)
    assert other.made == one.made
    assert {p.session_id for p in other.launched} == {p.session_id for p in one.launched}


@settings(max_examples=examples(25))
@given(st.integers(0, 2**32))
def test_no_round_is_launched_before_the_look_it_waits_for_and_looks_never_take_back(
    order: int,
) -> None:
    plan = plan_of()
    looks = looks_of(plan)
    drive = Drive(looks, scores(plan, CLEAR), random.Random(order))
    before: Looked | None = None
    ready = looks.ready
    asked: list[tuple[int, int]] = []

    def watched(number: int) -> bool:
        asked.append((number, looks.looked))
        return ready(number)

    assert all(ready(number) for number in range(MIN_ROUNDS - 1 + looks.lag - 1))
    assert not ready(MIN_ROUNDS - 1 + looks.lag)
    drive.play()
    for look in drive.made:
        if before is not None:
            assert look.rounds == before.rounds + 1
            assert look.dropped[: len(before.dropped)] == before.dropped
            assert not before.decided
        before = look
    for session in drive.launched:
        needed = session.round + 1 - looks.lag
        assert needed < MIN_ROUNDS or any(look.rounds == needed for look in drive.made)


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_a_run_taken_up_again_keeps_the_looks_that_were_made(cut: int) -> None:
    whole = played(CLEAR)
    cut = min(cut, len(whole.made) - 1)
    earlier = whole.made[cut]
    plan = plan_of()
    again = Drive(looks_of(plan, earlier), scores(plan, CLEAR), random.Random(5))
    again.play()
    assert again.made == whole.made[cut + 1 :]
    assert (again.looks.newest or earlier) == whole.looks.newest


def test_a_session_that_was_cut_short_ends_the_looks() -> None:
    plan = plan_of()

    def outcome(one: SessionPlan) -> Outcome:
        return "censored" if one.round == 14 else "completed"

    drive = Drive(looks_of(plan), scores(plan, EQUAL), random.Random(1), outcome=outcome)
    drive.play()
    assert drive.looks.blocked == "censored session"
    assert [look.rounds for look in drive.made] == list(range(MIN_ROUNDS, 15))


def test_a_session_without_a_score_ends_no_looks() -> None:
    plan = plan_of()
    value = scores(plan, EQUAL)

    def score(one: SessionPlan) -> float:
        return float("nan") if one.order == 14 * 6 else value(one)

    drive = Drive(looks_of(plan), score, random.Random(1))
    drive.play()
    assert not drive.looks.blocked
    assert [look.rounds for look in drive.made] == list(range(MIN_ROUNDS, plan.rounds + 1))


def test_infrastructure_errors_block_nothing() -> None:
    plan = plan_of()

    def outcome(one: SessionPlan) -> Outcome:
        return "errored" if one.order % 31 == 0 else "completed"

    drive = Drive(looks_of(plan), scores(plan, CLEAR), random.Random(1), outcome=outcome)
    drive.play()
    assert drive.made[-1].decided == "winner"


@pytest.mark.slow
def test_a_long_run_makes_few_tables_and_every_look() -> None:
    plan = plan_of(1000)
    drive = Drive(looks_of(plan), scores(plan, EQUAL), random.Random(3), limit=50)
    drive.play()
    assert [look.rounds for look in drive.made] == list(range(MIN_ROUNDS, 1001))
    assert len(drive.launched) == plan.sessions
