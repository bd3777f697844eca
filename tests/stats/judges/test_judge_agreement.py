"""Agreement of judges, and means of human ratings sharpened by a judge."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import (
    AGREEMENT_WARN_BELOW,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
    powered_mean,
    powered_share,
    summarize,
    wilson,
)
from matrix.stats.judges.agreement import KappaWeights, RatingLevel

CANONICAL = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]
TABLE = [[10, 2, 0], [3, 12, 4], [1, 2, 16]]

pairs = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30)
weightings = st.sampled_from(["nominal", "quadratic"])
levels = st.sampled_from(["nominal", "ordinal", "interval", "ratio"])


# --- agreement ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "alpha"),
    [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491), ("ratio", 0.7974)],
)
def test_krippendorffs_own_example(level: RatingLevel, alpha: float) -> None:
    assert krippendorff_alpha(CANONICAL, level) == pytest.approx(alpha, abs=6e-5)


@pytest.mark.slow
def test_the_interval_of_kappa_covers_what_it_is_about() -> None:
    """Judges with a known kappa: .8 right of two equally frequent verdicts is .6."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        truth = rng.integers(0, 2, 60)
        judge = np.where(rng.random(60) < 0.8, truth, 1 - truth)
        found = kappa_interval(truth, judge, rng, draws=199)
        assert found is not None
        covered += found.contains(0.6)
    assert 0.90 <= covered / 200 <= 0.985


def test_full_agreement_of_few_is_no_certainty() -> None:
    rng = np.random.default_rng(1)
    few, many = (kappa_interval([0, 1] * n, [0, 1] * n, rng) for n in (6, 200))
    assert few is not None
    assert many is not None
    assert (few.high, many.high) == (1.0, 1.0)
    assert few.low == pytest.approx(2 * 0.7575 - 1, abs=1e-3)  # Wilson's bound for 12 of 12
    assert few.low < 0.6 < 0.95 < many.low
    assert kappa_interval([1, 1, 1], [1, 1, 1], rng) is None
    assert kappa_interval([1], [2], rng) is None  # a judge that always says the same


@pytest.mark.parametrize(("weights", "kappa"), [("nominal", 0.635922), ("quadratic", 0.763108)])
def test_kappa_of_the_reference_table(weights: KappaWeights, kappa: float) -> None:
    rows, columns = np.nonzero(np.asarray(TABLE))
    times = np.asarray(TABLE)[rows, columns]
    found = cohen_kappa(np.repeat(rows, times), np.repeat(columns, times), weights)
    assert found == pytest.approx(kappa, abs=6e-7)


@given(pairs, weightings)
def test_kappa_does_not_care_who_is_first_or_where_the_scale_starts(
    ratings: list[tuple[int, int]], weights: KappaWeights
) -> None:
    first, second = (np.asarray(side, dtype=float) for side in zip(*ratings, strict=True))
    kappa = cohen_kappa(first, second, weights)
    for other in (
        cohen_kappa(second, first, weights),
        cohen_kappa(2 * first - 7, 2 * second - 7, weights),
    ):
        assert other == (kappa if kappa is None else pytest.approx(kappa, abs=1e-9))


@given(st.lists(st.integers(1, 5), min_size=2, max_size=20), weightings, levels)
def test_full_agreement_is_one_and_a_single_rating_throughout_is_undefined(
    ratings: list[int], weights: KappaWeights, level: RatingLevel
) -> None:
    expected = None if len(set(ratings)) == 1 else pytest.approx(1.0)
    assert cohen_kappa(ratings, ratings, weights) == expected
    assert krippendorff_alpha([ratings] * 3, level) == expected


@given(pairs, levels, st.integers(0, 9))
def test_alpha_does_not_care_about_orders_or_single_ratings(
    ratings: list[tuple[int, int]], level: RatingLevel, seed: int
) -> None:
    table = np.asarray(ratings, dtype=float).T
    alpha = krippendorff_alpha(table, level)
    shuffled = table[::-1][:, np.random.default_rng(seed).permutation(table.shape[1])]
    padded = np.column_stack([shuffled, [5.0, nan]])
    other = krippendorff_alpha(np.vstack([padded, np.full(padded.shape[1], nan)]), level)
    assert other == (alpha if alpha is None else pytest.approx(alpha, abs=1e-9))


