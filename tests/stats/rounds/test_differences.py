"""Differences after each round: by rounds and by sessions, against numpy's own figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.stats import Rules, fixed_n_verdict, paired_t, welch
from matrix.stats.rounds.balancing import balance
from matrix.stats.rounds.differences import differences_of
from matrix.stats.rounds.own_mean import own_mean
from matrix.stats.rounds.rules import Unit
from tests.sampling import examples


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Scores of two variants, [R, S, 2], some of them missing."""
    shape = (draw(st.integers(2, 12)), draw(st.integers(1, 4)), 2)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.normal(50, 10, shape)
    scores[rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.4]))] = np.nan
    return scores


@settings(max_examples=examples(100))
@given(tables())
def test_by_rounds_it_is_the_paired_t_of_the_rounds_that_have_a_pair(
    table_of: Any, scores: Any
) -> None:
    table = table_of(scores)
    found = differences_of(table, 0, 1)
    for length in range(1, len(scores) + 1):
        oracle = paired_t(*table.up_to(length).paired(0, 1).T).difference
        assert found.rounds[length - 1] == oracle.n
        if oracle.mean is not None:
            assert found.mean[length - 1] == pytest.approx(oracle.mean)
        if oracle.se is not None:
            assert found.se[length - 1] == pytest.approx(oracle.se)
            complete = not np.isnan(scores[:length]).any()
            assert found.df[length - 1] <= oracle.n - 1 + 1e-9
            assert not complete or found.df[length - 1] == pytest.approx(oracle.n - 1)


@settings(max_examples=examples(100))
@given(tables())
def test_where_pairs_are_missing_each_prefix_has_the_mean_of_a_variant_by_itself(
    scores: Any,
) -> None:
    apart = scores[:, :, 1] - scores[:, :, 0]
    found = balance(apart)
    for last in range(len(apart)):
        seen = apart[: last + 1]
        counts = (~np.isnan(seen)).sum(axis=0)
        used = seen[:, counts >= min(2, max(1, counts.max()))]
        oracle = own_mean(used) if used.size else None
        if oracle is None or oracle.mean is None:
            assert found.rounds[last] == 0
            continue
        assert (found.rounds[last], found.pairs[last]) == (oracle.n_rounds, oracle.sessions)
        assert found.mean[last] == pytest.approx(oracle.mean)
        if oracle.se is not None:
            assert found.se[last] == pytest.approx(oracle.se)
            assert found.df[last] == pytest.approx(oracle.df)


@settings(max_examples=examples(100))
@given(tables())
def test_by_sessions_pairs_are_pooled_within_their_scenario(table_of: Any, scores: Any) -> None:
    found = differences_of(table_of(scores), 0, 1, "session")
    apart = scores[:, :, 1] - scores[:, :, 0]
    columns = [column[~np.isnan(column)] for column in apart.T]
    columns = [column for column in columns if column.size]
    if not columns or min(column.size for column in columns) < 2:
        assert np.isnan(found.se[-1])
        return
    parts = np.array([column.var(ddof=1) / column.size for column in columns])
    freedom = np.array([column.size - 1 for column in columns])
    assert found.pairs[-1] == sum(column.size for column in columns)
    assert found.mean[-1] == pytest.approx(np.mean([column.mean() for column in columns]))
    assert found.se[-1] == pytest.approx(np.sqrt(parts.sum()) / len(columns))
    assert found.df[-1] == pytest.approx(parts.sum() ** 2 / (parts**2 / freedom).sum())


def test_sessions_as_the_unit_decide_small_plans_sooner(table_of: Any) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(50, 5, (6, 5, 2)) + np.array([0.0, 9.0])
    by_rounds = Rules(failure_margin=0.3, failure_icc=0.0)
    by_sessions = replace(by_rounds, unit="session")
    assert fixed_n_verdict(table_of(scores), by_rounds).reasons[0] == "too few rounds"
    found = fixed_n_verdict(table_of(scores), by_sessions)
    assert (found.kind, found.winner) == ("winner", 1)
    few = fixed_n_verdict(table_of(scores[:4]), by_sessions)
    assert few.reasons[0] == "too few rounds"


