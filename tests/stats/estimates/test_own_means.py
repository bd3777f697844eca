"""A variant's mean over its own scored sessions: what it is, its error, and how often it holds."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, nan, sqrt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from matrix.stats.estimates.means import summarize
from matrix.stats.estimates.student import t_quantile
from matrix.stats.looks.boundary import Boundary
from matrix.stats.rounds.own_mean import MOST_SKEWNESS, OwnMean, hall_quantile, own_mean

Scores = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Scores]
HARD, EASY = 30.0, 80.0
SURELY_COVERED = 0.93


def gappy(shape: tuple[int, int], seed: int, missing: float) -> Scores:
    rng = np.random.default_rng(seed)
    scores = rng.gamma(2.0, 9.0, shape)
    scores[rng.random(shape) < missing] = nan
    return scores


def ends(found: OwnMean) -> tuple[float, float]:
    assert found.interval is not None
    return found.interval.low, found.interval.high


def known(scores: Scores) -> OwnMean:
    """The mean of scores that give an interval; other examples are passed over."""
    found = own_mean(scores)
    assume(found.interval is not None)
    return found


tables = st.builds(
    gappy,
    st.tuples(st.integers(2, 12), st.integers(1, 4)),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.3, 0.6]),
)


# --- the mean and its error -----------------------------------------------------------------------


def test_a_hard_scenario_weighs_the_same_however_many_of_its_sessions_have_no_score() -> None:
    scores = np.array([[30.0, 80.0], [nan, 82.0], [34.0, 78.0], [nan, 80.0]])
    found = own_mean(scores)
    assert found.mean == (32.0 + 80.0) / 2
    assert (found.n_rounds, found.n_scenarios, found.sessions, found.fewest) == (4, 2, 6, 2)
    # e / (S sqrt(N (N - 1))): the root is that of 2 for the hard scenario, of 12 for the other
    parts = np.array([-2 / sqrt(2), 2 / sqrt(12), 2 / sqrt(2) - 2 / sqrt(12), 0]) / 2
    assert found.se == pytest.approx(float(np.sqrt(parts @ parts)))


@given(st.tuples(st.integers(2, 12), st.integers(1, 5)), st.integers(0, 10**6))
def test_with_all_scores_present_it_is_students_mean_of_rounds(
    shape: tuple[int, int], seed: int
) -> None:
    scores = gappy(shape, seed, 0.0)
    found, plain = own_mean(scores), summarize(scores.mean(axis=1))
    assert found.mean == pytest.approx(plain.mean)
    assert found.se == pytest.approx(plain.se)
    assert found.df == pytest.approx(plain.n - 1)
    centred = scores.mean(axis=1) - scores.mean()
    skewness = float((centred**3).sum() / (centred**2).sum() ** 1.5)
    assert found.skewness == pytest.approx(skewness, abs=1e-9)


@given(tables)
def test_error_and_degrees_of_freedom_are_those_of_bell_and_mccaffrey(scores: Scores) -> None:
    """Their general matrices, for the regression on scenarios with rounds as clusters."""
    found = known(scores)
    kept = scores[:, ~np.isnan(scores).all(axis=0)]
    rounds, scenarios = np.nonzero(~np.isnan(kept))
    values = kept[rounds, scenarios]
    design = np.eye(kept.shape[1])[scenarios]
    bread = np.linalg.inv(design.T @ design)
    rest = np.eye(values.size) - design @ bread @ design.T
    columns = []
    for r in np.unique(rounds):
        own = rounds == r
        size, vectors = np.linalg.eigh(rest[np.ix_(own, own)])
        adjust = vectors @ np.diag(size**-0.5) @ vectors.T
        columns.append(rest[:, own] @ adjust @ design[own] @ bread.mean(axis=1))
    forms = np.array(columns)
    gram = forms @ forms.T
    assert found.se == pytest.approx(float(np.linalg.norm(forms @ values)), rel=1e-6)
    assert found.df == pytest.approx(float(np.trace(gram) ** 2 / (gram**2).sum()), rel=1e-6)


@given(tables, st.integers(0, 10**6))
def test_order_and_sessions_without_scores_do_not_matter(scores: Scores, seed: int) -> None:
    found, rng = known(scores), np.random.default_rng(seed)
    more = np.vstack([scores, np.full((3, scores.shape[1]), nan)])
    more = np.hstack([more, np.full((more.shape[0], 2), nan)])
    other = own_mean(rng.permutation(more)[:, rng.permutation(more.shape[1])])
    assert other.left_out == found.left_out + 2
    assert (other.n_rounds, other.sessions) == (found.n_rounds, found.sessions)
    assert other.mean == pytest.approx(found.mean)
    assert ends(other) == pytest.approx(ends(found))


@given(tables, st.sampled_from([-2.0, -1.0, 0.01, 40.0]), st.floats(-1000, 1000))
def test_the_interval_follows_the_units(scores: Scores, times: float, shift: float) -> None:
    plain, other = known(scores), own_mean(times * scores + shift)
    moved = sorted(times * end + shift for end in ends(plain))
    assert ends(other) == pytest.approx(tuple(moved), rel=1e-6, abs=1e-6)
    assert other.df == pytest.approx(plain.df)


# --- the interval ---------------------------------------------------------------------------------


@given(tables, st.sampled_from([0.01, 0.05, 0.2]))
def test_the_interval_holds_students_and_reaches_further_on_one_side(
    scores: Scores, alpha: float
) -> None:
    found = own_mean(scores, alpha)
    assume(found.interval is not None)
    assert found.mean is not None
    assert found.se is not None
    assert found.df is not None
    half = t_quantile(1 - alpha / 2, found.df) * found.se
    below, above = found.mean - ends(found)[0], ends(found)[1] - found.mean
    assert min(below, above) == pytest.approx(half)
    digits = 1e-9 * half  # at two degrees of freedom a tail may move by less than rounding does
    if (found.skewness or 0.0) > 1e-3:
        assert above > half - digits
    if (found.skewness or 0.0) < -1e-3:
        assert below > half - digits


@given(st.floats(-6, 6), st.floats(-1.5, 1.5))
def test_halls_quantile_is_where_his_transformation_is_at_the_symmetric_one(
    quantile: float, skewness: float
) -> None:
    t, k = hall_quantile(quantile, skewness), skewness
    assert t + k * t**2 / 3 + k**2 * t**3 / 27 + k / 6 == pytest.approx(quantile, abs=1e-8)


@given(tables, st.floats(2.0, 8.0))
def test_ends_are_at_least_as_far_as_a_boundary_asks_for(scores: Scores, extra: float) -> None:
    plain = known(scores)
    radius = t_quantile(0.975, plain.n_rounds - 1) * extra
    found = own_mean(scores, radius=radius)
    assert found.mean is not None
    assert found.se is not None
    below, above = found.mean - ends(found)[0], ends(found)[1] - found.mean
    assert min(below, above) >= radius * found.se * (1 - 1e-9)
    assert below == pytest.approx(extra * (found.mean - ends(plain)[0]))
    assert above == pytest.approx(extra * (ends(plain)[1] - found.mean))


def test_looking_after_every_round_makes_wider_intervals_and_none_before_the_first_look() -> None:
    scores = gappy((40, 3), 1, 0.1)
    radii = Boundary("planned", 0.05, 40).radii(np.arange(41))
    assert own_mean(scores[:5], radius=float(radii[5])).interval is None
    assert own_mean(scores[:5], radius=float(radii[5])).se == own_mean(scores[:5]).se
    for n in (10, 20, 40):
        plain, looked = own_mean(scores[:n]), own_mean(scores[:n], radius=float(radii[n]))
        assert ends(looked)[0] < ends(plain)[0]
        assert ends(looked)[1] > ends(plain)[1]


# --- what is not known ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (3, 0), (3, 2)])
def test_without_scores_nothing_is_known(shape: tuple[int, int]) -> None:
    found = own_mean(np.full(shape, nan))
    assert (found.mean, found.se, found.interval, found.approximate) == (None, None, None, False)
    assert (found.n_scenarios, found.left_out) == (0, shape[1])


@pytest.mark.parametrize(
    ("scores", "mean"),
    [
        ([[1.0, 5.0]], 3.0),
        ([[1.0, 5.0], [2.0, nan], [3.0, nan]], 3.5),
        ([[0.1, 0.7]] * 9, 0.4),
    ],
    ids=["one round", "a scenario seen once", "no spread"],
)
def test_a_mean_may_be_known_without_its_error(scores: list[list[float]], mean: float) -> None:
    found = own_mean(scores)
    assert found.mean == pytest.approx(mean)
    assert (found.se, found.df, found.skewness, found.interval) == (None, None, None, None)
    assert not found.approximate


def test_what_is_no_table_of_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="rounds, scenarios"):
        own_mean([1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        own_mean([[1.0], [inf]])
    with pytest.raises(ValueError, match="alpha"):
        own_mean([[1.0], [2.0]], 0.0)
    for radius in (0.0, -1.0, nan):
        with pytest.raises(ValueError, match="radius"):
            own_mean([[1.0], [2.0]], radius=radius)


# --- how often it holds ---------------------------------------------------------------------------


def likert(rng: np.random.Generator, shape: tuple[int, int]) -> Scores:
    return rng.choice(np.arange(1.0, 6.0), shape, p=[0.02, 0.05, 0.13, 0.35, 0.45])


def hard_scenario(rng: np.random.Generator, shape: tuple[int, int]) -> Scores:
    """Sessions of a round go together; the first scenario has no score in 27 % of its sessions."""
    scores = rng.normal(EASY, 8.0, shape) + rng.normal(0.0, 4.0, (shape[0], 1))
    scores[:, 0] -= EASY - HARD
    scores[rng.random(shape[0]) < 0.27, 0] = nan
    return scores


def shared_seed(rng: np.random.Generator, shape: tuple[int, int]) -> Scores:
    return rng.normal(50.0, 3.0, shape) + rng.normal(0.0, 9.0, (shape[0], 1))


TRUTHS: dict[str, tuple[Draw, Callable[[int], float]]] = {
    "normal": (lambda rng, shape: rng.normal(50, 6, shape), lambda _: 50.0),
    "shared seed": (shared_seed, lambda _: 50.0),
    "beta": (lambda rng, shape: 100 * rng.beta(8, 2, shape), lambda _: 80.0),
    "likert": (likert, lambda _: 4.16),
    "lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.0, shape), lambda _: exp(0.5)),
    "hard": (hard_scenario, lambda scenarios: EASY - (EASY - HARD) / scenarios),
}


def simulated(name: str, n: int, scenarios: int, runs: int = 2000) -> tuple[list[OwnMean], float]:
    draw, truth = TRUTHS[name]
    rng = np.random.default_rng([n, scenarios])
    return [own_mean(draw(rng, (n, scenarios))) for _ in range(runs)], truth(scenarios)


def coverage(found: list[OwnMean], truth: float) -> float:
    return sum(x.interval is not None and x.interval.contains(truth) for x in found) / len(found)


@pytest.mark.parametrize("scenarios", [1, 3, 5, 10])
@pytest.mark.parametrize(
    ("name", "n"),
    [
        *(("normal", 10), ("shared seed", 10), ("beta", 10), ("likert", 10), ("hard", 10)),
        *(("lognormal", 100), ("hard", 100)),
    ],
)
def test_intervals_cover_as_often_as_promised(name: str, n: int, scenarios: int) -> None:
    runs = 2000
    covered = coverage(*simulated(name, n, scenarios, runs))
    assert covered >= SURELY_COVERED - 3 * sqrt(SURELY_COVERED * (1 - SURELY_COVERED) / runs)
    assert covered <= 0.98, "wider than it needs to be"


def test_students_interval_alone_would_not_do_for_skewed_scores() -> None:
    found, truth = simulated("lognormal", 30, 1)
    plain = 0
    for one in found:
        assert one.mean is not None
        assert one.se is not None
        plain += abs(one.mean - truth) <= t_quantile(0.975, 29) * one.se
    assert plain / len(found) < 0.90
    assert coverage(found, truth) > plain / len(found) + 0.03


def test_means_of_rounds_would_miss_where_a_hard_scenario_lacks_scores() -> None:
    draw, truth = TRUTHS["hard"]
    rng, missed = np.random.default_rng(3), 0
    for _ in range(300):
        interval = summarize(np.nanmean(draw(rng, (100, 5)), axis=1)).interval
        assert interval is not None
        missed += not interval.contains(truth(5))
    assert missed / 300 > 0.8


# --- when it says so ------------------------------------------------------------------------------


def test_few_sessions_of_one_scenario_make_it_approximate() -> None:
    scores = np.random.default_rng(2).normal(50, 6, (30, 3))
    assert abs(own_mean(scores).skewness or 1.0) < MOST_SKEWNESS
    assert not own_mean(scores).approximate
    scores[9:, 0] = nan
    assert own_mean(scores).fewest == 9
    assert own_mean(scores).approximate
    assert own_mean(scores[:9]).approximate


def test_a_long_tail_makes_it_approximate_until_there_are_a_hundred_rounds() -> None:
    scores = np.repeat([[1.0], [2.0], [3.0], [40.0]], [30, 35, 33, 2], axis=0)
    assert abs(own_mean(scores).skewness or 0.0) > MOST_SKEWNESS
    assert not own_mean(scores).approximate
    assert own_mean(scores[1:]).approximate
    assert own_mean(-scores[1:]).approximate


@pytest.mark.parametrize(
    ("name", "n", "least", "most"),
    [
        ("lognormal", 10, 0.7, 0.9),
        ("lognormal", 30, 0.85, 0.97),
        ("lognormal", 100, 0.0, 0.0),
        ("hard", 10, 0.9, 1.0),
        ("normal", 30, 0.0, 0.03),
        ("beta", 30, 0.0, 0.2),
    ],
)
def test_marks_go_to_samples_that_need_them(name: str, n: int, least: float, most: float) -> None:
    found, _ = simulated(name, n, 1, 500)
    assert least <= sum(one.approximate for one in found) / len(found) <= most


# --- scores that are 0 or 1 ----------------------------------------------------------------------


def test_a_rate_near_1_is_bounded_as_closely_as_its_sessions_allow() -> None:
    """32 of 39 pass: Clopper and Pearson's ends of 39 trials are .665 and .925."""
    scores = np.zeros((13, 3))
    scores.ravel()[np.random.default_rng(1).permutation(39)[:32]] = 1.0
    low, high = ends(own_mean(scores))
    assert 0.6 < low < 0.67
    assert 0.92 < high < 0.96
    wider = own_mean(scores, radius=3.0).interval
    assert wider is not None
    assert 0.0 < wider.low < low
    assert high < wider.high < 1.0


