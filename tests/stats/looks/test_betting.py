"""The failure gate's bets: published numbers, and fairness while the hypothesis holds."""

from __future__ import annotations

from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import gate_bound, log_gate_capital


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
