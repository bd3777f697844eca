"""Leads of runs that stop when they are shown: published figures, and coverage by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from matrix.stats.estimates.means import summarize
from matrix.stats.looks.boundary import Boundary
from matrix.stats.looks.early_stop import AdjustedLead, adjusted_lead

Array = npt.NDArray[np.float64]
TRUE = 0.5
PLANNED, OPEN_ENDED = ("planned", 37), ("open-ended", 57)
"""Engine and rounds with 80 % power for half a standard deviation, in docs/statistics.md."""


@dataclass(frozen=True)
class Stops:
    """Where many runs of one pair end; all but the schedule has shape [runs]."""

    looks: npt.NDArray[np.int64]
    radii: Array
    at: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    mean: Array
    sd: Array
    crossed: npt.NDArray[np.bool_]

    def adjusted(self) -> Array:
        """Estimate and ends of the interval, shape [3, runs]."""
        rows = []
        for run in range(self.at.size):
            found = adjusted_lead(
                self.mean[run],
                self.sd[run],
                looks=self.looks,
                radii=self.radii,
                decided=int(self.at[run]),
                first=int(self.first[run]),
            )
            assert found is not None
            rows.append((found.estimate, found.interval.low, found.interval.high))
        return np.array(rows).T


def moments(values: Array, looks: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Mean and standard deviation of the first rounds, at each look, along the last axis."""
    mean = np.cumsum(values, axis=-1)[..., looks - 1] / looks
    squares = np.cumsum(values * values, axis=-1)[..., looks - 1] - looks * mean * mean
    return np.asarray(mean), np.asarray(np.sqrt(squares / (looks - 1)))


def stops(design: Any, true: float, runs: int, seed: int, *, gated: bool = False) -> Stops:
    """Runs with normal differences of unit spread; those that never cross end with the plan.

    ``gated``: each may decide only from a random look on, that knows nothing of the scores.
    """
    engine, n_rounds = design
    rng = np.random.default_rng(seed)
    values = rng.normal(true, 1.0, (runs, n_rounds))
    n = np.arange(1, n_rounds + 1)
    radii = Boundary(engine, 0.05, n_rounds).radii(n)
    look = np.isfinite(radii)
    looks, radii = n[look], radii[look]
    mean, sd = moments(values, looks)
    side = np.sign(mean) * (np.abs(mean) > radii * sd / np.sqrt(looks))
    first = rng.integers(0, looks.size, runs) if gated else np.zeros(runs, dtype=np.int64)
    # as verdicts decide: shown at some look so far, and still the better one
    shown = [np.maximum.accumulate(side == sign, axis=1) & (sign * mean > 0) for sign in (1, -1)]
    decides = np.logical_or(*shown) & (np.arange(looks.size) >= first[:, None])
    crossed = np.asarray(decides.any(axis=1))
    at = np.where(crossed, decides.argmax(axis=1), looks.size - 1)
    run = np.arange(runs)
    return Stops(looks, radii, at, first, mean[run, at], sd[run, at], crossed)


def coverage(adjusted: Array, true: float) -> float:
    _, low, high = adjusted
    return float(((low <= true) & (true <= high)).mean())


def test_three_looks_give_the_figures_that_rpact_publishes() -> None:
    """Its unit tests: log hazard ratio from z = 2.9 at the third look, 29 events, three decimals.

    So many rounds that t is normal. There the boundary has one side; crossing below before ending
    above is too rare to matter.
    """
    size = 1_000_000
    radii = [2.4878815, 2.4031352, 2.3549063]
    n = 0.6 * size
    found = adjusted_lead(
        2.9 / sqrt(n), 1.0, looks=[0.2 * size, 0.4 * size, n], radii=radii, decided=2
    )
    assert found is not None
    figures = np.array([found.estimate, found.interval.low, found.interval.high])
    hazard = np.exp(2 * figures * sqrt(n) / sqrt(29))
    assert hazard == pytest.approx([2.632639, 1.1294538, 5.6956842], rel=1e-5)


def test_one_look_gives_the_mean_and_its_ordinary_t_interval() -> None:
    values = np.random.default_rng(3).normal(2.0, 5.0, 20)
    ordinary = summarize(values, 0.1)
    assert ordinary.mean is not None
    assert ordinary.sd is not None
    assert ordinary.interval is not None
    found = adjusted_lead(ordinary.mean, ordinary.sd, looks=[20], radii=[2.1], decided=0, alpha=0.1)
    assert found is not None
    assert found.estimate == pytest.approx(ordinary.mean)
    assert found.interval.low == pytest.approx(ordinary.interval.low)
    assert found.interval.high == pytest.approx(ordinary.interval.high)
    assert found.interval.confidence == pytest.approx(0.9)


