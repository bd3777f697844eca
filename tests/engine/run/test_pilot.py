"""The whole run's cost from its first round: right on average, and as sure as it says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from matrix.engine.run.pilot import CostPilot
from matrix.engine.run.scoreboard import Scoreboard
from tests.executors.driving import prepared_in
from tests.executors.programs import Project, counter_spec

CELLS = [1_000_000, 2_000_000, 8_000_000]
"""Expected cost per session of three cells, one with a dear narrator."""


def told(expected: Sequence[int], costs: Sequence[int], sessions: int) -> CostPilot:
    pilot = CostPilot(expected, sessions)
    for order, cost in enumerate(costs):
        pilot.observe(order, cost)
    return pilot


def test_one_session_says_nothing() -> None:
    assert CostPilot(CELLS, 30).projection() is None
    assert told(CELLS, [500], 30).projection() is None


def test_costs_in_proportion_to_the_plan_leave_no_doubt() -> None:
    pilot = told(CELLS, [cost // 2 for cost in CELLS], 30)
    found = pilot.projection()
    assert found is not None
    assert found.low == found.middle == found.high == sum(CELLS) * 10 // 2


def test_the_last_round_may_be_short() -> None:
    found = told(CELLS, CELLS, 31).projection()
    assert found is not None
    assert found.middle == sum(CELLS) * 10 + CELLS[0]


def test_what_sessions_share_is_dearer_as_they_are() -> None:
    pilot = CostPilot(CELLS, 3, preparation=100)
    for order, cost in enumerate(CELLS):
        pilot.observe(order, 3 * cost)
    found = pilot.projection()
    assert found is not None
    assert found.middle == 3 * sum(CELLS) + 300


@given(st.lists(st.integers(0, 10**10), min_size=2, max_size=30), st.integers(2, 500))
def test_the_interval_holds_its_middle_and_nothing_below_what_was_spent(
    costs: list[int], sessions: int
) -> None:
    found = told(CELLS, costs, max(sessions, len(costs))).projection()
    assert found is not None
    assert sum(costs) <= found.low
    assert found.low <= found.middle <= found.high


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Gamma-distributed costs around twice the plan's; 95 % intervals, 600 runs of 10 rounds."""
    draw = random.Random(20)
    hits = 0
    for _ in range(600):
        costs = [round(draw.gammavariate(6, cell / 3)) for _ in range(10) for cell in CELLS * 4]
        found = told(CELLS * 4, costs[:12], len(costs)).projection()
        assert found is not None
        hits += found.low <= sum(costs) <= found.high
    assert 0.88 <= hits / 600 <= 0.99


def test_rounds_that_go_up_and_down_together_are_covered_too() -> None:
    """Every round has a factor of its own; its spread is what the plan says it is."""
    draw = random.Random(21)
    hits = 0
    for _ in range(600):
        rounds = [max(0.1, draw.gauss(1.5, 0.45)) for _ in range(10)]
        costs = [round(draw.gammavariate(50, r * cell / 50)) for r in rounds for cell in CELLS]
        pilot = CostPilot(CELLS, len(costs), spread=0.3)
        for order, cost in enumerate(costs[: len(CELLS)]):
            pilot.observe(order, cost)
        found = pilot.projection()
        assert found is not None
        hits += found.low <= sum(costs) <= found.high
    assert 0.88 <= hits / 600 <= 1.0


def test_sessions_that_end_first_are_not_taken_for_all(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(counter_spec(per_cell=10))
    prepared = prepared_in(tmp_path)
    costs, board = {"1": 100_000, "2": 900_000}, Scoreboard(prepared)
    rounds = [prepared.plan.round(number).sessions for number in range(10)]
    quick = [one for sessions in rounds for one in sessions if one.levels["step"] == "1"]
    slow = [one for sessions in rounds for one in sessions if one.levels["step"] == "2"]
    for one in [*quick, *slow]:
        board.count(one, "completed", None, costs[one.levels["step"]])
    assert board.projection is not None
    assert board.projection.middle == 10 * 1_000_000
