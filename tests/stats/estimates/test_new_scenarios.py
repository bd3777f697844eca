"""Claims about new scenarios."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from matrix.stats import new_scenarios, paired_scores, summarize

cubes = st.integers(1, 8).flatmap(
    lambda s: st.lists(
        st.lists(st.integers(-20, 20), min_size=s, max_size=s), min_size=1, max_size=12
    )
)


def test_the_false_winners_of_four_methods_are_those_of_the_published_simulation() -> None:
    """CR0 and CR1 are Liang and Zeger's (1986) clustered errors, with normal quantiles."""
    rng = np.random.default_rng(3)
    runs, rounds, scenarios = 1500, 10, 10
    wrong = dict.fromkeys(("pooled", "CR0", "CR1", "scenarios"), 0)
    for _ in range(runs):
        truth = rng.normal(0, 5, scenarios)
        second = truth + rng.normal(0, 10, (rounds, scenarios))
        pooled = summarize(second.ravel()).interval
        assert pooled is not None
        wrong["pooled"] += not pooled.contains(0.0)
        means = second.mean(axis=0)
        for kind, ddof in (("CR0", 0), ("CR1", 1)):
            se = means.std(ddof=ddof) / sqrt(scenarios)
            wrong[kind] += abs(means.mean()) > 1.959964 * se
        wrong["scenarios"] += (new_scenarios(np.zeros_like(second), second).p or 1) < 0.05
    published = {"pooled": 0.243, "CR0": 0.099, "CR1": 0.084, "scenarios": 0.050}
    for method, share in published.items():
        assert wrong[method] / runs == pytest.approx(
            share, abs=3 * sqrt(share * (1 - share) / runs)
        )


@given(cubes)
def test_the_unit_is_the_scenario(cube: list[list[int]]) -> None:
    second = np.asarray(cube, dtype=np.float64)
    result = new_scenarios(np.zeros_like(second), second)
    means = second.mean(axis=0)
    assert result.difference == pytest.approx(means.mean(), abs=1e-12)
    assert result.by_scenario == pytest.approx(tuple(means))
    assert result.enough == (second.shape[1] >= 5)
    if result.p is None:
        assert not result.enough or np.ptp(means) < 1e-9
    else:
        assert result.p == pytest.approx(ttest_1samp(means, 0.0).pvalue, rel=1e-9)


@given(cubes)
def test_repeating_every_round_adds_nothing(cube: list[list[int]]) -> None:
    second = np.asarray(cube, dtype=np.float64)
    once = new_scenarios(np.zeros_like(second), second)
    twice = new_scenarios(np.zeros((2 * len(second), second.shape[1])), np.tile(second, (2, 1)))
    assert (once.p is None) == (twice.p is None)
    if once.p is not None:
        assert twice.p == pytest.approx(once.p, rel=1e-6)


def test_four_scenarios_say_nothing_about_others_but_show_their_difference() -> None:
    result = new_scenarios(np.zeros((30, 4)), np.tile([1.0, 2.0, 3.0, 4.0], (30, 1)))
    assert (result.difference, result.n_scenarios, result.enough) == (2.5, 4, False)
    assert (result.interval, result.t, result.p) == (None, None, None)


def test_the_same_difference_everywhere_is_no_certainty() -> None:
    result = new_scenarios(np.zeros((3, 6)), np.full((3, 6), 0.1))
    assert result.enough
    assert (result.interval, result.p) == (None, None)


def test_a_missing_score_takes_its_pair_out_and_a_scenario_without_pairs_does_not_count() -> None:
    first = [[0.0, 0.0], [nan, 0.0]]
    result = new_scenarios(first, [[2.0, nan], [9.0, nan]])
    assert result.n_scenarios == 1
    assert result.difference == 2.0
    assert result.by_scenario[0] == 2.0
    assert np.isnan(result.by_scenario[1])


def test_the_scores_of_a_round_table_are_those_of_the_pairs_it_compares(table_of: Any) -> None:
    outcomes = np.full((3, 2, 2), "completed", dtype=object)
    outcomes[0, 1, 0], outcomes[2, 0, 1] = "failed", "errored"
    scores = np.arange(12.0).reshape(3, 2, 2)
    table = table_of(scores, outcomes)
    cube = paired_scores(table)
    assert np.isnan(cube[0, 1]).all()
    assert np.isnan(cube[2, 0]).all()
    assert np.nanmean(cube[:, :, 1] - cube[:, :, 0]) == 1.0
    assert int((~np.isnan(cube)).sum()) == 2 * int(table.scored(0, 1).sum()) == 8


def test_without_scenarios_nothing_is_known() -> None:
    result = new_scenarios(np.empty((0, 3)), np.empty((0, 3)))
    assert (result.n_scenarios, result.difference, result.df) == (0, None, 0)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="for both"):
        new_scenarios([[1.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="finite number"):
        new_scenarios([[1.0]], [[float("inf")]])
