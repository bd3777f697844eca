"""Where the noise comes from: exact layouts, recovery of planted parts, and what more would buy."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import Noise, noise_shares, paired_t
from matrix.stats.noise.mean_squares import mean_squares

PLANTED = {
    "scenario": 9.0,
    "scenario x variant": 4.0,
    "round": 2.0,
    "group": 6.0,
    "session": 5.0,
    "judge": 3.0,
}


def simulated(
    shape: tuple[int, int, int], rng: np.random.Generator, judge: float = PLANTED["judge"]
) -> Any:
    """Scores with the planted parts around variants 0, 1, 2, ... apart by 10."""
    r, s, k = shape
    sizes = {
        "scenario": (1, s, 1),
        "scenario x variant": (1, s, k),
        "round": (r, 1, 1),
        "group": (r, s, 1),
        "session": shape,
    }
    parts = (rng.normal(0, sqrt(PLANTED[name]), size) for name, size in sizes.items())
    return sum(parts, 10.0 * np.arange(k)) + rng.normal(0, sqrt(judge), shape)


def known(noise: Noise | None) -> Noise:
    assert noise is not None
    return noise


def variances(noise: Noise) -> dict[str, float | None]:
    return {part.name: part.variance for part in noise.sources}


shapes = st.tuples(st.integers(2, 5), st.integers(1, 4), st.integers(1, 4))


@given(shapes, st.integers(0, 10**6))
def test_the_mean_squares_add_up_to_the_whole(shape: tuple[int, int, int], seed: int) -> None:
    scores = np.random.default_rng(seed).normal(50, 9, shape)
    squares = mean_squares(scores)
    parts = (
        squares.scenario, squares.scenario_variant, squares.round, squares.round_scenario,
        squares.residual,
    )  # fmt: skip
    variants = scores.mean(axis=(0, 1)) - scores.mean()
    between_variants = shape[0] * shape[1] * float((variants**2).sum())
    whole = float(((scores - scores.mean()) ** 2).sum())
    assert sum(x.value * x.df for x in parts if x) + between_variants == pytest.approx(whole)
    assert sum(x.df for x in parts if x) + shape[2] - 1 == scores.size - 1


def test_each_planted_part_is_found_without_bias() -> None:
    rng, shape, runs = np.random.default_rng(1), (30, 20, 3), 40
    found: dict[str, list[float]] = {name: [] for name in PLANTED}
    for _ in range(runs):
        repeats = rng.normal(50, sqrt(PLANTED["judge"]), (40, 3))
        noise = known(noise_shares(simulated(shape, rng), repeats))
        for name, variance in variances(noise).items():
            assert variance is not None
            found[name].append(variance)
    for name, values in found.items():
        error = float(np.std(values, ddof=1)) / sqrt(runs)
        assert np.mean(values) == pytest.approx(PLANTED[name], abs=4 * error), name
        assert error < 0.25 * PLANTED[name]


def test_scores_that_only_add_up_have_scenarios_and_rounds_and_nothing_else() -> None:
    scenario, round_, variant = np.array([0.0, 4.0, 8.0]), np.array([1.0, 3.0]), np.array([0.0, 50])
    scores = round_[:, None, None] + scenario[None, :, None] + variant
    noise = known(noise_shares(scores))
    assert noise.source("scenario").variance == pytest.approx(16.0)
    assert noise.source("round").variance == pytest.approx(2.0)
    assert noise.total == pytest.approx(18.0)
    for name in ("scenario x variant", "group", "session"):
        part = noise.source(name)
        assert (part.variance, part.share, part.below_zero) == (0.0, 0.0, False)


@given(shapes, st.integers(0, 10**6))
def test_shares_are_of_the_whole_and_never_negative(shape: tuple[int, int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = known(noise_shares(rng.normal(0, 1, shape), rng.normal(0, 1, (5, 2))))
    shares = [part.share for part in noise.sources if part.share is not None]
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) >= 0
    for part in noise.sources:
        assert (part.variance is None) == (part.df == 0)
        assert not part.below_zero or part.variance == 0.0


@given(shapes, st.integers(0, 10**6), st.floats(0.1, 100), st.floats(-1000, 1000))
def test_shares_do_not_depend_on_the_units(
    shape: tuple[int, int, int], seed: int, times: float, shift: float
) -> None:
    scores = np.random.default_rng(seed).normal(0, 1, shape)
    plain, other = known(noise_shares(scores)), known(noise_shares(scores * times + shift))
    for a, b in zip(plain.sources, other.sources, strict=True):
        assert (a.share is None) == (b.share is None)
        if a.share is not None:
            assert b.share == pytest.approx(a.share, abs=1e-6)


def test_an_estimate_below_zero_is_shown_as_zero_and_said() -> None:
    # Two variants pushed apart within each cell: cells are more alike than sessions allow.
    rng = np.random.default_rng(3)
    push = rng.normal(0, 5, (8, 4))
    scores = np.stack([push, -push], axis=2) + rng.normal(0, 0.1, (8, 4, 2))
    group = known(noise_shares(scores)).source("group")
    assert (group.variance, group.share, group.below_zero) == (0.0, 0.0, True)


# --- what a layout cannot tell apart --------------------------------------------------------------


def test_without_repeats_the_judge_is_part_of_the_session_and_said_to_be() -> None:
    noise = known(noise_shares(simulated((40, 6, 3), np.random.default_rng(2))))
    session, judge = noise.source("session"), noise.source("judge")
    assert (judge.variance, judge.share, judge.df) == (None, None, 0)
    assert session.includes == ("judge",)
    assert session.variance == pytest.approx(8.0, rel=0.25)


def test_with_one_variant_group_and_session_cannot_be_told_apart() -> None:
    noise = known(noise_shares(simulated((200, 6, 1), np.random.default_rng(2)), [[1.0, 2.0]]))
    assert noise.source("group").variance is None
    assert noise.source("scenario x variant").variance is None
    assert noise.source("session").includes == ("group",)
    assert noise.source("scenario").includes == ("scenario x variant",)
    together = (noise.source("session").variance or 0) + (noise.source("judge").variance or 0)
    assert together == pytest.approx(6 + 5 + 3, rel=0.2)
    assert noise.variance_of_difference(10, 6, 1) is None
    assert noise.doubled() is None


def test_with_one_scenario_rounds_are_groups() -> None:
    noise = known(noise_shares(simulated((400, 1, 3), np.random.default_rng(4))))
    assert noise.source("scenario").variance is None
    assert noise.source("round").variance is None
    assert noise.source("group").includes == ("round",)
    assert noise.source("group").variance == pytest.approx(8.0, rel=0.3)
    assert noise.variance_of_difference(10, 5, 1, new_scenarios=True) is None


def test_one_variant_on_one_scenario_has_one_variance() -> None:
    values = np.array([1.0, 2.0, 6.0])
    noise = known(noise_shares(values.reshape(3, 1, 1)))
    assert noise.source("session").variance == pytest.approx(values.var(ddof=1))
    assert noise.source("session").includes == ("group", "round", "judge")
    assert noise.source("session").share == 1.0


def test_incomplete_rounds_are_left_out_and_counted() -> None:
    scores = simulated((6, 3, 2), np.random.default_rng(5))
    holed = np.concatenate([scores, scores[:2]])
    holed[6, 0, 1] = holed[7, 2, 0] = nan
    noise, whole = known(noise_shares(holed)), known(noise_shares(scores))
    assert (noise.n_rounds, noise.rounds_left_out) == (6, 2)
    assert noise.sources == whole.sources


def test_fewer_than_two_complete_rounds_say_nothing() -> None:
    assert noise_shares(np.zeros((1, 3, 2))) is None
    assert noise_shares(np.full((5, 3, 2), nan)) is None
    assert noise_shares(np.empty((0, 3, 2))) is None


def test_equal_scores_have_no_noise_and_no_shares() -> None:
    noise = known(noise_shares(np.full((4, 3, 2), 0.1)))
    assert noise.total == 0.0
    assert all(part.share is None for part in noise.sources)


# --- the judge ------------------------------------------------------------------------------------


def test_the_judges_part_is_the_variance_within_transcripts() -> None:
    repeats = [[3.0, 5.0], [4.0], [2.0, 2.0, 5.0, nan], [nan, nan]]
    judge = known(noise_shares(np.zeros((2, 1, 2)), repeats)).source("judge")
    assert judge.variance == pytest.approx((2 + 6) / 3)
    assert judge.df == 3


def test_scores_that_are_means_of_ratings_hold_less_of_the_judge() -> None:
    rng = np.random.default_rng(6)
    scores = simulated((60, 8, 3), rng, judge=PLANTED["judge"] / 4)
    repeats = rng.normal(0, sqrt(PLANTED["judge"]), (300, 4))
    noise = known(noise_shares(scores, repeats, ratings=4))
    assert noise.source("session").variance == pytest.approx(PLANTED["session"], rel=0.2)


# --- what more would buy --------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=20))
def test_on_one_scenario_it_is_the_squared_error_of_the_paired_t(
    rounds: list[tuple[int, int]],
) -> None:
    scores = np.asarray(rounds, dtype=np.float64)
    variance = known(noise_shares(scores[:, None, :])).variance_of_difference(len(rounds), 1, 1)
    se = paired_t(scores[:, 0], scores[:, 1]).difference.se or 0.0
    assert variance == pytest.approx(se**2, abs=1e-12)


def test_the_variance_of_a_difference_is_what_simulated_runs_have() -> None:
    rng = np.random.default_rng(7)
    noise = known(noise_shares(simulated((20, 600, 2), rng), rng.normal(0, sqrt(3), (400, 2))))
    size = (8, 5, 2)
    runs = [simulated(size, rng).mean(axis=(0, 1)) for _ in range(3000)]
    found = float(np.var([run[1] - run[0] for run in runs]))
    assert noise.variance_of_difference(8, 5, 1, new_scenarios=True) == pytest.approx(
        found, rel=0.2
    )


def test_rounds_halve_the_noise_of_these_scenarios_and_not_that_of_new_ones() -> None:
    rng = np.random.default_rng(8)
    noise = known(noise_shares(simulated((30, 10, 2), rng), rng.normal(0, sqrt(3), (200, 2))))
    these, new = noise.doubled(), noise.doubled(new_scenarios=True)
    assert these is not None
    assert new is not None
    assert these.rounds == these.scenarios == pytest.approx(these.now / 2)
    assert new.scenarios == pytest.approx(new.now / 2)
    assert new.rounds > 0.7 * new.now
    for options in (these, new):
        assert options.judge is not None
        assert options.rounds < options.judge < options.now


def test_without_repeats_nobody_knows_what_more_ratings_would_buy() -> None:
    noise = known(noise_shares(simulated((30, 10, 2), np.random.default_rng(8))))
    options = noise.doubled()
    assert options is not None
    assert options.judge is None
    assert noise.variance_of_difference(30, 10, 2) is None


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"rounds, scenarios, variants.*finite.*at least 1 rating"):
        noise_shares([[float("inf")]], ratings=0)
    with pytest.raises(ValueError, match="one row per transcript"):
        noise_shares(np.zeros((2, 1, 2)), [1.0, 2.0])
    noise = known(noise_shares(np.zeros((2, 1, 2))))
    with pytest.raises(ValueError, match="at least 1; got 0, 1 and 1"):
        noise.variance_of_difference(0, 1, 1)
