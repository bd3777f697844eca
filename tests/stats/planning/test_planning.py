"""What naming a winner takes besides a difference: reference numbers, and laws."""

from __future__ import annotations

from itertools import pairwise
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2

from benchmarks.calibrate import (
    ENGINES,
    FAILING,
    YES_NO,
    YesNoWorld,
    play_promise,
    play_yes_no,
)
from matrix.stats import (
    MIN_ROUNDS,
    PowerGoal,
    Rules,
    failure_gate_pairs,
    newcombe_paired,
    power_of_rounds,
    rounds_needed,
    rounds_to_win,
    sd_range,
    smallest_effect,
    verdict_of,
)
from matrix.stats.planning.gate_chance import FailureGate
from matrix.stats.planning.paired_rounds import STEP, PairedRounds
from matrix.stats.planning.planning import gate_of
from matrix.stats.planning.yes_no_chance import YesNoScores


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


@given(st.floats(0.02, 0.3), st.booleans())
def test_smaller_margins_only_ever_take_more_pairs(margin: float, sequential: bool) -> None:
    none = failure_gate_pairs(margin, sequential=sequential)
    strict = failure_gate_pairs(margin / 2, sequential=sequential)
    assert none is not None
    assert strict is not None
    assert strict >= none


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fixed", "planned", "open-ended"])
@pytest.mark.parametrize(("k", "rate"), [(2, 0.02), pytest.param(4, 0.05, marks=pytest.mark.slow)])
def test_with_failures_the_winner_is_named_as_often_as_was_planned_for(
    table_of: Any, engine: Any, k: int, rate: float
) -> None:
    """Played by the verdict itself: scores and failures that have nothing to do with each other."""
    goal, runs, pairs = PowerGoal(n_variants=k, engine=engine), 250, 4
    margin, effect, sd = 0.15, 0.7, 1.0
    n = rounds_to_win(goal, margin, pairs, effect, sd, icc=0.1, rate=rate).total
    rules = Rules(engine=engine, failure_margin=margin, score_bounds=None)
    rng, named = np.random.default_rng(17), 0
    for _ in range(runs):
        noise = rng.normal(0, sd * sqrt(pairs / 2) * (1 - rate), (n, pairs, k))
        failed = rng.random((n, pairs, k)) < rate
        outcomes = np.where(failed, "failed", "completed")
        table = table_of(noise + effect * (np.arange(k) == 0), outcomes)
        named += verdict_of(table, rules).winner == 0
    most = 1.0 if engine == "open-ended" else 0.87  # its rounds are those of its longest runs
    assert 0.8 - 0.03 - 3 * sqrt(0.16 / runs) <= named / runs <= most + 0.03


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("k", "rate", "effect"),
    [
        (2, 0.25, 1.2),
        (2, 0.1, 1.2),
        (3, 0.25, 0.8),
        pytest.param(4, 0.4, 0.8, marks=pytest.mark.slow),
    ],
)
def test_a_plan_counts_the_rounds_that_are_left_with_a_pair_to_compare(
    table_of: Any, engine: Any, k: int, rate: float, effect: float
) -> None:
    """Played by the verdict itself, of one pair in a round: who fails takes the round along."""
    goal, runs, margin = PowerGoal(n_variants=k, engine=engine), 300, 0.6
    n = rounds_to_win(goal, margin, 1, effect, 1.0, rate=rate).total
    promised = PairedRounds(1, rate).chance(n, effect, 1.0, goal)
    promised *= gate_of(goal, margin, 1, icc=0.0, rate=rate).chance(n)
    assert promised >= 0.8
    assert rounds_needed(effect, 1.0, goal) < n
    rules = Rules(engine=engine, failure_margin=margin, failure_icc=0.0, score_bounds=None)
    rng, named = np.random.default_rng(3), 0
    for _ in range(runs):
        scores = rng.normal(0, sqrt(0.5), (n, 1, k)) + effect * (np.arange(k) == 0)
        failed = rng.random((n, 1, k)) < rate
        table = table_of(scores, np.where(failed, "failed", "completed"))
        named += verdict_of(table, rules).winner == 0
    error = 3 * sqrt(0.16 / runs)
    assert named / runs >= promised - 0.03 - error
    if engine == "fixed":
        assert named / runs <= promised + 0.03 + error


@pytest.mark.slow
@given(st.integers(10, 200), st.integers(1, 6), st.floats(0.01, 0.6), st.sampled_from(ENGINES))
def test_scores_that_are_missing_only_ever_take_chance_away(
    n: int, pairs: int, missing: float, engine: Any
) -> None:
    goal, some = PowerGoal(n_variants=3, engine=engine), PairedRounds(pairs, missing)
    assert some.chance(n, 0.7, 1.0, goal) <= power_of_rounds(n, 0.7, 1.0, goal) + 1e-9
    least, whole = (
        some.smallest_effect(n, 1.0, goal),
        PairedRounds(pairs).smallest_effect(n, 1.0, goal),
    )
    assert whole == smallest_effect(n, 1.0, goal)
    if least is not None:
        assert whole is not None
        assert least >= whole / STEP
        assert some.chance(n, least, 1.0, goal) >= goal.power


