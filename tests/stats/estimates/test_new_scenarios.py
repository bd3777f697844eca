"""Claims about new scenarios, and standard errors of clustered values."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from matrix.stats import clustered_se, new_scenarios, paired_scores, summarize

cubes = st.integers(1, 8).flatmap(
    lambda s: st.lists(
        st.lists(st.integers(-20, 20), min_size=s, max_size=s), min_size=1, max_size=12
    )
)


def test_clustered_errors_match_the_reference() -> None:
    # Two, one and three passes in clusters of three, three and four.
    values, clusters = [1, 1, 0, 1, 0, 0, 1, 1, 1, 0], "1112223333"
    assert clustered_se(values, clusters, "CR0") == pytest.approx(0.101980, abs=6e-7)
    assert clustered_se(values, clusters, "CR1") == pytest.approx(0.124900, abs=6e-7)


def test_clusters_that_differ_have_a_larger_error() -> None:
    # Residual sums 1.2, -1.8 and 0.6: sqrt(5.04) / 10 by hand.
    values, clusters = [1, 1, 1, 0, 0, 0, 1, 1, 1, 0], "1112223333"
    assert clustered_se(values, clusters, "CR0") == pytest.approx(sqrt(5.04) / 10)
    assert clustered_se(values, clusters) == pytest.approx(sqrt(1.5 * 5.04) / 10)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=30))
def test_every_value_its_own_cluster_gives_the_usual_standard_error(values: list[int]) -> None:
    usual = summarize(values)
    expected = 0.0 if usual.identical else usual.se
    assert clustered_se(values, range(len(values))) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(-20, 20), min_size=4, max_size=30))
def test_the_order_of_values_and_the_names_of_clusters_do_not_matter(values: list[int]) -> None:
    clusters = [i % 3 for i in range(len(values))]
    turned = clustered_se(values[::-1], [f"cluster {c}" for c in clusters[::-1]])
    assert turned == pytest.approx(clustered_se(values, clusters), abs=1e-12)


def test_one_cluster_has_no_standard_error_rather_than_zero() -> None:
    assert clustered_se([1.0, 2.0], "aa") is None
    assert clustered_se([], "") is None


def test_the_false_winners_of_four_methods_are_those_of_the_published_simulation() -> None:
    rng = np.random.default_rng(3)
    runs, rounds, scenarios = 1500, 10, 10
    names = np.tile(np.arange(scenarios), rounds).tolist()
    wrong = dict.fromkeys(("pooled", "CR0", "CR1", "scenarios"), 0)
    for _ in range(runs):
        truth = rng.normal(0, 5, scenarios)
        second = truth + rng.normal(0, 10, (rounds, scenarios))
        flat = second.ravel()
        pooled = summarize(flat).interval
        assert pooled is not None
        wrong["pooled"] += not pooled.contains(0.0)
        for kind in ("CR0", "CR1"):
            se = clustered_se(flat, names, kind)
            assert se is not None
            wrong[kind] += abs(flat.mean()) > 1.959964 * se
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
    with pytest.raises(ValueError, match="one cluster"):
        clustered_se([1.0], "ab")
