"""How many rounds an effect takes: published numbers, an independent library, and laws."""

from __future__ import annotations

from math import ceil, inf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nct, t

from matrix.stats import (
    MIN_ROUNDS,
    PowerGoal,
    pairs_by_normal,
    pairs_needed,
    power_of_rounds,
    rounds_for,
    rounds_needed,
    sd_of_difference,
    smallest_effect,
)
from matrix.stats.rounds.rules import Engine

effects = st.floats(0.05, 5.0)


def test_half_a_standard_deviation_takes_the_published_number_of_pairs() -> None:
    assert rounds_needed(0.5, 1.0) == 34


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_the_best_of_several_is_named_as_often_as_was_asked(k: int) -> None:
    """By simulation of the claim itself: better than each of the others by plain t intervals."""
    n, runs = rounds_needed(0.5, 1.0, PowerGoal(n_variants=k)), 8000
    rng = np.random.default_rng(k)
    scores = rng.normal(0.0, sqrt(0.5), (runs, n, k))
    scores[:, :, 0] += 0.5
    lead = scores[:, :, :1] - scores[:, :, 1:]
    statistic = lead.mean(axis=1) / (lead.std(axis=1, ddof=1) / sqrt(n))
    named = float((statistic.min(axis=1) > t.ppf(0.975, n - 1)).mean())
    assert named == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(("engine", "rounds"), [("fixed", 34), ("planned", 37), ("open-ended", 57)])
def test_looking_after_every_round_takes_longer_plans(engine: Engine, rounds: int) -> None:
    assert rounds_needed(0.5, 1.0, PowerGoal(engine=engine)) == rounds


def test_pairing_at_a_correlation_of_one_half_halves_the_sessions() -> None:
    assert sd_of_difference(1.0, 1.0, 0.5) == pytest.approx(1.0)
    assert rounds_needed(0.5, sd_of_difference(1.0, 1.0, 0.5)) == 34
    n = np.array([63, 64])  # of each variant, by the two-sample t of an independent library
    unpaired = 1 - nct.cdf(t.ppf(0.975, 2 * n - 2), 2 * n - 2, 0.5 * np.sqrt(n / 2))
    assert np.greater_equal(unpaired, 0.8).tolist() == [False, True]


@pytest.mark.parametrize(
    ("variance", "repeats", "pairs"), [(0.0, inf, 969.0), (1 / 6, 1, 3876), (1 / 6, 10, 1260)]
)
def test_pairs_by_the_normal_distribution_match_millers_table(
    variance: float, repeats: float, pairs: float
) -> None:
    """Scenarios drawn from many, whose true differences have a standard deviation of a third."""
    sd = sqrt(1 / 9 + 2 * variance / repeats)
    assert pairs_by_normal(0.03, sd) == pytest.approx(pairs, abs=0.5)


@given(st.integers(MIN_ROUNDS, 3000), effects)
def test_power_is_that_of_an_independent_library(n: int, effect: float) -> None:
    goal = PowerGoal()
    expected = 1 - nct.cdf(t.ppf(1 - goal.alpha / 2, n - 1), n - 1, effect * sqrt(n))
    if np.isfinite(expected):
        assert power_of_rounds(n, effect, 1.0, goal) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@given(effects, st.floats(0.1, 20), st.floats(0.3, 0.99), st.integers(2, 6))
def test_the_pairs_needed_have_the_power_and_one_fewer_does_not(
    d: float, sd: float, power: float, k: int
) -> None:
    goal = PowerGoal(power=power, n_variants=k)
    exact, rounds = pairs_needed(d * sd, sd, goal), rounds_needed(d * sd, sd, goal)
    assert rounds == max(MIN_ROUNDS, ceil(exact))
    assert power_of_rounds(rounds, d * sd, sd, goal) >= power - 1e-6
    if rounds > MIN_ROUNDS:
        assert power_of_rounds(rounds - 1, d * sd, sd, goal) < power
    assert exact >= pairs_by_normal(d * sd, sd, goal) - 1e-6 or exact == 2.0


@given(st.integers(MIN_ROUNDS, 5000), st.floats(0.01, 50), st.sampled_from(["fixed", "planned"]))
def test_the_smallest_effect_has_exactly_the_power_wanted(n: int, sd: float, engine: Any) -> None:
    goal = PowerGoal(engine=engine)
    effect = smallest_effect(n, sd, goal)
    assert effect is not None
    assert power_of_rounds(n, effect, sd, goal) == pytest.approx(0.8, abs=1e-6)


