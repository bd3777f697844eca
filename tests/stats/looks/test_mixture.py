"""Mixture sequences against published values and against their own definition."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.stats import paired_t, t_mixture_log_e, t_mixture_radii

SLEEP_FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
"""Hours of extra sleep under two drugs: Student (1908)."""


def test_radii_are_the_published_ones() -> None:
    assert t_mixture_radii([10, 30, 100, 500], 0.05) == pytest.approx(
        [4.4500, 3.2612, 3.1930, 3.3539], abs=1e-4
    )
    assert t_mixture_radii([10, 30], 0.05, g=1.0) == pytest.approx([3.8698, 3.3466], abs=1e-4)


def test_the_first_finite_radius_is_at_seven_rounds() -> None:
    radii = t_mixture_radii(np.arange(1, 12), 0.05)
    assert np.isfinite(radii).tolist() == [n >= 7 for n in range(1, 12)]


def test_the_usual_scale_is_narrowest_at_thirty_rounds() -> None:
    radius = {g: float(t_mixture_radii(30, 0.05, g=g)) for g in (2.8, 3.1135689, 3.4)}
    assert radius[3.1135689] < min(radius[2.8], radius[3.4])


def test_students_sleep_data_have_the_published_e_value() -> None:
    test = paired_t(SLEEP_SECOND, SLEEP_FIRST)
    assert test.t == pytest.approx(-4.062128, abs=1e-6)
    assert test.t is not None
    assert exp(float(t_mixture_log_e(test.t, 10, g=1.0))) == pytest.approx(25.4751, abs=1e-4)


@given(st.integers(8, 5000), st.sampled_from([0.2, 0.05, 0.01, 0.001]), st.floats(0.5, 10.0))
def test_the_radius_is_where_the_e_value_reaches_one_over_alpha(
    n: int, alpha: float, g: float
) -> None:
    radius = float(t_mixture_radii(n, alpha, g))
    if np.isfinite(radius):
        assert float(t_mixture_log_e(radius, n, g)) == pytest.approx(log(1 / alpha), abs=1e-6)
    else:
        assert float(t_mixture_log_e(1e12, n, g)) < log(1 / alpha) + 1e-6


@pytest.mark.parametrize(("share", "rounds"), [(0.25, 168), (0.5, 42), (1.0, 14)])
def test_rounds_until_the_sequence_fits_a_margin_are_the_published_ones(
    share: float, rounds: int
) -> None:
    n = np.arange(2, 400)
    half = t_mixture_radii(n, 0.05) / np.sqrt(n)
    assert n[(half < share).argmax()] == rounds


def test_once_the_spread_is_known_it_is_the_normal_mixture_of_confseq() -> None:
    """Of a sum with variance 100, at rho 12.60056: log e-value of 10, and bound."""
    n = 10**7
    g = 0.1260056 * n
    assert float(t_mixture_log_e(1.0, n, g)) == pytest.approx(-0.6510052, abs=1e-6)
    assert 10 * float(t_mixture_radii(n, 0.05, g)) == pytest.approx(30.35209, abs=2e-5)