def test_independent_yes_no_scores_of_one_scenario_have_clopper_and_pearsons_interval() -> None:
    for passes in (1, 12, 29):
        scores = np.zeros((30, 1))
        scores[:passes] = 1.0
        exact = binomtest(passes, 30).proportion_ci(0.95)
        low, high = ends(own_mean(scores))
        # the variance has n - 1, so that the trials are 29 rather than 30
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=0.01)


@pytest.mark.parametrize(("ones", "scenarios"), [(True, 1), (True, 4), (False, 3)])
def test_scores_that_are_all_alike_have_the_exact_interval_of_their_rounds(
    ones: bool, scenarios: int
) -> None:
    scores = np.full((26, scenarios), float(ones))
    exact = binomtest(26 * ones, 26).proportion_ci(0.95)
    assert ends(own_mean(scores)) == pytest.approx((exact.low, exact.high))
    wider = own_mean(scores, radius=3.0).interval
    assert wider is not None
    assert wider.high - wider.low > exact.high - exact.low
    assert own_mean(scores * 70.0 + 2.0).interval is None, "of no rate"
    assert own_mean(scores[:1]).interval is None, "seen once"


@pytest.mark.parametrize("icc", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("shape", [(10, 4), (30, 1), (30, 5)])
def test_rates_are_covered_as_often_as_promised(
    shape: tuple[int, int], rate: float, icc: float
) -> None:
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(400):
        chances = np.full((shape[0], 1), rate)
        if icc:
            chances = rng.beta(rate * (1 - icc) / icc, (1 - rate) * (1 - icc) / icc, (shape[0], 1))
        scores = (rng.random(shape) < chances).astype(float)
        scores[rng.random(shape) < 0.05] = nan
        found = own_mean(scores).interval
        hits += [] if found is None else [found.contains(rate)]
    assert sum(hits) / len(hits) > SURELY_COVERED
