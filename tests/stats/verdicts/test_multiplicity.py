"""Adjusted p-values and the level for picking a winner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import benjamini_hochberg, e_benjamini_hochberg, holm, pairwise_level

BH_1995 = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
    0.5719, 0.6528, 0.7590, 1.000,
]  # fmt: skip

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_four_p_values_match_the_reference() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benjamini_hochberg(p) == pytest.approx([0.02, 0.04, 0.04, 0.02])


def test_the_1995_example_rejects_four_by_bh_and_three_by_holm() -> None:
    assert (benjamini_hochberg(BH_1995) <= 0.05).tolist() == [True] * 4 + [False] * 11
    assert (holm(BH_1995) <= 0.05).tolist() == [True] * 3 + [False] * 12


@given(p_lists)
def test_adjusting_never_lowers_and_holm_is_the_stricter(p: list[float]) -> None:
    strict, loose = holm(p), benjamini_hochberg(p)
    assert (np.asarray(p) <= loose * (1 + 1e-12)).all()
    assert (loose <= strict * (1 + 1e-12)).all()
    assert strict.max() <= 1.0


@given(p_lists, st.integers(0, 99))
def test_adjusted_values_follow_their_p_values_through_any_order(p: list[float], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(p))
    shuffled = np.asarray(p)[order]
    assert np.array_equal(holm(shuffled), holm(p)[order])
    assert np.array_equal(benjamini_hochberg(shuffled), benjamini_hochberg(p)[order])


@given(p_lists, st.floats(0.001, 0.3))
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float], alpha: float) -> None:
    rejected = 0
    for rank, value in enumerate(sorted(p)):
        if value * (len(p) - rank) > alpha:
            break
        rejected += 1
    assert int((holm(p) <= alpha).sum()) == rejected


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12), st.floats(0.001, 0.5))
def test_e_bh_rejects_what_its_definition_rejects(e: list[float], alpha: float) -> None:
    ordered, m = sorted(e, reverse=True), len(e)
    kept = [k for k in range(1, m + 1) if ordered[k - 1] * alpha * k >= m * (1 + 1e-9)]
    loose = [k for k in range(1, m + 1) if ordered[k - 1] * alpha * k >= m * (1 - 1e-9)]
    rejected = int((e_benjamini_hochberg(e) <= alpha).sum())
    assert max(kept, default=0) <= rejected <= max(loose, default=0)


def test_two_metrics_at_forty_are_both_found_where_one_alone_is_not() -> None:
    assert e_benjamini_hochberg([40.0, 40.0]) == pytest.approx([0.025, 0.025])
    assert e_benjamini_hochberg([25.0, 0.1]) == pytest.approx([0.08, 1.0])
    assert e_benjamini_hochberg([float("inf"), 0.0]) == pytest.approx([0.0, 1.0])


def test_dependent_metrics_without_any_effect_are_rarely_found_by_e_bh() -> None:
    z = np.random.default_rng(2).normal(size=20_000)
    e = np.exp(np.outer(z, [2.0, -2.0, 1.9]) - np.array([2.0, 2.0, 1.805]))
    found = sum((e_benjamini_hochberg(row) <= 0.05).any() for row in e[:4000])
    assert found / 4000 <= 0.05


def test_what_is_no_e_value_is_refused() -> None:
    for bad in ([-0.1], [float("nan")]):
        with pytest.raises(ValueError, match="0 or more"):
            e_benjamini_hochberg(bad)


def test_no_tests_need_no_adjusting() -> None:
    assert holm([]).size == benjamini_hochberg([]).size == e_benjamini_hochberg([]).size == 0


@pytest.mark.parametrize("bad", [[0.1, 1.2], [-0.1], [float("nan")]])
def test_what_is_no_p_value_is_refused(bad: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="between 0 and 1"):
            adjust(bad)


def test_the_pairwise_level_divides_by_the_number_of_rivals() -> None:
    assert [pairwise_level(0.06, k) for k in (2, 3, 4)] == pytest.approx([0.06, 0.03, 0.02])
    with pytest.raises(ValueError, match="two variants"):
        pairwise_level(0.05, 1)


def test_e_bh_finds_the_largest_i_that_reach_m_over_alpha_i() -> None:
    e = [200.0, 3.0, 45.0, 0.0, float("inf")]
    found = e_benjamini_hochberg(e) <= 0.05
    assert found.tolist() == [True, False, True, False, True]
    assert e_benjamini_hochberg([19.9]) > 0.05
    assert e_benjamini_hochberg([20.0]) <= 0.05


@pytest.mark.parametrize("bad", [[-1.0], [float("nan")], [[1.0]]])
def test_what_is_no_row_of_e_values_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="e-values"):
        e_benjamini_hochberg(bad)