def test_ten_rounds_of_which_one_is_lost_are_nine() -> None:
    found = PairedRounds(1, 0.25).chance(10, 1e3, 1.0, PowerGoal())
    assert found == pytest.approx((0.75**2) ** 10, abs=0.004)
    assert PairedRounds(1, 0.25).smallest_effect(10, 1.0, PowerGoal()) is None


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("rate", FAILING)
def test_every_kind_of_plan_keeps_its_promise(engine: Any, k: int, rate: float) -> None:
    """The table of docs/statistics.md, cell by cell."""
    kept = play_promise(engine, k, rate, 2000)
    assert kept.best / 2000 == pytest.approx(kept.promised, abs=0.03)
    assert kept.another <= 2


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("world", YES_NO[:2], ids=lambda world: f"{world.best}-{world.other}")
def test_a_plan_for_yes_no_scores_counts_the_pairs_that_have_to_differ(
    engine: Any, world: YesNoWorld
) -> None:
    """Played by the verdict itself: the noncentral t alone promised it of too few rounds."""
    runs = 300
    kept = play_yes_no(engine, world, runs)
    assert kept.best / runs >= 0.8 - 3 * sqrt(0.16 / runs)
    assert kept.best / runs == pytest.approx(kept.promised, abs=3 * sqrt(0.16 / runs))
    assert kept.by_t is not None
    if engine != "open-ended":  # which counts few rounds, and misses nothing of them
        assert kept.planned >= kept.by_t, "true of these rates"


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("world", YES_NO, ids=str)
def test_every_kind_of_yes_no_plan_keeps_its_promise(engine: Any, world: YesNoWorld) -> None:
    """The table of docs/statistics.md, cell by cell."""
    kept = play_yes_no(engine, world, 2000)
    assert kept.best / 2000 == pytest.approx(kept.promised, abs=0.04)
    assert kept.best / 2000 >= 0.77
    assert kept.another <= 2


@pytest.mark.parametrize(("rounds", "rate"), [(14, 0.4), (19, 0.4), (34, 0.2)])
def test_where_only_one_variant_ever_fails_the_chance_is_that_of_six_such_pairs(
    rounds: int, rate: float
) -> None:
    """Of a t test alone four differences in these rounds are enough: the binomial decides."""
    found = YesNoScores().chance(rounds, rate, sqrt(rate * (1 - rate)), PowerGoal())
    assert found == pytest.approx(binom.sf(5, rounds, rate), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.12, 0.03])
def test_where_many_pairs_differ_it_comes_to_the_noncentral_t(effect: float) -> None:
    """Simulated, and beyond the pairs that are."""
    found = rounds_to_win(PowerGoal(), 0.2, 1, effect, 0.65, yes_no=1.0).scores
    assert found == pytest.approx(rounds_needed(effect, 0.65), rel=0.06)


@pytest.mark.slow
@given(st.sampled_from([10, 20, 60]), st.floats(0.3, 0.6), st.sampled_from(ENGINES))
def test_the_smallest_yes_no_difference_has_the_chance_and_one_of_any_scale_is_the_same(
    n: int, sd: float, engine: Any
) -> None:
    goal = PowerGoal(engine=engine)
    least = YesNoScores().smallest_effect(n, sd, goal)
    if least is not None:
        assert least < 1.0
        assert YesNoScores().chance(n, least, sd, goal) >= goal.power
        scaled = YesNoScores(100.0).smallest_effect(n, 100 * sd, goal)
        assert scaled == pytest.approx(100 * least, rel=0.021)


@pytest.mark.parametrize("engine", ["fixed", "planned", "open-ended"])
@pytest.mark.parametrize("rounds", [10, 13, 17])
def test_a_larger_difference_of_yes_no_scores_is_shown_no_less_often(
    engine: Any, rounds: int
) -> None:
    """With no more spread than the difference itself brings: none is ever the other way."""
    goal = PowerGoal(engine=engine)
    found = [YesNoScores().chance(rounds, at, 0.0, goal) for at in (0.6, 0.7, 0.8, 0.9, 0.95, 1.0)]
    assert all(more >= less - 0.03 for less, more in pairwise(found))
    assert found[-1] == 1.0, "a clean sweep is shown, by the verdict's rule for bounded scores"


def test_failures_only_ever_take_more_rounds() -> None:
    for engine in ("fixed", "planned"):
        totals = [
            rounds_to_win(PowerGoal(engine=engine), 0.1, 5, 1.0, 1.5, icc=0.1, rate=rate).total
            for rate in (0.0, 0.01, 0.03, 0.1)
        ]
        assert totals == sorted(totals)
        assert totals[-1] > totals[0]


def test_without_failures_the_gate_opens_at_the_round_that_the_pairs_say() -> None:
    for sequential, pairs in ((False, 52), (True, 79)):
        gate = FailureGate(0.05, 0.0, 1, rivals=3, sequential=sequential)
        assert [gate.chance(n) for n in (0, pairs - 1, pairs, 500)] == [0.0, 0.0, 1.0, 1.0]


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
    with pytest.raises(ValueError, match=r"failure margin.*got 0.*got 0.7"):
        failure_gate_pairs(0, 0.7)
    with pytest.raises(ValueError, match=r"margin.*got 2.*rate.*got -1.*got 0, 1.*got 0.9"):
        FailureGate(2, -1, 0, alpha=0.9, per_effective=0.5)
    with pytest.raises(ValueError, match=r"more than 0 apart; got 0.*got 0.*got 2"):
        YesNoScores(0, 0, 2)
    with pytest.raises(ValueError, match="at least one pair"):
        rounds_to_win(PowerGoal(), 0.05, 0)
    with pytest.raises(ValueError, match="not negative; got -1"):
        sd_range(-1, 5)
