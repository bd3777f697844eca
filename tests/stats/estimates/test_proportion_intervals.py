"""Intervals and tests for proportions, against published values and by exact enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import (
    Interval,
    clopper_pearson_lower,
    clopper_pearson_upper,
    mcnemar,
    newcombe_paired,
    wilson,
    wilson_clustered,
)

SIX_DECIMALS = 6e-7
FOUR_DECIMALS = 6e-5
Z95 = 1.959963984540054


def known(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


def ends(interval: Interval | None) -> tuple[float, float]:
    return known(interval).low, known(interval).high


def clopper_pearson(successes: int, n: int, alpha: float = 0.05) -> Interval:
    """The two-sided interval that the one-sided bounds at half its error rate make up."""
    low = clopper_pearson_lower(successes, n, alpha / 2)
    return Interval(low, clopper_pearson_upper(successes, n, alpha / 2), 1 - alpha)


def binomial(n: int, p: float) -> list[float]:
    return [comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]


def coverage(intervals: Iterable[Interval], n: int, p: float) -> float:
    pairs = zip(intervals, binomial(n, p), strict=True)
    return sum(chance for interval, chance in pairs if interval.contains(p))


def wald(x: int, n: int) -> Interval:
    half = Z95 * sqrt(x / n * (1 - x / n) / n)
    return Interval(x / n - half, x / n + half, 0.95)


def all_of(method: Callable[[int, int], Interval | None], n: int) -> list[Interval]:
    return [known(method(x, n)) for x in range(n + 1)]


def test_clusters_of_one_are_trials_and_clusters_that_go_together_count_once() -> None:
    assert wilson_clustered([], []) is None
    for x, n in ((0, 10), (8, 10), (10, 10)):
        ones = [1] * x + [0] * (n - x)
        assert ends(wilson_clustered(ones, [1] * n)) == pytest.approx(ends(wilson(x, n)))
    assert ends(wilson_clustered([13] * 5, [13] * 5)) == pytest.approx(ends(wilson(5, 5)))
    together = ends(wilson_clustered([13, 13, 13, 13, 0] * 4, [13] * 20))
    alone = ends(wilson(16, 20))
    assert together[0] < alone[0] + 0.01  # 260 trials that are worth no more than 20
    assert alone[1] - 0.01 < together[1]
    mixed = ends(wilson_clustered([9, 10, 8, 9, 9, 9], [10] * 6))
    assert mixed == pytest.approx(ends(wilson(54, 60)))  # more alike than chance: never over n


@pytest.mark.parametrize("share", [0.7, 0.9])
def test_clustered_intervals_cover_where_wilsons_own_does_not(share: float) -> None:
    """Ten clusters of eight whose own shares are beta distributed (intraclass correlation 0.3)."""
    rng = np.random.default_rng(4)
    tight = wide = 0
    for _ in range(600):
        own = rng.beta(share * 7 / 3, (1 - share) * 7 / 3, 10)
        found = [int(one) for one in rng.binomial(8, own)]
        tight += known(wilson(sum(found), 80)).contains(share)
        wide += known(wilson_clustered(found, [8] * 10)).contains(share)
    assert tight / 600 < 0.85
    assert wide / 600 > (0.93 if share == 0.7 else 0.9)


@pytest.mark.parametrize(
    ("x", "n", "score", "exact"),
    [
        (0, 10, (0, 0.277533), (0, 0.308497)),
        (8, 10, (0.490162, 0.943318), (0.443905, 0.974789)),
        (9, 10, (0.595850, 0.982124), (0.554984, 0.997471)),
        (1, 29, (0.006113, 0.171755), (0.000873, 0.177644)),
        (81, 263, (0.255289, 0.366210), (0.252737, 0.367622)),
    ],
)
def test_single_proportions_match_the_reference_table(
    x: int, n: int, score: tuple[float, float], exact: tuple[float, float]
) -> None:
    assert ends(wilson(x, n)) == pytest.approx(score, abs=SIX_DECIMALS)
    assert ends(clopper_pearson(x, n)) == pytest.approx(exact, abs=SIX_DECIMALS)


def test_one_sided_clopper_pearson_matches_the_reference() -> None:
    assert clopper_pearson_lower(29, 29) == pytest.approx(0.901855, abs=SIX_DECIMALS)
    assert clopper_pearson_lower(27, 30) == pytest.approx(0.761402, abs=SIX_DECIMALS)


@pytest.mark.parametrize(("p0", "needed"), [(0.8, 14), (0.9, 29), (0.95, 59), (0.99, 299)])
def test_an_all_pass_gate_opens_at_exactly_the_published_number_of_runs(
    p0: float, needed: int
) -> None:
    assert clopper_pearson_lower(needed, needed) >= p0
    assert clopper_pearson_lower(needed - 1, needed - 1) < p0


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((36, 12, 2, 0), (0.0569, 0.3404)),
        ((14, 5, 0, 22), (0.0115, 0.2265)),
        ((1, 1, 7, 12), (-0.5069, -0.0256)),
    ],
)
def test_newcombe_paired_matches_the_published_tables(
    cells: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    assert ends(newcombe_paired(*cells)) == pytest.approx(expected, abs=FOUR_DECIMALS)


def test_pairs_without_correlation_have_the_interval_of_independent_samples() -> None:
    """Nine of ten and three of ten: Newcombe (1998), Stat Med 17:873, method 10."""
    cells = (2.7, 6.3, 0.3, 0.7)
    assert ends(newcombe_paired(*cells)) == pytest.approx((0.170523, 0.809018), abs=SIX_DECIMALS)


def test_all_pass_on_both_sides_keeps_a_width() -> None:
    assert ends(newcombe_paired(10, 0, 0, 0)) == pytest.approx((-0.277533, 0.277533), abs=1e-6)


def test_mcnemar_of_bentur_matches_the_reference() -> None:
    result = mcnemar(1, 7)
    assert result.p_exact == pytest.approx(0.070312, abs=SIX_DECIMALS)
    assert result.p_mid == pytest.approx(0.039063, abs=SIX_DECIMALS)


@given(st.integers(0, 200), st.integers(0, 200))
def test_mcnemar_does_not_care_which_side_is_first(b: int, c: int) -> None:
    forward, backward = mcnemar(b, c), mcnemar(c, b)
    assert (forward.p_exact, forward.p_mid) == (backward.p_exact, backward.p_mid)
    assert 0.0 < forward.p_mid <= forward.p_exact <= 1.0


@pytest.mark.parametrize("n", [1, 5, 6, 17, 60])
def test_exact_mcnemar_never_errs_more_than_its_level(n: int) -> None:
    p_values = np.array([mcnemar(b, n - b).p_exact for b in range(n + 1)])
    chances = np.array(binomial(n, 0.5))
    for p in p_values:
        assert chances[p_values <= p].sum() <= p * (1 + 1e-12)


def test_fewer_than_six_discordant_pairs_cannot_reach_the_five_percent_level() -> None:
    assert mcnemar(0, 5).p_exact > 0.05 >= mcnemar(0, 6).p_exact


@pytest.mark.parametrize(
    ("n", "p", "expected"),
    [(10, 0.9, (0.6497, 0.9298, 0.9872)), (30, 0.95, (0.7821, 0.9392, 0.9844))],
)
def test_coverage_by_enumeration_matches_the_anchors(
    n: int, p: float, expected: tuple[float, float, float]
) -> None:
    found = tuple(coverage(all_of(method, n), n, p) for method in (wald, wilson, clopper_pearson))
    assert found == pytest.approx(expected, abs=FOUR_DECIMALS)


def test_wilson_covers_what_it_says_on_average() -> None:
    intervals = all_of(wilson, 10)
    grid = (np.arange(2000) + 0.5) / 2000
    assert np.mean([coverage(intervals, 10, p) for p in grid]) == pytest.approx(0.9541, abs=3e-4)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 30, 59])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_clopper_pearson_covers_at_least_what_it_says_whatever_the_truth(
    n: int, alpha: float
) -> None:
    intervals = [clopper_pearson(x, n, alpha) for x in range(n + 1)]
    # Coverage is least just beside an end of an interval, so the grid includes those points.
    beside = [end + nudge for i in intervals for end in (i.low, i.high) for nudge in (-1e-9, 1e-9)]
    grid = [p for p in [*np.linspace(0.001, 0.999, 199), *beside] if 0 < p < 1]
    assert min(coverage(intervals, n, p) for p in grid) >= 1 - alpha


@pytest.mark.parametrize("n", [1, 10, 29])
def test_one_sided_bounds_miss_at_most_as_often_as_they_say(n: int) -> None:
    lower = [clopper_pearson_lower(x, n) for x in range(n + 1)]
    upper = [clopper_pearson_upper(x, n) for x in range(n + 1)]
    for p in [*np.linspace(0.01, 0.99, 99), *(x + 1e-9 for x in lower)]:
        chances = binomial(n, p)
        assert sum(c for c, bound in zip(chances, lower, strict=True) if bound > p) <= 0.05
        assert sum(c for c, bound in zip(chances, upper, strict=True) if bound < p) <= 0.05


def test_newcombe_paired_covers_where_wald_does_not() -> None:
    n, pi = 10, (0.85, 0.10, 0.02, 0.03)
    truth = pi[1] - pi[2]
    covered = {"wald": 0.0, "newcombe": 0.0}
    for a in range(n + 1):
        for b in range(n + 1 - a):
            for c in range(n + 1 - a - b):
                d = n - a - b - c
                chance = 1.0 * comb(n, a) * comb(n - a, b) * comb(n - a - b, c)
                chance *= pi[0] ** a * pi[1] ** b * pi[2] ** c * pi[3] ** d
                half = Z95 * sqrt(b + c - (b - c) ** 2 / n) / n
                covered["wald"] += chance * (abs((b - c) / n - truth) <= half)
                covered["newcombe"] += chance * known(newcombe_paired(a, b, c, d)).contains(truth)
    # Exactly .70339 here, .704 in the design notes: the anchor holds to its last digit only.
    assert covered["wald"] == pytest.approx(0.704, abs=1e-3)
    assert covered["newcombe"] == pytest.approx(0.998, abs=6e-4)


@given(st.tuples(*[st.integers(0, 60)] * 4).filter(lambda cells: sum(cells) > 0))
def test_exchanging_the_sides_negates_a_paired_difference(
    cells: tuple[int, int, int, int],
) -> None:
    a, b, c, d = cells
    forward, backward = known(newcombe_paired(a, b, c, d)), known(newcombe_paired(a, c, b, d))
    assert ends(forward) == pytest.approx((-backward.high, -backward.low), abs=1e-12)
    assert -1 <= forward.low <= (b - c) / sum(cells) <= forward.high <= 1


@given(st.integers(1, 400), st.data())
def test_both_intervals_contain_the_share_observed_and_mirror_each_other(
    n: int, data: st.DataObject
) -> None:
    x = data.draw(st.integers(0, n))
    for method in (wilson, clopper_pearson):
        interval, mirror = known(method(x, n)), known(method(n - x, n))
        assert 0 <= interval.low <= x / n <= interval.high <= 1
        assert ends(interval) == pytest.approx((1 - mirror.high, 1 - mirror.low), abs=1e-9)


def test_no_trials_give_no_interval() -> None:
    assert wilson(0, 0) is None
    assert newcombe_paired(0, 0, 0, 0) is None


@pytest.mark.parametrize("bad", [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(bad: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="successes"):
        wilson(*bad)
    with pytest.raises(ValueError, match="successes"):
        clopper_pearson(*bad)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 95.0])
def test_an_error_rate_outside_0_to_1_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        wilson(1, 2, alpha)
