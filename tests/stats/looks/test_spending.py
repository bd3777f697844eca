"""Spending an error rate over looks: published boundaries, and that the rate holds."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from matrix.stats import spending_boundary
from matrix.stats.looks.boundary import Boundary
from matrix.stats.looks.spending import MOST_LOOKS
from matrix.stats.rounds.round_table import FloatArray


def planned_radii(level: float, n_planned: int) -> FloatArray:
    """Half-width in standard errors by number of rounds of a plan, without any score missing."""
    return Boundary("planned", level, n_planned).radii(np.arange(n_planned + 1))


def obrien_fleming_spending(alpha: float, share: FloatArray) -> FloatArray:
    """As the published tables spend it: each side ``2 - 2 Phi(z(1 - alpha/4) / sqrt(t))``."""
    return np.asarray(4 * ndtr(-ndtri(1 - alpha / 4) / np.sqrt(share)))


@pytest.mark.parametrize(
    "published",
    [(4.8769, 3.3570, 2.6803, 2.2898, 2.0310), (3.7103, 2.5114, 1.9930)],
    ids=["five-looks", "three-looks"],
)
def test_obrien_fleming_type_boundaries_are_the_published_ones(published: tuple[float]) -> None:
    share = np.arange(1, len(published) + 1) / len(published)
    boundary = spending_boundary(share, obrien_fleming_spending(0.05, share))
    assert boundary == pytest.approx(published, abs=1e-4)


def test_one_look_at_the_end_is_the_ordinary_test() -> None:
    assert spending_boundary([7.0], [0.05]) == pytest.approx([ndtri(0.975)])
    assert planned_radii(0.05, 10)[10] == pytest.approx(stdtrit(9, 0.975))


def test_two_looks_spend_exactly_what_independent_integration_says() -> None:
    first, second = spending_boundary([1.0, 2.0], [0.02, 0.05])
    grid = np.linspace(-first, first, 20_001)
    density = np.exp(-grid * grid / 2) / sqrt(2 * np.pi)
    edge = second * sqrt(2)
    beyond = density * (ndtr(grid - edge) + ndtr(-grid - edge))
    assert 2 * ndtr(-first) == pytest.approx(0.02)
    assert np.trapezoid(beyond, grid) == pytest.approx(0.03, rel=1e-6)


@pytest.mark.parametrize("n_planned", [40, 300, 1200])
def test_sums_without_a_difference_cross_as_often_as_the_plan_allows(n_planned: int) -> None:
    """The normal statistic at the looks; the t of a look has the same p-value."""
    level, runs = 0.05, 8_000
    radii = planned_radii(level, n_planned)
    looks = np.flatnonzero(np.isfinite(radii))
    boundary = -ndtri(stdtr(looks - 1.0, -radii[looks]))
    steps = np.diff(looks, prepend=0)
    rng = np.random.default_rng(n_planned)
    crossed = np.zeros(runs, dtype=np.bool_)
    total = np.zeros(runs)
    for look, step, edge in zip(looks, steps, boundary, strict=True):
        total += sqrt(step) * rng.standard_normal(runs)
        crossed |= np.abs(total) >= edge * sqrt(look)
    assert crossed.mean() == pytest.approx(level, abs=3 * sqrt(level * (1 - level) / runs))


def test_a_plan_is_looked_at_after_every_round_from_the_tenth_to_its_end() -> None:
    assert np.flatnonzero(np.isfinite(planned_radii(0.05, 60))).tolist() == list(range(10, 61))
    assert not np.isfinite(planned_radii(0.05, 9)).any()


def test_a_very_long_plan_is_looked_at_often_enough_and_at_its_end() -> None:
    looks = np.flatnonzero(np.isfinite(planned_radii(0.05, 5003)))
    assert looks[-1] == 5003
    assert looks[0] >= 10
    assert 0.9 * MOST_LOOKS < looks.size <= MOST_LOOKS
    assert np.ptp(np.diff(looks)) == 0


def test_early_looks_ask_for_more_and_the_last_for_little_more_than_one_look_would() -> None:
    radii = planned_radii(0.05, 40)[11:]  # the tenth may spend what ten rounds saved up
    assert (np.diff(radii) < 0).all()
    assert stdtrit(39, 0.975) < radii[-1] < 1.2 * stdtrit(39, 0.975)


def test_a_look_that_spends_nothing_has_no_boundary_and_costs_nothing() -> None:
    boundary = spending_boundary([1.0, 2.0, 3.0], [0.0, 0.0, 0.05])
    assert boundary.tolist() == [np.inf, np.inf, pytest.approx(ndtri(0.975))]


@pytest.mark.parametrize(
    ("information", "spent", "message"),
    [
        ([1.0, 1.0], [0.01, 0.05], "must rise"),
        ([0.0, 1.0], [0.01, 0.05], "must rise"),
        ([1.0, 2.0], [0.05, 0.01], "must not fall"),
        ([1.0, 2.0], [0.05, 1.0], "below 1"),
        ([1.0, 2.0], [0.05], "equal length"),
    ],
)
def test_looks_that_cannot_be_are_refused(information: Any, spent: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spending_boundary(information, spent)
