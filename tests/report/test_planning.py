"""Questions about plans: numbers against the statistics, and what a pilot says."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matrix
from matrix.model.errors import BadInput
from matrix.report.planning.planning import PowerQuestion, answer, shown_by
from matrix.report.planning.planning_text import answer_as_data, answer_as_text
from matrix.stats import PowerGoal, rounds_needed, smallest_effect
from tests.report.synthetic import CENT, Row, make_run

TWO = {"prompt": ("plain", "warm")}


@pytest.mark.slow
@given(
    st.floats(0.5, 50), st.floats(0.5, 50), st.integers(1, 20), st.integers(2, 5),
    st.sampled_from(["fixed", "planned", "open-ended"]),
)  # fmt: skip
def test_what_is_needed_is_enough_and_costs_what_its_rounds_cost(
    effect: float, sd: float, pairs: int, k: int, engine: Any
) -> None:
    goal = PowerGoal(n_variants=k, engine=engine)
    asked = PowerQuestion(goal, sd, effect=effect, pairs=pairs, round_nano=CENT)
    found = answer(asked)
    assert found.needed is not None
    rounds = found.needed.rounds.total
    assert rounds == max(rounds_needed(effect, sd, goal), found.gate_rounds, 10)
    assert found.needed.sessions == rounds * pairs * k
    assert found.needed.cost_nano == rounds * CENT
    shown = shown_by(asked, rounds)
    assert shown.can_win
    assert shown.effect is not None
    assert shown.effect <= effect * (1 + 1e-6)
    assert not shown_by(asked, max(found.gate_rounds, 10) - 1).can_win


@given(st.integers(0, 200), st.floats(0.5, 50))
def test_a_budget_shows_what_the_rounds_show_that_it_pays_for(rounds: int, sd: float) -> None:
    asked = PowerQuestion(PowerGoal(), sd, budget_nano=rounds * CENT + CENT - 1, round_nano=CENT)
    found = answer(asked)
    assert found.shown is not None
    assert (found.shown.rounds, found.shown.effect) == (rounds, smallest_effect(rounds, sd))
    assert answer_as_text(found)


def test_larger_differences_in_the_table_take_no_more_and_have_better_chances() -> None:
    table = answer(PowerQuestion(PowerGoal(), 8.0, effect=3.0)).table
    for less, more in itertools.pairwise(table):
        assert more.effect > less.effect
        assert more.rounds.total <= less.rounds.total
        assert all(a <= b for a, b in zip(less.powers, more.powers, strict=True))


# --- a run as a pilot -----------------------------------------------------------------------------


def pilot(path: Path, rounds: int = 20, failing: int = 0, **more: Any) -> Path:
    """Two variants whose differences have a known spread; sessions cost one cent."""
    rows = [
        Row(
            {"prompt": level},
            number,
            scenario,
            score=60.0 + number % 3 + (level == "warm") * 4 * (number % 2),
            outcome="failed" if number < failing and level == "warm" else "completed",
        )
        for number, scenario, level in itertools.product(range(rounds), "ab", TWO["prompt"])
    ]
    made = make_run(path, rows, TWO, scenarios="ab", totals=False, **more)
    return made.path


def test_spread_plan_and_costs_are_those_of_the_run(tmp_path: Path) -> None:
    found = matrix.power(effect=3, pilot=pilot(tmp_path / "run"))
    question = found.question
    assert question.sd == pytest.approx(np.std([0.0, 4.0] * 10, ddof=1))
    assert (question.goal.n_variants, question.pairs, question.round_nano) == (2, 2, 4 * CENT)
    assert found.needed is not None
    assert found.needed.rounds.scores == rounds_needed(3, question.sd)
    assert found.needed_at_worst is not None
    assert found.needed_at_worst >= found.needed.rounds.total


def test_a_run_that_goes_on_is_read_as_far_as_its_rounds_are_complete(tmp_path: Path) -> None:
    path = pilot(tmp_path / "run", rounds=12, status="running")
    seen = matrix.power(effect=3, pilot=path).question.pilot
    assert seen is not None
    assert (seen.rounds, seen.round_nano) == (12, 4 * CENT)


def test_failures_in_the_pilot_make_the_failure_gate_longer(tmp_path: Path) -> None:
    found = matrix.power(effect=3, pilot=pilot(tmp_path / "run", failing=1))
    assert found.question.pilot is not None
    assert found.question.pilot.failure_rate == pytest.approx(0.025)
    assert found.gate_rounds == 29
    assert found.gate_rounds_at_rate is not None
    assert found.gate_rounds_at_rate > 29
    assert "if 2.5 % fail, as in that run" in answer_as_text(found)


def test_without_a_question_the_plan_of_the_run_is_asked_about(tmp_path: Path) -> None:
    found = matrix.power(pilot=pilot(tmp_path / "run"))
    assert found.shown is not None
    assert (found.shown.rounds, found.shown.can_win) == (20, False)
    told: Any = answer_as_data(found)
    assert "20 rounds have 40. Plan 29 rounds" in told["sentences"][1]


def test_what_is_given_goes_over_what_the_run_says(tmp_path: Path) -> None:
    path = pilot(tmp_path / "run")
    question = matrix.power(
        effect=3, pilot=path, sd=8, pairs=4, variants=3, failure_margin=10, engine="planned"
    ).question
    assert (question.sd, question.pairs, question.failure_margin) == (8, 4, 0.1)
    assert (question.goal.n_variants, question.goal.engine) == (3, "planned")
    assert question.round_nano == 12 * CENT, "a session's price stays"
    assert question.pilot is None, "its spread is not used"


@pytest.mark.parametrize(("rounds", "told"), [(1, "takes at least 2"), (0, "takes at least 2")])
def test_a_run_without_a_spread_is_refused(tmp_path: Path, rounds: int, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        matrix.power(effect=3, pilot=pilot(tmp_path / "run", rounds=rounds))


def test_a_pilot_of_yes_no_scores_tells_so_and_the_differing_pairs_are_counted(
    tmp_path: Path,
) -> None:
    rows = [
        Row({"prompt": level}, number, score=float(level == "warm" or number % 5 > 1))
        for number, level in itertools.product(range(10), TWO["prompt"])
    ]
    path = make_run(tmp_path / "run", rows, TWO).path
    found = matrix.power(effect=0.4, pilot=path, failure_margin=20)
    assert found.question.yes_no == (0.0, 1.0)
    assert found.needed is not None
    assert found.needed.rounds.total > rounds_needed(0.4, found.question.sd)
    assert "counts that a yes/no winner takes 6 differing pairs" in str(found)
    told: Any = answer_as_data(found)
    assert told["yes_no"] == {"values": [0.0, 1.0], "differing_pairs": 6}
    with pytest.raises(BadInput, match="found 1; must be below 1, as scores are 0 or 1"):
        matrix.power(effect=1, pilot=path)


def test_without_a_pilot_it_is_said_whether_scores_are_taken_for_yes_no() -> None:
    scale = matrix.power(effect=0.4, sd=0.49, failure_margin=20)
    yes_no = matrix.power(effect=0.4, sd=0.49, failure_margin=20, yes_no=True)
    assert "taken to be more than two" in str(scale)
    assert "taken to be" not in str(matrix.power(effect=3, sd=8)), "nothing of 0 and 1 varies so"
    assert scale.needed is not None
    assert yes_no.needed is not None
    assert (scale.needed.rounds.total, yes_no.needed.rounds.total) == (14, 19)
    with pytest.raises(BadInput) as caught:
        matrix.power(effect=2, sd=8, yes_no=True)
    assert [mistake.source for mistake in caught.value.mistakes] == ["--effect", "--sd"]
    ten: dict[str, Any] = {
        "rounds": 10,
        "sd": 0.7,
        "failure_margin": 90,
        "engine": "planned",
        "yes_no": True,
    }
    assert "can promise no winner: of scores that are 0 or 1" in str(
        matrix.power(**ten, confidence=0.9999)
    )
    swept = matrix.power(**ten)
    assert "10 rounds (20 sessions) can show a difference of 0.836" in str(swept), "ten of ten"


def test_a_run_in_which_nothing_varies_is_refused(tmp_path: Path) -> None:
    rows = [Row({"prompt": level}, n) for n, level in itertools.product(range(5), TWO["prompt"])]
    made = make_run(tmp_path / "run", rows, TWO)
    with pytest.raises(BadInput, match="no spread to plan with"):
        matrix.power(effect=3, pilot=made.path)


def test_every_number_that_means_nothing_is_named_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        matrix.power(
            effect=0, sd=1, sd_a=-1, correlation=2, rounds=0, budget=-1, variants=1, pairs=0,
            chance=1, confidence=0.3, engine="often", failure_margin=101,
        )  # fmt: skip
    flags = [mistake.source for mistake in caught.value.mistakes]
    assert flags == [
        "--effect", "--sd-a", "--rounds", "--budget", "--pairs", "--power", "--confidence",
        "--variants", "--correlation", "--failure-margin", "--engine", "--sd",
    ]  # fmt: skip


def test_a_question_without_a_price_or_a_question_is_refused() -> None:
    with pytest.raises(BadInput, match="what is asked"):
        matrix.power(sd=8)
    with pytest.raises(BadInput, match="what does a round cost"):
        matrix.power(sd=8, budget=10)
