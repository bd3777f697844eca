"""What shipping now would risk: the closed form for two, calibration, and what is missing."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import stdtr

from matrix.stats.verdicts.decision import DecisionAid, decision_aid

Table = npt.NDArray[np.float64]


def aid(means: npt.ArrayLike, *, draws: int = 20_000, **options: Any) -> DecisionAid:
    found = decision_aid(means, np.random.default_rng(0), draws=draws, **options)
    assert found is not None
    return found


def rounds(k: int, n: int = 20, seed: int = 1, lead: float = 0.0) -> Table:
    """Scores around 50 with a spread of 6 and a part per round; the last variant leads."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(50, 6, (n, k)) + rng.normal(0, 10, (n, 1))
    drawn[:, -1] += lead
    return np.asarray(drawn)


def levelled(means: Table) -> Table:
    """The same with all variants equal on average, differing from round to round as before."""
    return np.asarray(means - means.mean(axis=0) + means.mean())


def expected_shortfall(centre: float, scale: float, df: float) -> float:
    """Mean of max(X, 0) of a t variable, by summing its upper tail."""
    grid = np.linspace(0.0, centre + 400 * scale, 400_001)
    return float(np.trapezoid(stdtr(df, (centre - grid) / scale), grid))


def test_two_variants_have_the_conjugate_posterior_of_the_docstring() -> None:
    means = rounds(2, n=12, lead=2.0)
    difference = means[:, 1] - means[:, 0]
    n, seen, s = 12, difference.mean(), difference.std(ddof=1)
    centre, scale = n / (n + 1) * seen, sqrt((s**2 + seen**2 / (n + 1)) / (n + 1))
    found = aid(means, draws=200_000)
    assert found.chance_best[1] == pytest.approx(stdtr(n, centre / scale), abs=0.003)
    losses = [expected_shortfall(sign * centre, scale, n) for sign in (1, -1)]
    assert found.expected_loss == pytest.approx(losses, rel=0.03)
    assert found.prior_sd == pytest.approx(s)
    assert found.rounds == n


@pytest.mark.parametrize("k", [2, 3, 8])
def test_equal_variants_are_each_best_with_about_one_chance_in_k(k: int) -> None:
    found = aid(levelled(rounds(k, n=200)))
    assert found.chance_best == pytest.approx([1 / k] * k, abs=0.25 / k)
    assert sum(one or 0.0 for one in found.chance_best) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "missing"), [(2, 0.0), (4, 0.0), (4, 0.15)])
def test_what_is_claimed_comes_true_under_the_prior(k: int, missing: float) -> None:
    """Means drawn from the prior: chances and losses are right on average, for the best and all."""
    rng, times = np.random.default_rng(k), 400
    chance, right, claimed, lost = (np.zeros(times) for _ in range(4))
    for run in range(times):
        root = 6 * (np.eye(k) + rng.normal(0, 0.5, (k, k)))
        truth = root @ rng.standard_normal(k)
        means = truth + rng.standard_normal((15, k)) @ root.T + rng.normal(0, 10, (15, 1))
        means[rng.random(means.shape) < missing] = np.nan
        found = decision_aid(means, rng, draws=1000)
        assert found is not None
        chances = np.array(found.chance_best, dtype=np.float64)
        chance[run], right[run] = chances.max(), truth.argmax() == chances.argmax()
        claimed[run] = np.array(found.expected_loss, dtype=np.float64).mean()
        lost[run] = truth.max() - truth.mean()
    assert chance.mean() == pytest.approx(right.mean(), abs=3 * right.std() / sqrt(times))
    off = claimed - lost
    assert off.mean() == pytest.approx(0.0, abs=3 * off.std() / sqrt(times))
    sure = chance > 0.9
    error = sqrt(0.03 * 0.97 / sure.sum())
    assert chance[sure].mean() == pytest.approx(right[sure].mean(), abs=3 * error)


