"""Means, paired t and the running mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import RunningMean, paired_t, summarize
from matrix.stats.estimates.means import ALIKE_SHARE, alike_half_width, alike_log_p

SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

samples = st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=40)


def test_students_sleep_data_give_students_result() -> None:
    result = paired_t(SLEEP_2, SLEEP_1)
    interval = result.difference.interval
    assert interval is not None
    assert result.df == 9
    assert result.t == pytest.approx(-4.062128, abs=6e-7)
    assert result.p == pytest.approx(0.002833, abs=6e-7)
    assert (interval.low, interval.high) == pytest.approx((-2.459886, -0.700114), abs=6e-7)


def test_a_ninety_percent_interval_is_the_two_one_sided_test_of_the_sleep_data() -> None:
    interval = paired_t(SLEEP_2, SLEEP_1, alpha=0.10).difference.interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((-2.2930, -0.8670), abs=6e-5)
    assert interval.confidence == pytest.approx(0.9)


def test_without_values_nothing_is_known() -> None:
    summary = summarize([])
    assert (summary.n, summary.mean, summary.sd, summary.se, summary.interval) == (
        0, None, None, None, None,
    )  # fmt: skip


def test_one_value_has_a_mean_and_no_error_at_all_rather_than_error_zero() -> None:
    summary = summarize([3.5])
    assert (summary.n, summary.mean) == (1, 3.5)
    assert (summary.sd, summary.se, summary.interval) == (None, None, None)
    assert not summary.identical


@given(st.floats(-1e6, 1e6), st.integers(2, 60))
def test_equal_values_are_identical_so_far_and_have_no_interval(value: float, n: int) -> None:
    summary = summarize([value] * n)
    assert summary.identical
    assert (summary.mean, summary.sd) == (value, 0.0)
    assert summary.se is None
    assert summary.interval is None


@pytest.mark.parametrize("shift", [0.1, 1 / 3, 1e-3, 17.0])
def test_a_constant_difference_is_no_infinite_t_despite_rounding(shift: float) -> None:
    first = np.random.default_rng(0).uniform(0, 100, 30)
    result = paired_t(first, first + shift)
    assert result.difference.identical
    assert (result.t, result.p, result.difference.interval) == (None, None, None)


def test_a_small_true_spread_is_not_mistaken_for_rounding() -> None:
    result = paired_t([1000.0, 1000.0, 1000.0], [1000.0, 1000.000001, 1000.0])
    assert not result.difference.identical
    assert result.p is not None


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=2, max_size=30))
def test_exchanging_the_arms_negates_the_difference_and_keeps_p(
    pairs: list[tuple[int, int]],
) -> None:
    first, second = zip(*pairs, strict=True)
    forward, backward = paired_t(first, second), paired_t(second, first)
    assert forward.p == backward.p
    assert forward.difference.identical == backward.difference.identical
    if forward.difference.interval is None or backward.difference.interval is None:
        assert forward.difference.identical
        return
    assert forward.difference.mean == -(backward.difference.mean or 0.0)
    assert forward.difference.interval == backward.difference.interval.negated()


@given(samples)
def test_p_is_below_alpha_exactly_where_the_interval_excludes_zero(values: list[float]) -> None:
    for alpha in (0.01, 0.05, 0.3):
        result = paired_t(np.zeros(len(values)), values, alpha)
        if result.difference.interval is None or result.p is None:
            assert result.difference.n < 2 or result.difference.identical
        elif abs(result.p - alpha) > 1e-9:
            assert (result.p < alpha) == (not result.difference.interval.contains(0.0))


@given(samples)
def test_the_running_mean_agrees_with_the_whole_sample(values: list[float]) -> None:
    running = RunningMean()
    for value in values:
        running.add(value)
    live, whole = running.summary(), summarize(values)
    size = max(map(abs, values), default=0.0)
    assert live.n == whole.n == running.n
    if whole.mean is not None:
        assert live.mean == pytest.approx(whole.mean, rel=1e-9, abs=1e-9 * size)
    if whole.sd is not None and whole.sd > 1e-6 * size:
        assert live.sd == pytest.approx(whole.sd, rel=1e-6)
        assert live.interval is not None
        assert whole.interval is not None
        assert live.interval.half_width == pytest.approx(whole.interval.half_width, rel=1e-6)


def test_the_running_variance_survives_a_large_offset() -> None:
    running = RunningMean()
    for value in (4.0, 7.0, 13.0, 16.0):
        running.add(1e9 + value)
    assert running.variance == pytest.approx(30.0)


def test_a_running_mean_starts_unknown() -> None:
    running = RunningMean()
    assert running.mean is None
    assert running.variance is None
    assert running.summary().interval is None
    running.add(2.0)
    assert running.summary() == summarize([2.0])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        summarize([1.0, bad])
    with pytest.raises(ValueError, match="finite"):
        RunningMean().add(bad)


def test_pairs_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        paired_t([1.0, 2.0], [1.0])


@pytest.mark.parametrize("level", [0.05, 0.05 / 3, 0.001])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 1.0])
def test_differences_that_are_all_alike_err_at_most_their_share_of_the_level(
    level: float, share: float
) -> None:
    """Of all true means of 0, the one that makes n alike likeliest has two values: d, and -W."""
    span = 4.0
    d = share * span
    n = np.arange(1, 2_000)
    claims = alike_half_width(d, n, span, level) < d
    assert claims.any()
    first = int(n[claims.argmax()])
    assert claims[first - 1 :].all()
    for sign in (1.0, -1.0):
        by_chance = (span / (span + d)) ** first
        assert 2.0 * by_chance <= level * ALIKE_SHARE
        assert 2.0 * by_chance * (1.0 + d / span) > level * ALIKE_SHARE, "not a round later"
        p = np.exp(alike_log_p(sign * d, n, span))
        assert ((p < level) == claims).all()