@pytest.mark.parametrize("design", [PLANNED, OPEN_ENDED])
def test_a_run_that_stops_shows_more_than_there_is(design: Any) -> None:
    stopped = stops(design, TRUE, 40_000, seed=0)
    assert stopped.mean[stopped.crossed].mean() == pytest.approx(0.64, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("design", [PLANNED, OPEN_ENDED])
def test_the_adjusted_lead_is_right_in_the_middle_and_its_interval_covers(design: Any) -> None:
    runs = 1000
    adjusted = stops(design, TRUE, runs, seed=1).adjusted()
    assert np.median(adjusted[0]) == pytest.approx(TRUE, abs=0.03)
    assert (adjusted[0] < TRUE).mean() == pytest.approx(0.5, abs=3 * 0.5 / sqrt(runs))
    assert coverage(adjusted, TRUE) >= 0.93


@pytest.mark.slow
def test_among_runs_that_crossed_a_part_of_the_excess_is_left() -> None:
    """As the docstring says: they are the better part of all runs, which no ordering undoes."""
    stopped = stops(PLANNED, TRUE, 1000, seed=1)
    assert stopped.crossed.mean() == pytest.approx(0.8, abs=0.03)
    assert np.median(stopped.mean[stopped.crossed]) == pytest.approx(0.59, abs=0.025)
    assert np.median(stopped.adjusted()[0][stopped.crossed]) == pytest.approx(0.545, abs=0.02)


@pytest.mark.parametrize("true", [0.0, 0.25, 1.0])
def test_it_covers_whatever_the_difference(true: float) -> None:
    adjusted = stops(PLANNED, true, 600, seed=2).adjusted()
    assert coverage(adjusted, true) >= 0.93
    assert np.median(adjusted[0]) == pytest.approx(true, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("design", [PLANNED, OPEN_ENDED])
def test_a_decision_that_waited_for_something_else_is_covered_too(design: Any) -> None:
    adjusted = stops(design, TRUE, 600, seed=4, gated=True).adjusted()
    assert np.median(adjusted[0]) == pytest.approx(TRUE, abs=0.03)
    assert coverage(adjusted, TRUE) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("use", ["decision", "first crossing"])
def test_a_pair_that_waited_for_another_pair_of_its_leader_is_covered(use: str) -> None:
    """Three variants; both pairs of the leader must cross at one look."""
    runs, n_rounds = 800, 37
    rng = np.random.default_rng(6)
    leader = rng.normal(TRUE, sqrt(0.5), (runs, n_rounds))
    others = rng.normal(0, sqrt(0.5), (2, runs, n_rounds))
    looks = np.arange(10, n_rounds + 1)
    radii = Boundary("planned", 0.05, n_rounds).radii(looks)
    mean, sd = moments(leader - others, looks)
    mine, other = mean > radii * sd / np.sqrt(looks)
    last = looks.size - 1
    ends = [np.where(hit.any(axis=1), hit.argmax(axis=1), last) for hit in (mine & other, mine)]
    at = ends[0] if use == "decision" else ends[1]
    free = np.minimum(np.where(other.any(axis=1), other.argmax(axis=1), last), at)
    first = free if use == "decision" else np.zeros_like(at)
    run = np.arange(runs)
    stopped = Stops(looks, radii, at, first, mean[0][run, at], sd[0][run, at], at < last)
    adjusted = stopped.adjusted()
    assert np.median(adjusted[0]) == pytest.approx(TRUE, abs=0.03)
    assert coverage(adjusted, TRUE) >= 0.93


def reported(
    mean: float = 0.6, sd: float = 1.0, at: int = 12, first: int = 0, engine: Any = "planned"
) -> AdjustedLead:
    looks = np.arange(10, 38)
    radii = Boundary(engine, 0.05, 37).radii(looks)
    found = adjusted_lead(mean, sd, looks=looks, radii=radii, decided=at, first=first)
    assert found is not None
    return found


@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_a_lead_that_crossed_late_shrinks_and_still_excludes_0(engine: Any) -> None:
    found = reported(mean=0.75, at=12, engine=engine)
    assert 0.0 < found.interval.low < found.estimate < 0.75 == found.unadjusted
    assert found.interval.high > found.estimate


def test_the_worse_side_mirrors_and_units_carry_over() -> None:
    up, down, points = reported(0.6), reported(-0.6), reported(6.0, 10.0)
    assert down.estimate == pytest.approx(-up.estimate)
    assert down.interval == up.interval.negated()
    assert points.estimate == pytest.approx(10 * up.estimate)
    assert points.interval.low == pytest.approx(10 * up.interval.low)


def test_looks_that_could_not_end_the_run_take_nothing_away() -> None:
    estimates = [reported(first=first).estimate for first in range(13)]
    assert estimates == sorted(estimates)
    assert estimates[-1] == pytest.approx(0.6)


@pytest.mark.slow
def test_many_looks_are_thinned_and_how_far_hardly_matters() -> None:
    """Of 1,001 looks every third is kept; every fourth would give the same to a per cent."""
    looks = np.arange(10, 1011)
    radii = Boundary("open-ended", 0.05, 1010).radii(looks)
    thinned = adjusted_lead(0.125, 1.0, looks=looks, radii=radii, decided=1000)
    fewer = adjusted_lead(0.125, 1.0, looks=looks[::4], radii=radii[::4], decided=250)
    assert thinned is not None
    assert fewer is not None
    assert thinned.estimate == pytest.approx(fewer.estimate, rel=0.01)


def test_without_spread_nothing_is_said() -> None:
    assert adjusted_lead(3.0, 0.0, looks=[10, 11], radii=[3.0, 2.5], decided=1) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decided": 3}, "of 3 looks"),
        ({"first": 2}, "of 3 looks"),
        ({"first": -1}, "of 3 looks"),
        ({"looks": [10, 10, 12]}, "rise"),
        ({"looks": [1, 10, 12]}, "2 rounds"),
        ({"radii": [3.0, 0.0, 2.0]}, "above 0"),
        ({"radii": [3.0, 2.0]}, "equal length"),
        ({"alpha": 1.0}, "alpha"),
    ],
)
def test_looks_that_cannot_be_are_refused(change: Any, message: str) -> None:
    given = {"looks": [10, 11, 12], "radii": [3.0, 2.5, 2.2], "decided": 1, **change}
    with pytest.raises(ValueError, match=message):
        adjusted_lead(0.9, 1.0, **given)
