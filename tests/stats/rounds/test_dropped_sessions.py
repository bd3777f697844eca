"""Dropped sessions and scores at the turn limit: what leaves a table, and what must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.stats import (
    OUTCOMES,
    Rules,
    complete_rounds,
    failure_contrast,
    fixed_n_comparisons,
    verdict_of,
)
from matrix.stats.rounds.differences import differences_of
from matrix.stats.verdicts.comparisons import lost_pairs
from tests.sampling import examples

DROPPED, FAILED, TIMEOUT, ERRORED = (
    OUTCOMES.index(name) for name in ("dropped", "failed", "timeout", "errored")
)
NAN = float("nan")
Cube = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


@st.composite
def cubes(draw: st.DrawFn) -> Cube:
    """Scores and outcome codes of 3 variants, each with some failures, timeouts and errors."""
    shape = (draw(st.integers(3, 16)), draw(st.integers(1, 3)), 3)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = np.rint(rng.normal(50, 10, shape))
    outcomes = rng.choice([0, TIMEOUT, FAILED, ERRORED], shape, p=[0.8, 0.1, 0.06, 0.04])
    scores[(outcomes == TIMEOUT) & (rng.random(shape) < 0.5)] = NAN
    return scores, outcomes


def dropping(cube: Cube, variant: int, start: int) -> Cube:
    """The same with one variant dropped from a round on."""
    scores, outcomes = cube[0].copy(), cube[1].copy()
    scores[start:, :, variant], outcomes[start:, :, variant] = NAN, DROPPED
    return scores, outcomes


def same(one: Any, other: Any) -> bool:
    """Whether two comparisons say the same; whether scores are yes/no, the whole table decides."""
    return bool(replace(one, discordant=None) == replace(other, discordant=None))


@settings(max_examples=examples(150))
@given(cubes(), st.integers(0, 2), st.data())
def test_pairs_with_a_dropped_variant_are_those_of_the_table_cut_there(
    table_of: Any, cube: Cube, variant: int, data: Any
) -> None:
    start = data.draw(st.integers(1, cube[0].shape[0] - 1))
    whole = table_of(*dropping(cube, variant, start))
    cut = table_of(cube[0][:start], cube[1][:start])
    for one, other in zip(
        fixed_n_comparisons(whole, Rules(), 0.05),
        fixed_n_comparisons(cut, Rules(), 0.05),
        strict=True,
    ):
        if variant in (one.a, one.b):
            assert same(one, other)
    assert whole.sessions[variant] == cut.sessions[variant]
    assert whole.failures[variant] == cut.failures[variant]


@settings(max_examples=examples(150))
@given(cubes(), st.data())
def test_pairs_of_the_others_are_those_of_a_table_without_the_dropped_variant(
    table_of: Any, cube: Cube, data: Any
) -> None:
    """Whatever became of the dropped one before: what befalls it touches nobody else's pairs."""
    start = data.draw(st.integers(0, cube[0].shape[0] - 1))
    scores, outcomes = cube
    whole = table_of(*dropping((scores, outcomes), 2, start))
    without = table_of(scores[:, :, :2], outcomes[:, :, :2])
    assert whole.prefix_length == without.prefix_length
    assert np.array_equal(whole.sides(0, 1), without.sides(0, 1), equal_nan=True)
    assert failure_contrast(whole, 0, 1, 0.05) == failure_contrast(without, 0, 1, 0.05)


@settings(max_examples=examples(100))
@given(cubes(), st.integers(0, 2), st.data())
def test_denominators_add_up_with_dropped_and_stopped_rounds(
    table_of: Any, cube: Cube, variant: int, data: Any
) -> None:
    n_rounds, n_scenarios, _ = cube[0].shape
    start = data.draw(st.integers(0, n_rounds))
    stop = data.draw(st.integers(start, n_rounds))
    scores, outcomes = dropping(cube, variant, start)
    outcomes[stop:] = DROPPED
    table = table_of(scores, outcomes)
    assert table.prefix_length == stop
    assert table.prefix_end == ("plan complete" if stop == n_rounds else "stopped")
    assert table.outcome_counts.sum(axis=1).tolist() == [n_rounds * n_scenarios] * 3
    assert table.outcome_counts[variant, DROPPED] == (n_rounds - min(start, stop)) * n_scenarios
    in_prefix = table.prefix_length * n_scenarios
    others = [v for v in range(3) if v != variant]
    lost, unscored = lost_pairs(table, *others)
    assert lost + unscored + int(table.scored(*others).sum()) == in_prefix
    assert table.open_sessions == 0
    assert not table.scored(variant, others[0])[start:].any()
    assert table.both_live(variant, others[0]).sum() == min(start, stop)


