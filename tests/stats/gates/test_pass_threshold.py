"""Pass thresholds: published numbers of sessions, error rates, and laws."""

from __future__ import annotations

from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from matrix.stats import (
    beta_binomial_log_e,
    beta_binomial_sequence,
    fixed_threshold,
    mean_threshold,
    sequential_threshold,
)

counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
rates = st.floats(0.05, 0.99)


@pytest.mark.parametrize(("p0", "needed"), [(0.8, 14), (0.9, 29), (0.95, 59), (0.99, 299)])
def test_one_look_passes_at_exactly_the_published_number_of_clean_sessions(
    p0: float, needed: int
) -> None:
    assert fixed_threshold(needed, needed, p0).kind == "pass"
    assert fixed_threshold(needed - 1, needed - 1, p0).kind == "not_enough_data"


@pytest.mark.parametrize(("p0", "needed"), [(0.8, 24), (0.9, 53), (0.95, 116)])
def test_many_looks_pass_at_exactly_the_published_number_of_clean_sessions(
    p0: float, needed: int
) -> None:
    verdict = sequential_threshold([True] * (needed + 5), p0)
    assert (verdict.kind, verdict.decided_after) == ("pass", needed)
    assert sequential_threshold([True] * (needed - 1), p0).kind == "not_enough_data"


@pytest.mark.parametrize(
    ("s", "n", "low", "high"),
    [(8, 10, 0.353042, 0.989517), (27, 30, 0.651275, 0.992105), (90, 100, 0.771729, 0.971158)],
)
def test_the_sequence_matches_the_reference(s: int, n: int, low: float, high: float) -> None:
    interval = beta_binomial_sequence(s, n, prior=1.0)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=6e-7)


def simulated(rate: float, runs: int = 4000, cap: int = 400) -> tuple[float, float, float]:
    """Share of PASS and of FAIL at p0 = .9 with a look after every session, and the mean end."""
    rng = np.random.default_rng(int(1000 * rate))
    passed = (rng.random((runs, cap)) < rate).cumsum(axis=1)
    n = np.arange(1, cap + 1)
    left = beta_binomial_log_e(passed, np.broadcast_to(n, passed.shape), 0.9) >= log(20)
    first, over = left.argmax(axis=1), left.any(axis=1)
    high = passed[np.arange(runs), first] / (first + 1) > 0.9
    return (
        float((over & high).mean()),
        float((over & ~high).mean()),
        float(np.where(over, first + 1, cap).mean()),
    )


def test_a_good_variant_passes_after_about_a_hundred_sessions() -> None:
    good, bad, after = simulated(0.98)
    assert good > 0.99
    assert bad < 0.002
    assert after == pytest.approx(99, abs=4)


def test_a_bad_variant_fails_after_about_thirty_sessions() -> None:
    good, bad, after = simulated(0.70)
    assert good < 0.002
    assert bad > 0.995
    assert after == pytest.approx(30, abs=2)


def test_a_variant_exactly_at_the_threshold_rarely_passes_however_often_one_looks() -> None:
    good, bad, _ = simulated(0.90)
    assert good == pytest.approx(0.009, abs=0.006)
    assert good + bad <= 0.05


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
    assert verdict.rate_meets == (count[0] / count[1] >= p0)


@given(counts, rates)
def test_the_sequence_holds_exactly_the_rates_with_too_little_evidence_against_them(
    count: tuple[int, int], rate: float
) -> None:
    interval = beta_binomial_sequence(*count)
    assert interval is not None
    assert interval.contains(count[0] / count[1])
    evidence = float(beta_binomial_log_e(*count, rate))
    if abs(evidence - log(20)) > 1e-6:
        assert interval.contains(rate) == (evidence < log(20))


@given(st.lists(st.booleans(), min_size=1, max_size=200), rates, st.integers(0, 50))
def test_a_sequential_verdict_once_given_stays(outcomes: list[bool], p0: float, more: int) -> None:
    now = sequential_threshold(outcomes, p0)
    later = sequential_threshold([*outcomes, *[not outcomes[-1]] * more], p0)
    if now.kind != "not_enough_data":
        assert (later.kind, later.decided_after) == (now.kind, now.decided_after)


@given(counts)
def test_looking_often_costs_width(count: tuple[int, int]) -> None:
    often = beta_binomial_sequence(*count)
    once = fixed_threshold(*count, 0.5).interval
    assert often is not None
    assert once is not None
    assert often.low <= once.low
    assert often.high >= once.high


def test_the_plain_rule_is_reported_beside_and_may_differ() -> None:
    verdict = fixed_threshold(28, 30, 0.9)
    assert verdict.kind == "not_enough_data"
    assert verdict.rate_meets is True
    assert (verdict.passes, verdict.n) == (28, 30)


def test_without_sessions_nothing_is_known() -> None:
    for verdict in (fixed_threshold(0, 0, 0.9), sequential_threshold([], 0.9)):
        assert verdict.kind == "not_enough_data"
        assert (verdict.rate, verdict.rate_meets, verdict.interval) == (None, None, None)
    assert beta_binomial_sequence(0, 0) is None


def test_what_means_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1.*got 1.0; alpha is.*got 0.7"):
        fixed_threshold(3, 3, 1.0, alpha=0.7)
    with pytest.raises(ValueError, match="true and false"):
        sequential_threshold([1, 2], 0.9)
    with pytest.raises(ValueError, match="between 0 and n"):
        beta_binomial_sequence(4, 3)


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