def test_a_lower_score_can_be_the_better_one() -> None:
    means = rounds(3, lead=3.0)
    up, down = aid(means), aid(-means, higher_is_better=False)
    assert down == up


def test_what_a_round_does_to_all_variants_changes_nothing() -> None:
    means = rounds(3)
    shifted = means + np.random.default_rng(5).normal(0, 1000, (20, 1))
    assert aid(shifted).expected_loss == pytest.approx(aid(means).expected_loss)


def test_the_order_of_variants_does_not_matter() -> None:
    means = rounds(3, lead=2.0)
    found, turned = aid(means, draws=200_000), aid(means[:, ::-1], draws=200_000)
    assert turned.chance_best[::-1] == pytest.approx(found.chance_best, abs=0.006)


def test_few_rounds_say_less_than_many_with_the_same_lead_and_spread() -> None:
    few = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
    chances = [aid(np.tile(few, (times, 1))).chance_best[1] or 0.0 for times in (1, 3, 20)]
    assert 0.5 < chances[0] < chances[1] < chances[2]


def test_variants_that_never_differ_share_their_chance_beside_one_that_does() -> None:
    means = rounds(3)
    means[:, 1] = means[:, 0]
    found = aid(means)
    assert found.chance_best[0] == pytest.approx(found.chance_best[1], abs=0.02)


def test_more_variants_than_rounds_still_have_a_posterior() -> None:
    found = aid(rounds(8, n=3))
    assert sum(one or 0.0 for one in found.chance_best) == pytest.approx(1.0)
    assert max(one or 0.0 for one in found.chance_best) < 0.9


def test_a_variant_that_was_dropped_early_is_compared_by_the_rounds_it_shares() -> None:
    means = rounds(3, n=40, lead=4.0)
    means[:, 0] -= 12.0
    whole = aid(means)
    means[12:, 0] = np.nan
    found = aid(means)
    assert found.rounds == 12
    assert found.chance_best[0] == pytest.approx(0.0, abs=0.01)
    assert found.chance_best[2] == pytest.approx(whole.chance_best[2], abs=0.02)
    assert found.expected_loss[0] == pytest.approx(whole.expected_loss[0], rel=0.25)


def test_a_variant_without_rounds_is_left_out_and_changes_nothing() -> None:
    means = rounds(2)
    alone = aid(means)
    beside = aid(np.column_stack([means[:, 0], np.full(20, np.nan), means[:, 1]]))
    assert beside.chance_best == (alone.chance_best[0], None, alone.chance_best[1])
    assert beside.expected_loss == (alone.expected_loss[0], None, alone.expected_loss[1])


@pytest.mark.parametrize(
    "means",
    [
        np.empty((0, 2)),
        np.empty((5, 0)),
        [[1.0, 2.0]],
        rounds(1),
        [[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]],
        [[1.0, 1.0], [4.0, 4.0], [2.0, 2.0]],
        [[0.1, 0.4], [0.7, 1.0], [0.3, 0.6]],
    ],
    ids=["nothing", "nobody", "one-round", "alone", "one-in-common", "identical", "constant-lead"],
)
def test_where_nothing_can_be_said_nothing_is(means: Any) -> None:
    assert decision_aid(means, np.random.default_rng(0)) is None


def test_the_same_seed_gives_the_same_figures_and_costs_are_carried_along() -> None:
    means = rounds(2)
    found = aid(means, cost=[0.02, None])
    assert found == aid(means, cost=[0.02, None])
    assert found.cost == (0.02, None)
    assert aid(means).cost == (None, None)


@pytest.mark.parametrize(
    ("means", "options", "message"),
    [
        ([1.0, 2.0], {}, "shape"),
        ([[1.0, np.inf]], {}, "finite"),
        ([[1.0, 2.0]], {"cost": [1.0]}, "one per variant"),
        ([[1.0, 2.0]], {"draws": 0}, "at least one draw"),
    ],
)
def test_what_makes_no_sense_is_refused(means: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decision_aid(means, np.random.default_rng(0), **options)
