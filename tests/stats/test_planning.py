"""What naming a winner takes besides a difference: reference numbers, and laws."""

from __future__ import annotations

from math import inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from matrix.stats import (
    MIN_ROUNDS,
    PowerGoal,
    failure_gate_pairs,
    newcombe_paired,
    rounds_needed,
    rounds_to_win,
    sd_range,
)


@pytest.mark.parametrize(("margin", "fixed", "sequential"), [(0.05, 52, 79), (0.10, 25, 39)])
def test_without_failures_the_gate_takes_the_published_number_of_pairs(
    margin: float, fixed: int, sequential: int
) -> None:
    assert failure_gate_pairs(margin) == fixed
    assert failure_gate_pairs(margin, sequential=True) == sequential


@given(st.floats(0.01, 0.5), st.floats(0.01, 0.2))
def test_the_gate_passes_with_so_many_pairs_and_not_with_one_fewer(
    margin: float, alpha: float
) -> None:
    pairs = failure_gate_pairs(margin, alpha)
    assert pairs is not None
    enough = newcombe_paired(0, 0, 0, pairs, 2 * alpha)
    assert enough is not None
    assert enough.high < margin
    short = newcombe_paired(0, 0, 0, pairs - 1, 2 * alpha)
    assert short is None or short.high >= margin


@given(st.floats(0.02, 0.3), st.floats(0.0, 0.2), st.booleans())
def test_failures_and_smaller_margins_only_ever_take_more_pairs(
    margin: float, rate: float, sequential: bool
) -> None:
    none = failure_gate_pairs(margin, sequential=sequential)
    some = failure_gate_pairs(margin, sequential=sequential, rate=rate)
    strict = failure_gate_pairs(margin / 2, sequential=sequential)
    assert none is not None
    assert some is None or some >= none
    assert strict is not None
    assert strict >= none


def test_a_plan_needs_the_rounds_of_whatever_takes_longest() -> None:
    goal = PowerGoal()
    assert rounds_to_win(goal, 0.05, 1).total == 52
    assert rounds_to_win(goal, 0.05, 5).total == 11
    assert rounds_to_win(goal, 0.05, 50).total == MIN_ROUNDS
    small = rounds_to_win(goal, 0.05, 5, effect=3, sd=8)
    assert small.total == small.scores == rounds_needed(3, 8) == 58
    assert rounds_to_win(PowerGoal(engine="planned"), 0.10, 2).failures == 20


@given(st.floats(0.01, 100), st.integers(1, 200))
def test_the_range_of_a_spread_is_that_of_an_independent_library(sd: float, df: int) -> None:
    low, high = sd_range(sd, df)
    assert low == pytest.approx(sd * sqrt(df / chi2.ppf(0.975, df)))
    assert high == pytest.approx(sd * sqrt(df / chi2.ppf(0.025, df)))
    assert low < sd < high


def test_from_one_round_nothing_is_known_of_the_spread() -> None:
    assert sd_range(0.0, 0) == (0.0, inf)


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"failure margin.*got 0.*got 0.7.*failure rate.*got 2"):
        failure_gate_pairs(0, 0.7, rate=2)
    with pytest.raises(ValueError, match="at least one pair"):
        rounds_to_win(PowerGoal(), 0.05, 0)
    with pytest.raises(ValueError, match="not negative; got -1"):
        sd_range(-1, 5)