@given(effects, st.floats(1.01, 3))
def test_larger_effects_take_no_more_rounds(effect: float, times: float) -> None:
    assert rounds_needed(effect * times, 1.0) <= rounds_needed(effect, 1.0)
    assert rounds_needed(-effect, 1.0) == rounds_needed(effect, 1.0)


def test_even_the_largest_effect_takes_ten_rounds_and_fewer_show_nothing() -> None:
    assert rounds_needed(1e6, 1.0) == MIN_ROUNDS
    assert power_of_rounds(MIN_ROUNDS - 1, 1e6, 1.0) == 0.0
    assert power_of_rounds(MIN_ROUNDS, 1e6, 1.0) == 1.0
    assert smallest_effect(MIN_ROUNDS - 1, 1.0) is None


def test_a_vanishing_effect_takes_a_finite_number_of_rounds() -> None:
    assert rounds_needed(1e-8, 1.0) == pytest.approx(7.8488e16, rel=1e-4)


def test_money_is_whole_nano_dollars_and_a_budget_never_buys_part_of_a_round() -> None:
    assert rounds_for(85_000_000_034, 2_500_000_001) == 34
    assert rounds_for(85_000_000_033, 2_500_000_001) == 33
    assert rounds_for(0, 1) == 0


@given(st.integers(0, 10**18), st.integers(1, 10**12))
def test_a_budget_pays_for_the_rounds_it_buys_and_for_no_more(budget: int, price: int) -> None:
    n = rounds_for(budget, price)
    assert n * price <= budget < (n + 1) * price


def test_every_mistake_of_a_goal_is_named_at_once() -> None:
    bad: Any = "peeking"
    with pytest.raises(ValueError, match=r"alpha is.*got 0.7; .*got 1; unknown engine 'peeking'"):
        PowerGoal(alpha=0.7, n_variants=1, engine=bad)
    with pytest.raises(ValueError, match="power is a chance"):
        PowerGoal(power=1.0)


@pytest.mark.parametrize(("effect", "sd"), [(0.0, 1.0), (inf, 1.0), (1.0, 0.0), (1.0, inf)])
def test_effects_and_spreads_that_mean_nothing_are_refused(effect: float, sd: float) -> None:
    for ask in (pairs_needed, rounds_needed, lambda e, s: power_of_rounds(20, e, s)):
        with pytest.raises(ValueError, match=r"effect is|standard deviation is"):
            ask(effect, sd)


def test_other_impossible_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"sd_a cannot be negative; got -1.*correlation"):
        sd_of_difference(-1.0, 1.0, 1.5)
    with pytest.raises(ValueError, match="at least 1 nano-dollar"):
        rounds_for(10, 0)


@pytest.mark.parametrize(
    ("rounds", "effect", "variants", "reached"),
    [
        (10, 1.07, 2, 0.262),
        (10, 1.4, 2, 0.537),
        (10, 1.7, 2, 0.768),
        (12, 1.265, 2, 0.678),
        (16, 1.07, 2, 0.780),
        (18, 1.07, 3, 0.760),
        (31, 0.71, 2, 0.811),
    ],
)
def test_few_rounds_of_open_ended_show_what_other_code_has_counted(
    rounds: int, effect: float, variants: int, reached: float
) -> None:
    """By 60,000 runs of an implementation of its own, made from the published sources."""
    goal = PowerGoal(engine="open-ended", n_variants=variants)
    assert power_of_rounds(rounds, effect, 1.0, goal) == pytest.approx(reached, abs=0.017)


@pytest.mark.slow
@given(st.integers(10, 250), st.floats(0.1, 2.0), st.sampled_from([2, 4, 8]))
def test_more_rounds_of_open_ended_show_more_and_the_smallest_has_the_chance(
    n: int, effect: float, k: int
) -> None:
    goal = PowerGoal(engine="open-ended", n_variants=k)
    assert power_of_rounds(n, effect, 1.0, goal) <= power_of_rounds(n + 1, effect, 1.0, goal)
    least = smallest_effect(n, 2.0, goal)
    assert least is not None
    assert power_of_rounds(n, least, 2.0, goal) >= goal.power
    assert power_of_rounds(n, least * 0.98, 2.0, goal) < goal.power
    needed = rounds_needed(effect, 1.0, goal)
    assert power_of_rounds(needed, effect, 1.0, goal) >= goal.power or needed > 256