def test_a_dropped_variants_later_sessions_may_be_left_out(table_of: Any) -> None:
    scores, outcomes = dropping((np.ones((6, 2, 3)), np.zeros((6, 2, 3), np.int64)), 1, 4)
    told = table_of(scores, outcomes)
    rounds, scenarios, variants = (index.ravel() for index in np.indices(scores.shape))
    kept = ~((variants == 1) & ((rounds == 5) | ((rounds == 4) & (scenarios == 1))))
    silent = complete_rounds(
        rounds[kept],
        scenarios[kept],
        variants[kept],
        scores.ravel()[kept],
        outcomes.ravel()[kept],
        n_rounds_planned=6,
        n_scenarios=2,
        n_variants=3,
    )
    assert silent.prefix_length == told.prefix_length == 6
    assert np.array_equal(silent.outcome_counts, told.outcome_counts)


@pytest.mark.parametrize("where", [(3, 0, 1), (5, 1, 1)], ids=["same round", "later round"])
@pytest.mark.parametrize("outcome", ["completed", "censored", "errored"])
def test_a_variant_is_dropped_from_whole_rounds_and_for_good(
    table_of: Any, where: tuple[int, int, int], outcome: str
) -> None:
    scores, outcomes = dropping((np.ones((6, 2, 3)), np.zeros((6, 2, 3), np.int64)), 1, 3)
    outcomes[where] = OUTCOMES.index(outcome)
    with pytest.raises(ValueError, match=f"variant 1 is dropped from round 3 on, but is {outcome}"):
        table_of(scores, outcomes)


def test_a_session_at_the_turn_limit_keeps_its_score_and_counts_as_a_failure(table_of: Any) -> None:
    scores = np.array([[[10.0, 20.0], [50.0, 90.0]]])
    table = table_of(scores, [[["completed"] * 2, ["completed", "timeout"]]])
    assert table.paired(0, 1).tolist() == [[30.0, 55.0]]
    assert lost_pairs(table, 0, 1) == (0, 0)
    assert table.failures.tolist() == [0, 1]
    assert failure_contrast(table, 0, 1, 0.05).only_b == 1


def test_a_table_cut_short_is_the_table_of_its_first_rounds(normal_table: Any) -> None:
    table = normal_table([0, 3], n_rounds=20, fail={0: 5})
    cut, first = table.up_to(12), normal_table([0, 3], n_rounds=20, fail={0: 5})
    assert (cut.prefix_length, cut.prefix_end) == (12, "open session")
    seen, whole = differences_of(cut, 0, 1), differences_of(first, 0, 1)
    for name in ("mean", "se", "df"):
        assert np.array_equal(getattr(seen, name), getattr(whole, name)[:12], equal_nan=True)
    assert table.up_to(20) is table
    assert cut.failures.tolist() == [5, 0]


@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_a_stopped_run_has_the_verdict_of_the_look_that_stopped_it(
    normal_table: Any, table_of: Any, engine: Any
) -> None:
    rules = Rules(engine=engine)
    whole = normal_table([0, 8, 1], n_rounds=60)
    verdict = verdict_of(whole, rules)
    assert verdict.winner == 1
    assert verdict.decided_at is not None
    stop = verdict.decided_at + 3  # rounds under way then are drained
    outcomes = np.zeros(whole.scores.shape, np.int64)
    outcomes[stop:] = DROPPED
    stopped = verdict_of(table_of(whole.scores, outcomes), rules)
    assert (stopped.kind, stopped.winner, stopped.decided_at, stopped.beaten) == (
        "winner", 1, verdict.decided_at, verdict.beaten,
    )  # fmt: skip
    assert stopped.decisive == verdict.decisive
    assert stopped.rounds_complete == stop
    assert stopped.rounds_used == stopped.decided_at
