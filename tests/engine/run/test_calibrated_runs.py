"""Verdicts of whole runs that look after every round: rarely wrong between equals, and early.

A quick form of `benchmarks/calibrate_runs.py`: fewer runs, the same runner. Seeds are fixed.
"""

from __future__ import annotations

import pytest
from scipy import stats

from benchmarks.calibrate_runs import COUNTERS, EQUAL, ROUNDS, Question, play
from matrix.stats.rounds.rules import MIN_ROUNDS, Engine

IDENTICAL = Question("counter", COUNTERS | {"factors": {"width": [1, 2]}, "options": {"turns": 1}})
"""The same scores to the last digit: the noise of counters does not know their width."""

FAR_APART = Question("counter", COUNTERS | {"factors": {"step": [1, 4]}, "options": {"turns": 1}})
"""Three points, which is twice the standard deviation of the difference."""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_identical_variants_have_no_winner_and_are_played_to_the_end(engine: Engine) -> None:
    ran = play(IDENTICAL.run_spec(engine, MIN_ROUNDS + 2), seed=1)
    assert (ran.winner, ran.stopped) == ("", "")
    assert ran.played == ran.planned == 2 * (MIN_ROUNDS + 2)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "runs"),
    [
        ("planned", 6),
        ("open-ended", 4),
        pytest.param("planned", 20, marks=pytest.mark.long),
        pytest.param("open-ended", 10, marks=pytest.mark.long),
    ],
)
def test_equal_variants_rarely_have_a_winner(engine: Engine, runs: int) -> None:
    """At most as often as once in twenty runs allows at one chance in a thousand."""
    spec = EQUAL["counter"].run_spec(engine, ROUNDS)
    ran = [play(spec, seed) for seed in range(1, runs + 1)]
    assert sum(bool(one.winner) for one in ran) <= stats.binom.ppf(0.999, runs, 0.05)
    assert all(one.looked == ROUNDS for one in ran if not one.winner)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_a_large_difference_is_found_long_before_the_plan_is_over(engine: Engine) -> None:
    spec = FAR_APART.run_spec(engine, 2 * ROUNDS)
    for seed in range(1, 6):
        ran = play(spec, seed)
        assert (ran.winner, ran.stopped) == ("4", "winner")
        assert MIN_ROUNDS <= ran.looked < ROUNDS
        assert ran.played < 2 * ROUNDS < ran.planned, "the sessions in flight included"


@pytest.mark.long
def test_equal_prompts_of_play_tests_rarely_have_a_winner() -> None:
    spec = EQUAL["playtest"].run_spec("planned", ROUNDS)
    named = [play(spec, seed).winner for seed in range(1, 21)]
    assert sum(map(bool, named)) <= stats.binom.ppf(0.999, 20, 0.05)
