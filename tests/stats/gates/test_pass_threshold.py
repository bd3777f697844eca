"""Pass thresholds: published numbers of sessions, error rates, and laws."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from matrix.stats import clustered_threshold, fixed_threshold, mean_threshold

counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
rates = st.floats(0.05, 0.99)


@pytest.mark.parametrize(("p0", "needed"), [(0.8, 14), (0.9, 29), (0.95, 59), (0.99, 299)])
def test_one_look_passes_at_exactly_the_published_number_of_clean_sessions(
    p0: float, needed: int
) -> None:
    assert fixed_threshold(needed, needed, p0).kind == "pass"
    assert fixed_threshold(needed - 1, needed - 1, p0).kind == "not_enough_data"


@pytest.mark.parametrize("n", [5, 29, 80])
@pytest.mark.parametrize("p0", [0.5, 0.9])
def test_one_look_errs_at_most_as_often_as_declared_by_enumeration(n: int, p0: float) -> None:
    kinds = [fixed_threshold(x, n, p0).kind for x in range(n + 1)]
    chances = [comb(n, x) * p0**x * (1 - p0) ** (n - x) for x in range(n + 1)]
    just_below = [comb(n, x) * (p0 - 1e-9) ** x * (1 - p0) ** (n - x) for x in range(n + 1)]
    assert sum(c for c, k in zip(just_below, kinds, strict=True) if k == "pass") <= 0.05
    assert sum(c for c, k in zip(chances, kinds, strict=True) if k == "fail") <= 0.05


@given(counts, rates)
def test_a_verdict_follows_from_its_interval(count: tuple[int, int], p0: float) -> None:
    verdict = fixed_threshold(*count, p0)
    assert verdict.interval is not None
    expected = "not_enough_data"
    if verdict.interval.low >= p0:
        expected = "pass"
    elif verdict.interval.high < p0:
        expected = "fail"
    assert verdict.kind == expected
    assert verdict.rate == count[0] / count[1]


def test_the_plain_rule_is_reported_beside_and_may_differ() -> None:
    verdict = fixed_threshold(28, 30, 0.9)
    assert verdict.kind == "not_enough_data"
    assert (verdict.passes, verdict.n) == (28, 30)


def test_without_sessions_nothing_is_known() -> None:
    verdict = fixed_threshold(0, 0, 0.9)
    assert verdict.kind == "not_enough_data"
    assert (verdict.rate, verdict.interval) == (None, None)


def test_what_means_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1.*got 1.0; alpha is.*got 0.7"):
        fixed_threshold(3, 3, 1.0, alpha=0.7)
    with pytest.raises(ValueError, match="between 0 and n"):
        fixed_threshold(4, 3, 0.9)


# --- a threshold for a mean -----------------------------------------------------------------------

SPREAD = np.tile([-4.0, -1.0, 0.0, 2.0, 3.0], 6)


def test_a_mean_passes_exactly_when_its_one_sided_t_bound_reaches_the_threshold() -> None:
    scores = 80 + np.concatenate([SPREAD[:15], -SPREAD[:15]])  # no skewness
    bound = scores.mean() - t.ppf(0.95, 29) * scores.std(ddof=1) / np.sqrt(30)
    assert mean_threshold(scores, bound - 1e-9).kind == "pass"
    assert mean_threshold(scores, bound + 1e-9).kind == "not_enough_data"


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_where_lower_is_better_everything_is_turned_round(mean: float, threshold: float) -> None:
    values = mean + SPREAD
    there = mean_threshold(values, threshold)
    back = mean_threshold(-values, -threshold, higher_is_better=False)
    assert there.kind == back.kind


def test_a_mean_surely_below_fails_and_few_rounds_show_nothing() -> None:
    assert mean_threshold(80 + SPREAD, 90).kind == "fail"
    assert mean_threshold((80 + SPREAD)[:9], 20).kind == "not_enough_data"
    kinds = [mean_threshold([80.0] * n, bar).kind for n in (9, 10) for bar in (20, 80, 81)]
    assert kinds == ["not_enough_data"] * 3 + ["pass", "pass", "fail"], "all came out alike"
    assert mean_threshold([], 20).mean is None
    with pytest.raises(ValueError, match=r"finite; got nan.*got 0.9"):
        mean_threshold(SPREAD, float("nan"), 0.9)


@given(
    st.lists(st.booleans(), min_size=10, max_size=60),
    st.integers(2, 12),
    st.floats(0.05, 0.99),
    st.booleans(),
)
def test_the_same_answers_many_times_over_show_no_more_than_once(
    passed: list[bool], copies: int, threshold: float, more: bool
) -> None:
    n, good = len(passed), sum(passed)
    once = fixed_threshold(good, n, threshold)
    found = clustered_threshold(
        np.repeat(np.array(passed, float)[:, None], copies, axis=1),
        threshold,
        higher_is_better=more,
    )
    assert found.n == n
    assert found.mean == pytest.approx(once.rate)
    assert found.interval is not None
    assert once.interval is not None
    assert found.interval.low <= once.interval.low + 1e-9
    assert found.interval.high >= once.interval.high - 1e-9
    if found.kind != "not_enough_data" and found.interval.low != threshold != found.interval.high:
        sides = {True: "pass", False: "fail"}
        assert found.kind == sides[(found.interval.low > threshold) == more]


def test_units_whose_answers_go_together_pass_wrongly_about_as_rarely_as_declared() -> None:
    rng, rate, icc = np.random.default_rng(5), 0.9, 0.3
    kinds = []
    for _ in range(1500):
        own = rng.beta(rate * (1 - icc) / icc, (1 - rate) * (1 - icc) / icc, 14)
        passed = (rng.random((14, 6)) < own[:, None]).astype(float)
        kinds.append(clustered_threshold(passed, rate).kind)
    assert kinds.count("pass") / 1500 < 0.08
    assert kinds.count("fail") / 1500 < 0.05
    assert kinds.count("pass") > 0


def test_units_that_differ_show_nothing_below_ten() -> None:
    passed = np.ones((9, 40))
    passed[0, :2] = 0.0
    assert clustered_threshold(passed, 0.5).kind == "not_enough_data"
