"""The normal distribution and Student's t in plain Python, against tables and against scipy."""

from __future__ import annotations

from math import inf, isnan, nan, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import nctdtr, ndtr, ndtri, stdtr, stdtrit

from matrix.stats.estimates.proportions import mcnemar
from matrix.stats.estimates.student import (
    noncentral_t_cdf,
    normal_cdf,
    normal_quantile,
    t_quantile,
    t_two_sided_p,
)

FREEDOM = st.one_of(
    st.integers(1, 200).map(float), st.floats(0.5, 20.0), st.floats(0.0, 7.0).map(lambda x: 10**x)
)
CHANCES = st.one_of(st.floats(1e-6, 1 - 1e-6), st.floats(-12, -1).map(lambda x: 10**x))

TABLE = [  # Fisher & Yates (1963), Statistical Tables, table III
    (1, 12.706, 63.657, 636.619),
    (2, 4.303, 9.925, 31.598),
    (3, 3.182, 5.841, 12.924),
    (5, 2.571, 4.032, 6.869),
    (9, 2.262, 3.250, 4.781),
    (30, 2.042, 2.750, 3.646),
    (120, 1.980, 2.617, 3.373),
    (inf, 1.960, 2.576, 3.291),
]


@pytest.mark.parametrize(("df", "five", "one", "tenth"), TABLE)
def test_quantiles_are_those_of_fisher_and_yates(
    df: float, five: float, one: float, tenth: float
) -> None:
    for alpha, printed in ((0.05, five), (0.01, one), (0.001, tenth)):
        found = t_quantile(1 - alpha / 2, df)
        assert found == pytest.approx(printed, abs=0.0006 if printed < 30 else 0.002)
        assert t_two_sided_p(found, df) == pytest.approx(alpha, rel=1e-11)


@given(CHANCES, FREEDOM)
def test_quantiles_are_scipys(probability: float, df: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(
        float(stdtrit(df, probability)), rel=1e-9, abs=1e-12
    )


@given(st.floats(-300.0, 300.0), FREEDOM)
def test_p_values_are_scipys(t: float, df: float) -> None:
    expected = 2.0 * float(stdtr(df, -abs(t)))
    assert t_two_sided_p(t, df) == pytest.approx(min(1.0, expected), rel=1e-8, abs=1e-290)


@given(CHANCES, FREEDOM)
def test_a_p_value_leads_back_to_its_quantile(alpha: float, df: float) -> None:
    t = t_quantile(1 - alpha / 2, df)
    assert t_two_sided_p(t, df) == pytest.approx(2 * (1 - (1 - alpha / 2)), rel=1e-9)
    assert t_quantile(alpha / 2, df) == pytest.approx(-t, rel=1e-3)


@given(st.floats(-5.0, 30.0), FREEDOM, st.floats(-5.0, 30.0))
def test_the_noncentral_t_is_scipys_as_far_as_that_goes(t: float, df: float, shift: float) -> None:
    expected = float(nctdtr(df, shift, t))
    if isnan(expected):
        return
    assert noncentral_t_cdf(t, df, shift) == pytest.approx(expected, abs=1e-8)


def test_power_is_that_of_rs_manual() -> None:
    """``power.t.test``: n = 20 and delta = 1 have 0.8689528, and power .90 takes n = 22.02110."""
    for n, power in ((20.0, 0.8689528), (22.02110, 0.9)):
        df, shift = 2 * n - 2, sqrt(n / 2)
        found = 1 - noncentral_t_cdf(t_quantile(0.975, df), df, shift)
        assert found == pytest.approx(power, abs=5e-7)


def test_without_a_shift_it_is_the_central_one() -> None:
    assert noncentral_t_cdf(1.0, 5.0, 0.0) == pytest.approx(1 - t_two_sided_p(1.0, 5.0) / 2)
    assert noncentral_t_cdf(0.0, 5.0, 1.0) == pytest.approx(normal_cdf(-1.0))


@given(st.floats(-37.0, 8.0))
def test_the_normal_distribution_is_scipys(z: float) -> None:
    assert normal_cdf(z) == pytest.approx(float(ndtr(z)), rel=1e-12)
    chance = float(ndtr(z))
    if 0 < chance < 1:
        assert normal_quantile(chance) == pytest.approx(float(ndtri(chance)), rel=1e-9, abs=1e-12)


def test_what_is_no_question_has_no_answer() -> None:
    assert (t_quantile(0.0, 5), t_quantile(1.0, 5)) == (-inf, inf)
    assert (normal_quantile(0.0), normal_quantile(1.0)) == (-inf, inf)
    assert isnan(normal_quantile(nan))
    assert t_quantile(0.5, 5) == 0.0
    assert isnan(t_quantile(0.975, 0.0))
    assert isnan(t_quantile(nan, 5))
    assert isnan(t_two_sided_p(nan, 5))
    assert t_two_sided_p(inf, 5) == 0.0
    assert t_two_sided_p(0.0, 5) == 1.0


@pytest.mark.parametrize("pairs", [301, 10**5, 10**7, 10**9])
def test_a_coin_that_falls_as_often_on_either_side_is_fair_however_often(pairs: int) -> None:
    assert mcnemar(pairs, pairs + 1).p_exact == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(ValueError, match="negative"):
        mcnemar(nan, pairs)  # type: ignore[arg-type]


@given(st.integers(0, 400), st.integers(0, 400))
def test_throws_of_a_coin_are_counted_as_scipy_has_them(b: int, c: int) -> None:
    from scipy.stats import binom

    found, few = mcnemar(b, c), min(b, c)
    if b != c:
        assert found.p_exact == pytest.approx(min(1.0, 2 * binom.cdf(few, b + c, 0.5)), rel=1e-9)