@settings(max_examples=examples(100))
@given(tables())
def test_unpaired_it_is_welchs_t_or_students_whatever_scores_are_laid_beside(
    table_of: Any, scores: Any
) -> None:
    alone = scores[:, :1]
    found = differences_of(table_of(alone), 0, 1, "unpaired")
    samples = [column[~np.isnan(column)] for column in alone[:, 0].T]
    oracle = welch(*samples)
    if oracle.se is None or oracle.difference is None:
        return
    assert found.mean[-1] == pytest.approx(oracle.difference)
    assert found.se[-1] == pytest.approx(joint_error(*samples))
    assert found.df[-1] == pytest.approx(oracle.df)
    assert found.rounds[-1] == min(map(len, samples))
    if len(samples[0]) == len(samples[1]):
        assert found.se[-1] == pytest.approx(oracle.se)
    shuffled = alone.copy()
    np.random.default_rng(0).shuffle(shuffled[:, 0, 1])
    again = differences_of(table_of(shuffled), 0, 1, "unpaired")
    assert again.se[-1] == pytest.approx(found.se[-1])


def joint_error(first: Any, second: Any) -> float:
    """The larger of Welch's and Student's, or Welch's where the spreads are shown to differ."""
    n, m = len(first), len(second)
    v, w = first.var(ddof=1), second.var(ddof=1)
    pooled = ((n - 1) * v + (m - 1) * w) / (n + m - 2)
    own, joint = v / n + w / m, pooled * (1 / n + 1 / m)
    rest = np.concatenate([first - first.mean(), second - second.mean()])
    kurtosis = (rest**4).mean() / (rest**2).mean() ** 2
    shown = abs(w - v) > 1.96 * pooled * np.sqrt((kurtosis - 1) * (1 / n + 1 / m))
    return float(np.sqrt(own if shown else max(own, joint)))


def test_a_small_sample_without_spread_is_not_taken_at_its_word(table_of: Any) -> None:
    """15 scores of 1 beside 150 that are 1 nine times in ten: Welch's t calls them apart."""
    scores = np.full((150, 1, 2), np.nan)
    scores[:15, 0, 0] = 1.0
    scores[:, 0, 1] = np.repeat([0.0, 0.5, 1.0], [8, 3, 139])
    assert welch(scores[:15, 0, 0], scores[:, 0, 1]).p < 0.01  # type: ignore[operator]
    rules = Rules(failure_margin=1.0, unit="unpaired", score_bounds=None)
    table = replace(table_of(scores), never=np.isnan(scores))
    assert fixed_n_verdict(table, rules).kind == "no_difference"


def test_a_large_sample_of_small_spread_keeps_it(table_of: Any) -> None:
    """Of 100 scores nobody doubts that they vary less: the pooled error would be twice Welch's."""
    rng, scores = np.random.default_rng(3), np.full((1000, 1, 2), np.nan)
    scores[:100, 0, 0], scores[:, 0, 1] = rng.normal(0, 1, 100), rng.normal(0, 3, 1000)
    found = differences_of(table_of(scores), 0, 1, "unpaired")
    assert found.se[-1] == pytest.approx(welch(scores[:100, 0, 0], scores[:, 0, 1]).se)


def test_what_was_never_meant_to_be_there_makes_no_claim_fragile(table_of: Any) -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(50, 5, (40, 1, 2)) + np.array([0.0, 6.0])
    scores[20:, 0, 1] = np.nan
    rules = Rules(failure_margin=1.0, unit="unpaired")
    lost = table_of(scores)
    assert "fragile" in fixed_n_verdict(lost, rules).flags
    found = fixed_n_verdict(replace(lost, never=np.isnan(scores)), rules)
    assert (found.kind, found.winner) == ("winner", 1)
    assert "fragile" not in found.flags
    assert lost.up_to(10).never is None


def test_samples_that_are_not_paired_are_looked_at_once() -> None:
    with pytest.raises(ValueError, match="looked at once"):
        Rules(unit="unpaired", engine="planned")


def test_noise_that_float64_holds_is_no_rounding_whatever_the_scores(table_of: Any) -> None:
    rng = np.random.default_rng(2)
    noisy = 1e12 + rng.normal(0.0, 0.5, (40, 1, 2))
    assert differences_of(table_of(noisy), 0, 1).se[-1] > 0.0
    alike = rng.integers(0, 10_000, (40, 3, 1)) / 10.0 + np.array([0.1, 0.4])
    units: tuple[Unit, ...] = ("round", "session")
    for unit in units:
        assert differences_of(table_of(alike), 0, 1, unit).se[-1] == 0.0
    alike[3, 1] = np.nan
    assert differences_of(table_of(alike), 0, 1).se[-1] == 0.0
