"""Plans for rates of two samples: by enumeration of all counts, with the verdict's own rule."""

from __future__ import annotations

from math import comb, sqrt

import pytest

from matrix.stats import PowerGoal, rounds_to_win
from matrix.stats.estimates.unpaired_rates import Count, unpaired_rates
from matrix.stats.planning.yes_no_samples import MOST_SCORES, YesNoSamples

RATES = [(0.95, 0.65), (1.0, 0.7), (0.98, 0.8), (0.7, 0.4), (0.55, 0.45)]


def spread(winner: float, loser: float) -> float:
    return sqrt(winner * (1 - winner) + loser * (1 - loser))


def chance(n: int, count: int, rate: float) -> float:
    return comb(n, count) * rate**count * (1 - rate) ** (n - count)


def enumerated(n: int, winner: float, loser: float, rivals: int = 1) -> float:
    """Chance that the verdict's interval of all pairs lies above 0, from every two counts."""
    total = 0.0
    for own in range(n + 1):
        beaten = 0.0
        for other in range(own):
            found = unpaired_rates([Count(other, n)], [Count(own, n)])
            if found.interval is not None and found.interval.low > 0.0:
                beaten += chance(n, other, loser)
        total += chance(n, own, winner) * beaten**rivals
    return total


@pytest.mark.parametrize(("winner", "loser"), RATES)
@pytest.mark.parametrize(("n", "variants"), [(10, 2), (24, 2), (31, 3)])
def test_a_chance_is_that_of_the_verdicts_rule(
    winner: float, loser: float, n: int, variants: int
) -> None:
    goal = PowerGoal(n_variants=variants)
    found = YesNoSamples().chance(n, winner - loser, spread(winner, loser), goal)
    assert found == pytest.approx(enumerated(n, winner, loser, variants - 1), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("winner", "loser"), RATES)
def test_what_a_plan_promises_the_verdict_reaches(winner: float, loser: float) -> None:
    need = rounds_to_win(
        PowerGoal(), 1.0, 1, winner - loser, spread(winner, loser), yes_no=1.0, paired=False
    )
    assert need.scores is not None
    n = min(need.scores, 90)
    assert enumerated(n, winner, loser) >= (0.8 if n == need.scores else 0.0)
    assert n < 11 or n < need.scores or enumerated(n - 1, winner, loser) < 0.8


def test_rows_without_a_score_show_nothing() -> None:
    goal, sd = PowerGoal(), spread(0.9, 0.5)
    whole = YesNoSamples().chance(20, 0.4, sd, goal)
    assert YesNoSamples(missing=0.5).chance(40, 0.4, sd, goal) == pytest.approx(whole)
    assert YesNoSamples(missing=0.6).chance(20, 0.4, sd, goal) == 0.0
    assert YesNoSamples(opens=21).chance(20, 0.4, sd, goal) == 0.0


def test_values_that_lie_further_apart_are_the_same_question() -> None:
    goal, sd = PowerGoal(), spread(0.9, 0.5)
    found = YesNoSamples(apart=100.0).chance(30, 40.0, 100.0 * sd, goal)
    assert found == pytest.approx(YesNoSamples().chance(30, 0.4, sd, goal))


def test_many_rows_go_by_the_noncentral_t_and_hardly_jump() -> None:
    goal, sd = PowerGoal(), spread(0.6, 0.52)
    exact = YesNoSamples().chance(MOST_SCORES, 0.08, sd, goal)
    assert YesNoSamples().chance(MOST_SCORES + 1, 0.08, sd, goal) == pytest.approx(exact, abs=0.02)
