"""Two rates that share nothing: against Newcombe's table, Fisher's test, and all that can come."""

from __future__ import annotations

from dataclasses import replace
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import Rules, fixed_n_verdict
from matrix.stats.estimates.unpaired_rates import (
    Count,
    fisher_mid_p,
    newcombe_unpaired,
    unpaired_rates,
)

SIZES = [(12, 60), (30, 300), (50, 500), (10, 400), (12, 12), (20, 20)]


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_the_interval_is_that_of_newcombes_table(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe (1998), Stat Med 17:873, table II, method 10: first less second."""
    found = newcombe_unpaired([Count(*second)], [Count(*first)])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


counts = st.integers(1, 30).flatmap(lambda n: st.builds(Count, st.integers(0, n), st.just(n)))


@given(counts, counts)
def test_fishers_mid_p_takes_half_of_what_was_seen(first: Count, second: Count) -> None:
    (x, n), (y, m) = ((int(one) for one in count) for count in (first, second))
    total = x + y
    ways = {k: comb(n, k) * comb(m, total - k) for k in range(max(0, total - m), min(n, total) + 1)}
    below, above = (sum(w for k, w in ways.items() if sign * (k - x) > 0) for sign in (-1, 1))
    expected = min(1.0, (2 * min(below, above) + ways[x]) / comb(n + m, total))
    assert fisher_mid_p(first, second) == pytest.approx(expected)


@given(counts, counts, st.sampled_from([0.05, 0.01]))
def test_a_claim_stands_by_both_and_p_says_what_the_interval_says(
    first: Count, second: Count, alpha: float
) -> None:
    found, alone = (
        unpaired_rates([first], [second], alpha),
        newcombe_unpaired([first], [second], alpha),
    )
    assert found.interval is not None
    assert alone is not None
    assert found.p is not None
    shown = found.interval.low > 0 or found.interval.high < 0
    assert shown == (found.p <= alpha)
    both = (alone.low > 0 or alone.high < 0) and fisher_mid_p(first, second) <= alpha
    assert shown == both
    other = unpaired_rates([second], [first], alpha)
    assert other.interval is not None
    assert (other.interval.low, other.p) == pytest.approx((-found.interval.high, found.p))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_of_equal_rates_no_more_than_the_error_rate_are_told_apart(n: int, m: int) -> None:
    """Of every outcome there is: no simulation. 10 against 400 at .99: Newcombe alone errs .09."""
    claims = np.array(
        [[(unpaired_rates([Count(x, n)], [Count(y, m)]).p or 0) <= 0.05 for y in range(m + 1)]
         for x in range(n + 1)]
    ) if n * m < 4000 else _claims(n, m)  # fmt: skip
    for rate in (0.5, 0.9, 0.95, 0.99):
        errs = _chances(n, rate) @ claims @ _chances(m, rate)
        assert errs <= 0.056


def _claims(n: int, m: int) -> Any:
    """The same of large samples, where of each x only the edges of y have to be found."""
    found = np.ones((n + 1, m + 1), np.bool_)
    for x in range(n + 1):
        low, high = _edge(x, n, m, -1), _edge(x, n, m, 1)
        found[x, low + 1 : high] = False
    return found


def _edge(x: int, n: int, m: int, way: int) -> int:
    """The nearest y on this side of an equal rate that is told apart from x; beyond all, none."""
    equal, last = round(x * m / n), m if way > 0 else 0
    near, far = equal, last + way
    while abs(far - near) > 1:
        middle = (near + far) // 2
        shown = (unpaired_rates([Count(x, n)], [Count(middle, m)]).p or 0) <= 0.05
        near, far = (near, middle) if shown else (middle, far)
    return far


def _chances(n: int, rate: float) -> Any:
    from scipy.special import bdtr

    return np.diff(bdtr(np.arange(n + 1), n, rate), prepend=0.0)


def test_strata_weigh_alike() -> None:
    one = unpaired_rates([Count(1, 2), Count(9, 10)], [Count(2, 2), Count(0, 0)])
    assert one.difference == pytest.approx(1.0 - 0.7)
    assert unpaired_rates([Count(0, 0)], [Count(2, 2)]).p is None
    with pytest.raises(ValueError, match="between 0 and the trials"):
        newcombe_unpaired([Count(3, 2)], [Count(2, 2)])


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_equal_rates_of_several_scenarios_seldom_differ(table_of: Any, level: float) -> None:
    rng, files, sizes = np.random.default_rng(6), 400, ((4, 20), (8, 30), (6, 6))
    rules = Rules(failure_margin=1.0, unit="unpaired", score_bounds=(0.0, 1.0))
    claims = 0
    for _ in range(files):
        scores = np.full((sum(map(max, sizes)), len(sizes), 2), np.nan)
        start = 0
        for place, pair in enumerate(sizes):
            for side, n in enumerate(pair):
                scores[start : start + n, place, side] = rng.random(n) < level
            start += max(pair)
        table = replace(table_of(scores), never=np.isnan(scores))
        claims += fixed_n_verdict(table, rules).kind == "winner"
    assert claims / files <= 0.05 + 3 * sqrt(0.05 * 0.95 / files)


def sample(table_of: Any, passed: tuple[int, int], of: tuple[int, int], rng: Any) -> Any:
    """Rows of two variants side by side, by chance."""
    scores = np.full((max(of), 1, 2), np.nan)
    for side in (0, 1):
        own = np.arange(of[side]) < passed[side]
        scores[: of[side], 0, side] = rng.permutation(own)
    return replace(table_of(scores), never=np.isnan(scores))


def test_a_verdict_on_yes_no_rows_follows_from_their_counts(table_of: Any) -> None:
    rules = Rules(failure_margin=1.0, unit="unpaired", score_bounds=(0.0, 1.0))
    found = [
        fixed_n_verdict(sample(table_of, (20, 42), (20, 60), np.random.default_rng(seed)), rules)
        for seed in range(5)
    ]
    assert len({(one.kind, one.winner, one.comparisons) for one in found}) == 1
    pair = found[0].comparisons[0]
    assert (pair.sizes, pair.discordant, pair.n) == ((20, 60), None, 20)
    assert (found[0].kind, found[0].winner) == ("winner", 0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(12, 60), (30, 300), (50, 500)])
def test_verdicts_on_equal_yes_no_rows_err_as_often_as_they_say(
    table_of: Any, n: int, m: int
) -> None:
    rng, files = np.random.default_rng(n), 200
    rules = Rules(failure_margin=1.0, unit="unpaired", score_bounds=(0.0, 1.0))
    for rate in (0.5, 0.9, 0.95):
        wins = 0
        for _ in range(files):
            passed = (int(rng.binomial(n, rate)), int(rng.binomial(m, rate)))
            table = sample(table_of, passed, (n, m), rng)
            wins += fixed_n_verdict(table, rules).kind == "winner"
        assert wins / files <= 0.05 + 3 * sqrt(0.05 * 0.95 / files)


def test_failures_of_rows_that_share_nothing_are_counted_over_all_of_them(table_of: Any) -> None:
    rng = np.random.default_rng(8)
    scores = rng.normal(50, 5, (80, 1, 2)) + np.array([0.0, 9.0])
    outcomes = np.full(scores.shape, "completed", dtype=object)
    outcomes[:4, 0, 0] = "failed"
    outcomes[30:, 0, 1] = "errored"
    rules = Rules(failure_margin=0.3, unit="unpaired")
    seen = []
    for turned in (slice(None), slice(None, None, -1)):
        mixed = outcomes.copy()
        mixed[:, 0, 0] = outcomes[turned, 0, 0]
        seen.append(fixed_n_verdict(table_of(scores, mixed), rules).comparisons[0].failures)
    assert seen[0].interval == seen[1].interval
    expected = newcombe_unpaired([Count(4, 80)], [Count(0, 30)], 0.1)
    assert seen[0].interval == expected
    assert seen[0].difference == pytest.approx(-0.05)
    assert seen[0].reversed().difference == pytest.approx(0.05)
    assert seen[0].pairs == 30
    assert seen[0].b_non_inferior(0.3)