@given(pairs)
def test_quadratic_kappa_and_interval_alpha_differ_only_by_chance_in_small_samples(
    ratings: list[tuple[int, int]],
) -> None:
    # With both orders of the judges the margins are equal; alpha then adds back 1 part in 2n.
    both = ratings + [(b, a) for a, b in ratings]
    first, second = zip(*both, strict=True)
    kappa = cohen_kappa(first, second)
    alpha = krippendorff_alpha(np.asarray([first, second], dtype=float), "interval")
    assert (kappa is None) == (alpha is None)
    if kappa is not None and alpha is not None:
        n = len(both)
        assert 1 - alpha == pytest.approx((1 - kappa) * (2 * n - 1) / (2 * n), abs=1e-9)


def test_judges_who_guess_agree_by_chance_only() -> None:
    guesses = np.random.default_rng(1).integers(1, 6, (3, 4000)).astype(float)
    assert krippendorff_alpha(guesses, "ordinal") == pytest.approx(0.0, abs=0.04)
    assert cohen_kappa(guesses[0], guesses[1]) == pytest.approx(0.0, abs=0.05)
    assert 0.0 < AGREEMENT_WARN_BELOW < 1.0


def test_nothing_rated_twice_is_no_agreement_at_all() -> None:
    assert krippendorff_alpha([[1.0, nan], [nan, 2.0]]) is None
    assert krippendorff_alpha(np.empty((2, 0))) is None
    assert cohen_kappa([], []) is None


def test_what_is_no_rating_is_refused() -> None:
    odd: Any = "cubic"
    with pytest.raises(ValueError, match="same transcripts"):
        cohen_kappa([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="ratings are finite"):
        cohen_kappa([1.0], [nan])
    with pytest.raises(ValueError, match="unknown weights 'cubic'"):
        cohen_kappa([1.0, 2.0], [1.0, 2.0], odd)
    with pytest.raises(ValueError, match="unknown level 'cubic'"):
        krippendorff_alpha([[1.0, 2.0], [1.0, 2.0]], odd)
    with pytest.raises(ValueError, match="0 or more"):
        krippendorff_alpha([[-1.0], [1.0]], "ratio")
    with pytest.raises(ValueError, match="judges, transcripts"):
        krippendorff_alpha([1.0, 2.0])


# --- prediction-powered mean ----------------------------------------------------------------------


@given(st.lists(st.integers(-20, 20), min_size=3, max_size=20), st.integers(0, 20))
def test_without_the_judge_it_is_the_mean_of_the_people(people: list[int], more: int) -> None:
    judge = np.random.default_rng(0).normal(size=len(people))
    powered = powered_mean(people, judge, np.ones(more), judge_weight=0.0)
    plain = summarize(people)
    assert powered.mean == powered.people_only == pytest.approx(plain.mean)
    assert (powered.interval is None) == (plain.interval is None)
    if powered.interval is not None and plain.interval is not None:
        assert powered.interval.low == pytest.approx(plain.interval.low)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=20))
def test_a_judge_who_saw_nothing_else_changes_nothing(ratings: list[tuple[int, int]]) -> None:
    people, judge = zip(*ratings, strict=True)
    for weight in (1.0, 0.4):
        powered, plain = powered_mean(people, judge, [], judge_weight=weight), summarize(people)
        assert powered.mean == pytest.approx(plain.mean, abs=1e-9)
        if powered.interval is not None and plain.interval is not None:
            assert powered.interval.half_width == pytest.approx(plain.interval.half_width)


def test_the_mean_is_the_judges_corrected_by_its_errors() -> None:
    powered = powered_mean([3.0, 4.0, 6.0], [1.0, 3.0, 4.0], [2.0, 2.0, 6.0], judge_weight=1.0)
    assert powered.mean == pytest.approx(18 / 6 + 5 / 3)
    assert (powered.n_labelled, powered.n_all) == (3, 6)


