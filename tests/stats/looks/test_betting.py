"""Bets: published values, fairness while the hypothesis holds, and what the gate needs."""

from __future__ import annotations

from itertools import product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.stats import (
    betting_capital,
    betting_interval,
    discordant_e,
    gate_bound,
    log_gate_capital,
)
from tests.sampling import examples

REFERENCE = ((37 * np.arange(1, 101)) % 101) / 100


# --- a mean between bounds -------------------------------------------------------------------


def test_the_hedged_sequence_has_the_published_ends() -> None:
    for n, low, high in ((10, 0.2477, 0.7786), (100, 0.4206, 0.5890)):
        interval = betting_interval(REFERENCE[:n])
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=2e-4)


def test_the_capital_is_the_published_one() -> None:
    more, less = betting_capital(REFERENCE, 0.4)
    assert max(more[-1], less[-1]) == pytest.approx(96.832, abs=1e-3)


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.9])
def test_capital_is_worth_what_it_was_while_the_hypothesis_holds(mean: float) -> None:
    """All sequences of eight yes/no values, weighed by their chance."""
    worth = 0.0
    for values in product((0.0, 1.0), repeat=8):
        chance = mean ** sum(values) * (1 - mean) ** (8 - sum(values))
        worth += chance * sum(float(side[-1]) for side in betting_capital(values, mean))
    assert worth == pytest.approx(1.0)


def test_an_interval_is_that_of_the_scaled_values() -> None:
    plain, scaled = (
        betting_interval(REFERENCE),
        betting_interval(20 + 60 * REFERENCE, 0.05, (20, 80)),
    )
    assert plain is not None
    assert scaled is not None
    assert (scaled.low, scaled.high) == pytest.approx((20 + 60 * plain.low, 20 + 60 * plain.high))
    assert plain.contains(float(REFERENCE.mean()))


def test_values_without_spread_still_have_an_interval_with_a_width() -> None:
    interval = betting_interval(np.full(40, 0.5))
    assert interval is not None
    assert 0.3 < interval.low < 0.5 < interval.high < 0.7
    assert betting_interval([]) is None


@pytest.mark.parametrize("values", [[1.2], [-0.1], [float("nan")]])
def test_values_outside_the_bounds_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        betting_interval(values)


# --- the failure gate ------------------------------------------------------------------------


@pytest.mark.parametrize(("margin", "pairs"), [(0.05, 79), (0.10, 39)])
def test_without_failures_the_gate_opens_at_the_published_pairs(margin: float, pairs: int) -> None:
    capital = log_gate_capital(0, 0, np.arange(200), margin)
    assert int((capital >= log(20)).argmax()) == pairs


@pytest.mark.parametrize("excess", [0.05, 0.08])
@pytest.mark.parametrize("base", [0.0, 0.1, 0.4])
def test_the_gates_capital_does_not_grow_while_b_fails_too_often(
    base: float, excess: float
) -> None:
    """All counts of ten pairs with independent failures, weighed by their chance."""
    from scipy.special import gammaln

    only_a, only_b = base * (1 - base - excess), (base + excess) * (1 - base)
    rest = 1 - only_a - only_b
    worth = 0.0
    for a in range(11):
        for b in range(11 - a):
            counts = (a, b, 10 - a - b)
            ways = exp(gammaln(11) - sum(gammaln(n + 1) for n in counts))
            chance = ways * only_a**a * only_b**b * rest ** counts[2]
            worth += chance * exp(float(log_gate_capital(*counts, margin=0.05)))
    assert worth <= 1 + 1e-9
    if excess == 0.05:
        assert worth == pytest.approx(1.0), "at the margin the bet is fair"


def test_scenarios_that_differ_only_make_the_bet_worse() -> None:
    """One scenario 15 points worse, two at par: 5 points on average, so still no free money."""
    worth = 0.0
    for pattern in product((0, 1), repeat=3):
        chance = (0.15 if pattern[0] else 0.85) * (not pattern[1]) * (not pattern[2])
        failed = sum(pattern)
        worth += chance * exp(float(log_gate_capital(0, failed, 3 - failed, 0.05)))
    assert worth < 1.0


@given(
    st.integers(0, 30), st.integers(0, 30), st.integers(0, 400), st.sampled_from([0.01, 0.05, 0.2])
)
def test_the_bound_is_the_least_margin_that_is_refuted(
    only_a: int, only_b: int, rest: int, alpha: float
) -> None:
    bound = gate_bound(only_a, only_b, rest, alpha)
    if bound < 1.0:
        above, below = min(bound + 1e-6, 1.0), bound - 1e-6
        assert log_gate_capital(only_a, only_b, rest, above) >= log(1 / alpha)
        assert log_gate_capital(only_a, only_b, rest, below) < log(1 / alpha)
    assert bound > (only_b - only_a) / max(only_a + only_b + rest, 1) - 1e-9


def test_more_of_the_same_tightens_the_bound_and_no_pairs_bound_nothing() -> None:
    bounds = [gate_bound(n, n, 20 * n, 0.05) for n in (1, 2, 5, 20, 100)]
    assert (np.diff(bounds) < 0).all()
    assert gate_bound(0, 0, 0, 0.05) == 1.0


# --- pairs that disagree ---------------------------------------------------------------------


@pytest.mark.parametrize(("counts", "e"), [((8, 0), 28.4444), ((9, 1), 9.3091), ((20, 8), 2.9781)])
def test_the_discordant_e_value_is_the_published_one(counts: tuple[int, int], e: float) -> None:
    assert discordant_e(*counts) == pytest.approx(e, abs=1e-4)


@settings(max_examples=examples(30))
@given(st.integers(0, 12), st.sampled_from([0.5, 1.0, 3.0]))
def test_the_discordant_e_value_is_worth_one_when_the_split_is_even(n: int, a: float) -> None:
    from scipy.special import comb

    worth = sum(comb(n, b) * 0.5**n * discordant_e(b, n - b, a) for b in range(n + 1))
    assert worth == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [(-1, 2, 1.0), (1, -2, 1.0), (1, 2, 0.0)])
def test_counts_that_cannot_be_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        discordant_e(*bad)
