"""The parts of bootstrap-t, ratios of costs, and the cost-quality frontier."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import (
    CostRatio,
    GateDecision,
    Interval,
    cost_ratio,
    cost_ratio_jackknife,
    cost_ratio_unpaired,
    dominates,
    frontier,
    frontier_membership,
    gate_paired,
    summarize,
)
from matrix.stats.estimates.bootstrap import MOST_AT_ONCE, resamples, studentised, turned

costs = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=2, max_size=25)
points = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=7)


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- bootstrap-t ----------------------------------------------------------------------------------


def of_a_mean(values: Any, rng: np.random.Generator, draws: int = 1999) -> Interval | None:
    """The interval of a mean, which is what the published coverage is of."""
    sample = np.asarray(values, dtype=np.float64)
    mean, sd = float(sample.mean()), float(sample.std(ddof=1))
    drawn = [sample[places] for places in resamples(sample.size, draws, rng)]
    errors = np.concatenate([block.mean(axis=1) - mean for block in drawn])
    sds = np.concatenate([block.std(axis=1, ddof=1) for block in drawn])
    return turned(mean, sd, studentised(errors, sds, sd), 0.05)


@pytest.mark.parametrize(
    ("draw", "n", "truth", "by_t", "by_bootstrap"),
    [
        (lambda g, n: g.beta(8, 2, n), 10, 0.8, 0.929, 0.947),
        (lambda g, n: g.beta(8, 2, n), 30, 0.8, 0.945, 0.952),
        (lambda g, n: g.lognormal(0, 1, n), 10, exp(0.5), 0.847, 0.905),
        # Rare zeros: no interval method rescues these, which is why crashes are never scored 0.
        (lambda g, n: g.normal(80, 5, n) * (g.random(n) > 0.05), 10, 76.0, 0.630, 0.656),
    ],
)
def test_coverage_is_that_of_the_calibration_table(
    draw: Callable[[Any, int], Any], n: int, truth: float, by_t: float, by_bootstrap: float
) -> None:
    rng, runs = seeded(2), 1000
    covered = [0, 0]
    for _ in range(runs):
        sample = draw(rng, n)
        for i, interval in enumerate(
            (summarize(sample).interval, of_a_mean(sample, rng, draws=599))
        ):
            covered[i] += interval is not None and interval.contains(truth)
    for got, expected in zip(covered, (by_t, by_bootstrap), strict=True):
        assert got / runs == pytest.approx(expected, abs=4 * sqrt(expected * (1 - expected) / runs))


@given(
    st.lists(st.integers(-99, 99), min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1),
    st.integers(1, 9),
)
def test_the_interval_moves_and_stretches_with_its_values(values: list[int], times: int) -> None:
    plain = of_a_mean(values, seeded(), draws=99)
    moved = of_a_mean([times * v + 7 for v in values], seeded(), draws=99)
    assert (plain is None) == (moved is None)
    if plain is not None and moved is not None:
        assert (moved.low, moved.high) == pytest.approx(
            (times * plain.low + 7, times * plain.high + 7), abs=1e-6
        )


def test_the_same_seed_gives_the_same_interval_and_a_skew_leans_it() -> None:
    values = seeded(4).lognormal(0, 1, 30)
    first, again = (of_a_mean(values, seeded(1)) for _ in range(2))
    assert first == again
    assert first is not None
    mean = float(values.mean())
    assert first.high - mean > 1.2 * (mean - first.low)
    once, more = (cost_ratio(np.ones(30), values, seeded(1)) for _ in range(2))
    assert once == more


def test_where_half_of_the_resamples_are_constant_there_is_no_interval() -> None:
    assert of_a_mean([0.0, 1.0], seeded()) is None
    assert cost_ratio([1.0, 1.0], [1.0, 2.0], seeded()).interval is None


def test_more_draws_than_fit_at_once_are_drawn_in_blocks() -> None:
    values = seeded(6).normal(0, 1, 30_000)
    shapes = [places.shape for places in resamples(values.size, 199, seeded())]
    assert [n for n, _ in shapes] == [MOST_AT_ONCE // 30_000] * 3 + [1]
    wide, usual = of_a_mean(values, seeded(), draws=199), summarize(values).interval
    assert wide is not None
    assert usual is not None
    assert wide.half_width == pytest.approx(usual.half_width, rel=0.3)


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 99 draws"):
        cost_ratio([1.0, 2.0], [2.0, 2.0], seeded(), draws=50)
    with pytest.raises(ValueError, match="2 / alpha"):
        cost_ratio([1.0, 2.0], [2.0, 2.0], seeded(), alpha=0.001, draws=999)


# --- ratios of costs ------------------------------------------------------------------------------


def both(first: Any, second: Any, alpha: float = 0.05) -> tuple[CostRatio, CostRatio]:
    return (
        cost_ratio(first, second, seeded(), alpha, draws=199),
        cost_ratio_jackknife(first, second, alpha),
    )


@given(costs)
def test_the_ratio_is_that_of_the_means(rounds: list[tuple[float, float]]) -> None:
    first, second = zip(*rounds, strict=True)
    for result in both(first, second):
        assert result.ratio == pytest.approx(sum(second) / sum(first))
        if result.interval is not None:
            assert 0 < result.interval.low < result.interval.high


@given(costs)
def test_exchanging_the_variants_inverts_the_jackknifed_ratio(
    rounds: list[tuple[float, float]],
) -> None:
    first, second = zip(*rounds, strict=True)
    forward, backward = (cost_ratio_jackknife(*pair) for pair in ((first, second), (second, first)))
    if forward.interval is not None and backward.interval is not None:
        assert forward.interval.low == pytest.approx(1 / backward.interval.high, rel=1e-6)


@given(costs, st.floats(0.001, 1000))
def test_the_unit_of_money_does_not_matter(rounds: list[tuple[float, float]], unit: float) -> None:
    first, second = (np.asarray(side) for side in zip(*rounds, strict=True))
    for plain, scaled in zip(both(first, second), both(first * unit, second * unit), strict=True):
        assert scaled.ratio == pytest.approx(plain.ratio)
        if plain.interval is not None and scaled.interval is not None:
            assert scaled.interval.low == pytest.approx(plain.interval.low, rel=1e-6)


def test_both_methods_cover_a_true_ratio_nearly_as_often_as_they_say() -> None:
    rng, runs, n = seeded(8), 400, 30
    covered = [0, 0]
    for _ in range(runs):
        shared = rng.lognormal(0, 0.5, n)
        first = shared * rng.lognormal(0, 0.4, n)
        second = 0.7 * shared * rng.lognormal(0, 0.4, n)
        for i, result in enumerate(both(first, second)):
            assert result.interval is not None
            covered[i] += result.interval.contains(0.7)
    for count in covered:
        assert 0.90 <= count / runs <= 0.985


def test_costs_in_the_same_proportion_every_round_have_no_interval() -> None:
    first = np.array([1.0, 2.0, 5.0, 0.3])
    for result in both(first, 0.7 * first):
        assert result.ratio == pytest.approx(0.7)
        assert result.interval is None


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [([], [], None), ([2.0], [1.0], 0.5), ([0.0, 0.0], [1.0, 2.0], None)],
)
def test_without_rounds_or_without_cost_there_is_no_ratio(
    first: list[float], second: list[float], ratio: float | None
) -> None:
    for result in both(first, second):
        assert (result.ratio, result.interval) == (ratio, None)


def test_money_spent_in_one_round_only_has_a_ratio_and_no_jackknife() -> None:
    result = cost_ratio_jackknife([0.0, 0.0, 3.0], [1.0, 1.0, 1.0])
    assert result.ratio == pytest.approx(1.0)
    assert result.interval is None


def test_costs_that_are_none_are_refused() -> None:
    for ask in both, lambda a, b: (cost_ratio_jackknife(a, b),):
        with pytest.raises(ValueError, match=r"equal lengths; got 2 and 1; a cost cannot be neg"):
            ask([1.0, -1.0], [1.0])


def test_a_variant_dominates_if_it_is_as_good_and_cheaper() -> None:
    rng = seeded(12)
    base = rng.normal(50, 5, 40)
    as_good: GateDecision = gate_paired(base, base + rng.normal(1, 2, 40), 2.0)
    worse: GateDecision = gate_paired(base, base + rng.normal(-5, 2, 40), 2.0)
    cheaper = CostRatio(40, 0.7, Interval(0.6, 0.8, 0.9), "jackknife")
    unclear = CostRatio(40, 0.9, Interval(0.7, 1.1, 0.9), "jackknife")
    unknown = CostRatio(1, 0.5, None, "jackknife")
    assert dominates(as_good, cheaper)
    assert not dominates(worse, cheaper)
    assert not dominates(as_good, unclear)
    assert not dominates(as_good, unknown)


# --- frontier -------------------------------------------------------------------------------------


@given(points)
def test_the_frontier_is_what_pairwise_comparison_leaves(variants: list[tuple[int, int]]) -> None:
    on = frontier([q for q, _ in variants], [c for _, c in variants])
    for place, (q, c) in enumerate(variants):
        beaten = any(a >= q and b <= c and (a, b) != (q, c) for a, b in variants)
        assert on[place] == (not beaten)
    assert on.any()


@given(points)
def test_rounds_that_all_agree_leave_no_doubt_about_the_frontier(
    variants: list[tuple[int, int]],
) -> None:
    q, c = (np.tile(side, (5, 1)) for side in zip(*variants, strict=True))
    shares = frontier_membership(q, c, seeded(), draws=20)
    assert shares is not None
    assert shares.tolist() == frontier(q[0], c[0]).astype(float).tolist()


def test_membership_reflects_how_close_a_call_it_is() -> None:
    rng = seeded(3)
    quality = rng.normal(0, 1, (40, 3)) + np.array([0.0, 0.05, 3.0])
    cost = np.tile([1.0, 2.0, 3.0], (40, 1))
    shares = frontier_membership(quality, cost, seeded(1))
    assert shares is not None
    assert shares[0] == shares[2] == 1.0
    assert 0.05 < shares[1] < 0.95
    again = frontier_membership(quality, cost, seeded(1))
    assert np.array_equal(shares, again if again is not None else 0)


def test_where_lower_is_better_the_frontier_turns() -> None:
    assert frontier([1, 2], [1, 1], higher_is_better=False).tolist() == [True, False]
    shares = frontier_membership([[1, 2]], [[1, 1]], seeded(), higher_is_better=False)
    assert shares is not None
    assert shares.tolist() == [1.0, 0.0]


def test_no_rounds_say_nothing_and_shapes_must_fit() -> None:
    assert frontier_membership(np.empty((0, 2)), np.empty((0, 2)), seeded()) is None
    with pytest.raises(ValueError, match="one shape"):
        frontier_membership([[1.0]], [[1.0, 2.0]], seeded())
    with pytest.raises(ValueError, match="one score and one cost"):
        frontier([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="finite values only"):
        frontier_membership([[float("nan")]], [[1.0]], seeded())
    with pytest.raises(ValueError, match="at least 1 draw"):
        frontier_membership([[1.0]], [[1.0]], seeded(), draws=0)


def test_a_ratio_of_samples_that_share_nothing_holds_the_truth_as_often_as_it_says() -> None:
    """Gamma costs, 15 sessions against 150: within 3 points of 95 %, and turned round, inverted."""
    rng, files, held = np.random.default_rng(11), 1500, 0
    for _ in range(files):
        first, second = rng.gamma(4.0, 1.0, 15), rng.gamma(4.0, 2.0, 150)
        found = cost_ratio_unpaired(first, second)
        assert found.interval is not None
        held += found.interval.contains(2.0)
    assert held / files == pytest.approx(0.95, abs=0.03)
    back = cost_ratio_unpaired(second, first)
    assert back.interval is not None
    assert found.interval is not None
    assert (back.ratio, back.interval.low) == pytest.approx(
        (1 / (found.ratio or 0.0), 1 / found.interval.high)
    )
    assert found.n == 15
    assert found.ratio == pytest.approx(second.mean() / first.mean())
    assert cost_ratio_unpaired([0.0, 3.0], [1.0, 1.0]).interval is None
    assert cost_ratio_unpaired([1.0, 1.0], [2.0, 2.0]).interval is None
    assert cost_ratio_unpaired([], [1.0]).ratio is None
    with pytest.raises(ValueError, match="negative"):
        cost_ratio_unpaired([-1.0], [1.0])