@pytest.mark.parametrize(("slope", "noise"), [(10.0, 3.0), (10.0, 100.0), (-4.0, 2.0)])
@pytest.mark.parametrize("n", [8, 40])
def test_it_covers_the_truth_however_good_the_judge(n: int, slope: float, noise: float) -> None:
    rng, runs, total = np.random.default_rng(5), 1200, 200
    covered, widths = 0, []
    for _ in range(runs):
        human = rng.normal(3, 1, total)
        judge = 20 + slope * human + rng.normal(0, noise, total)
        result = powered_mean(human[:n], judge[:n], judge[n:])
        assert result.interval is not None
        covered += result.interval.contains(3.0)
        plain = summarize(human[:n]).interval
        assert plain is not None
        widths.append(result.interval.half_width / plain.half_width)
    assert covered / runs >= 0.95 - 4 * sqrt(0.05 * 0.95 / runs)
    if noise < 10:
        assert np.mean(widths) < 0.75


def test_few_labels_have_a_mean_and_no_interval() -> None:
    assert powered_mean([], [], [1.0, 2.0]).mean is None
    one = powered_mean([4.0], [1.0], [2.0, 3.0])
    assert (one.mean, one.judge_weight, one.interval) == (4.0, 0.0, None)
    assert powered_mean([4.0] * 5, [4.0] * 5, [4.0] * 9).interval is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=4, max_size=30), st.data())
def test_of_yes_and_no_the_estimate_is_the_same_and_its_interval_never_without_width(
    rated: list[tuple[bool, bool]], data: st.DataObject
) -> None:
    rated = [*rated, (True, True), (False, False), (True, True), (False, False)]
    people, judge = ([float(one) for one in column] for column in zip(*rated, strict=True))
    elsewhere = data.draw(st.lists(st.sampled_from([0.0, 1.0]), max_size=40))
    found = powered_share(people, judge, elsewhere)
    usual = powered_mean(people, judge, elsewhere)
    assert found.mean == pytest.approx(usual.mean)
    assert found.judge_weight == pytest.approx(usual.judge_weight)
    assert found.interval is not None
    assert found.mean is not None
    assert 0 <= found.interval.low <= found.mean <= found.interval.high <= 1
    assert found.interval.half_width > 0


@pytest.mark.parametrize(
    ("n", "total", "passed_wrongly", "failed_wrongly"),
    [(25, 600, 0.0, 0.1), (25, 600, 0.0, 0.06), (50, 1000, 0.0, 0.05), (25, 600, 0.4, 0.5)],
)
def test_a_judge_that_seldom_errs_is_not_taken_to_be_right(
    n: int, total: int, passed_wrongly: float, failed_wrongly: float
) -> None:
    """By the variance of labels that mostly agree, the second held in .89, the first in .79."""
    rng, runs, covered = np.random.default_rng(11), 1500, 0
    truth = 0.37 * (1 - passed_wrongly) + 0.63 * failed_wrongly
    for _ in range(runs):
        judge = (rng.random(total) < 0.37) * 1.0
        agrees = rng.random(total)
        human = np.where(judge == 1, agrees >= passed_wrongly, agrees < failed_wrongly) * 1.0
        found = powered_share(human[:n], judge[:n], judge[n:]).interval
        assert found is not None
        covered += found.contains(truth)
    assert covered / runs >= 0.93 - 2 * sqrt(0.07 * 0.93 / runs)


def test_where_nobody_labelled_what_the_judge_fails_anything_may_be_true_of_it() -> None:
    found = powered_share([1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0] * 3)
    assert found.mean == pytest.approx(0.5 * 2 / 3)
    assert found.interval is not None
    assert found.interval.high >= 0.5 * 2 / 3 + 0.5


def test_without_the_judge_a_share_is_wilsons() -> None:
    found, plain = powered_share([1.0, 1.0, 0.0], [1.0] * 3, [0.0], with_judge=False), wilson(2, 3)
    assert found.interval is not None
    assert plain is not None
    assert found.mean == pytest.approx(2 / 3)
    assert found.judge_weight == 0.0
    assert found.interval.low == pytest.approx(plain.low)
    assert powered_share([], [], [1.0]).interval is None


def test_labels_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="a human and a judge's rating each; got 2 and 1"):
        powered_mean([1.0, 2.0], [1.0], [])
