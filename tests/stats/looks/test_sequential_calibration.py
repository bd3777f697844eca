"""Error rates and power of looking after every round, by seeded simulation of whole verdicts.

A quick form of `benchmarks/calibrate.py`: fewer runs, the same verdict code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from matrix.stats import OUTCOMES, Rules, fixed_n_verdict, verdict_of

Draw = Callable[[np.random.Generator, tuple[int, ...]], npt.NDArray[np.float64]]
SCORES_ALONE = 1.0
"""A failure margin that everyone keeps."""
ALPHA = 0.05


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    return rng.normal(50, 6, shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    return 100 * rng.beta(8, 2, shape)


def ternary(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Differences of -1, 0 and 1: one in five differs, either way alike."""
    first = rng.integers(0, 2, shape[:-1])
    differs = rng.random(shape[:-1]) < 0.2
    return np.stack([first, np.where(differs, 1 - first, first)], axis=-1).astype(float)


def verdicts(
    table_of: Any, scores: npt.NDArray[np.float64], rules: Rules
) -> Counter[tuple[int | None, int | None]]:
    """How often each winner was named after how many rounds."""
    found = (verdict_of(table_of(run), rules) for run in scores)
    return Counter((one.winner, one.decided_at) for one in found)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("draw", [normal, skewed, ternary])
@pytest.mark.parametrize(("engine", "bound"), [("planned", 0.06), ("open-ended", 0.05)])
def test_equal_variants_name_a_winner_at_most_as_often_as_declared(
    table_of: Any, engine: Any, bound: float, draw: Draw
) -> None:
    runs = 1500
    rules = Rules(engine=engine, failure_margin=SCORES_ALONE, score_bounds=None)
    scores = draw(np.random.default_rng(5), (runs, 40, 1, 2))
    named = verdicts(table_of, scores, rules)
    false = sum(times for (winner, _), times in named.items() if winner is not None) / runs
    assert false <= bound + 3 * sqrt(bound * (1 - bound) / runs)
    if engine == "planned":
        assert false >= 0.025, "a plan that is played to its end should use its level up"


@pytest.mark.slow
def test_a_plain_t_test_at_every_look_would_not_do(table_of: Any) -> None:
    """The trap that the boundaries are for: the fixed engine asked again after every round."""
    runs, rules = 100, Rules(failure_margin=SCORES_ALONE, score_bounds=None)
    scores = normal(np.random.default_rng(6), (runs, 40, 1, 2))
    false = sum(
        any(fixed_n_verdict(table_of(run[:n]), rules).winner is not None for n in range(10, 41))
        for run in scores
    )
    assert false / runs > 0.12


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 4])
def test_more_equal_variants_name_a_winner_even_less_often_with_dropping(
    table_of: Any, k: int
) -> None:
    runs = 400
    rules = Rules(engine="planned", failure_margin=SCORES_ALONE, score_bounds=None)
    scores = normal(np.random.default_rng(k), (runs, 30, 1, k))
    false = 0
    for run in scores:
        verdict = verdict_of(table_of(run), rules)
        for one in verdict.beaten[:1]:
            outcomes = np.zeros(run.shape, dtype=np.int64)
            outcomes[one.at + 2 :, :, one.variant] = OUTCOMES.index("dropped")
            verdict = verdict_of(table_of(run, outcomes), rules)
        false += verdict.winner is not None
    bound = ALPHA * k / (2 * (k - 1))
    assert false / runs <= bound + 3 * sqrt(bound * (1 - bound) / runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "n_rounds", "mean_rounds"), [("planned", 37, 25.9), ("open-ended", 57, 35.7)]
)
def test_a_planted_effect_is_found_as_often_and_as_early_as_published(
    table_of: Any, engine: Any, n_rounds: int, mean_rounds: float
) -> None:
    """Half a standard deviation: 80 % power, and the mean number of rounds that it takes."""
    runs = 1200
    rules = Rules(engine=engine, failure_margin=SCORES_ALONE, score_bounds=None)
    rng = np.random.default_rng(9)
    scores = rng.normal(50, 6, (runs, n_rounds, 1, 2)) + np.array([0.0, 0.5 * 6 * sqrt(2)])
    named = verdicts(table_of, scores, rules)
    power = sum(times for (winner, _), times in named.items() if winner == 1) / runs
    rounds = sum((at or n_rounds) * times for (_, at), times in named.items()) / runs
    assert power == pytest.approx(0.80, abs=0.02 + 3 * sqrt(0.8 * 0.2 / runs))
    assert rounds == pytest.approx(mean_rounds, abs=1.2)
    assert sum(times for (winner, _), times in named.items() if winner == 0) / runs < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["planned", "open-ended"])
def test_a_variant_that_fails_beyond_the_margin_rarely_wins(table_of: Any, engine: Any) -> None:
    runs, margin = 400, 0.05
    rng = np.random.default_rng(11)
    shape, rules = (60, 3, 2), Rules(engine=engine, failure_margin=0.05)
    named: Counter[int | None] = Counter()
    for _ in range(runs):
        scores = rng.normal(50, 6, shape) + np.array([0.0, 12.0])
        failed = rng.random(shape) < np.array([0.05, 0.05 + margin])
        outcomes = np.where(failed, "failed", "completed")
        named[verdict_of(table_of(scores, outcomes), rules).winner] += 1
    assert named[0] <= 2, "only where nearly all of the better one's sessions failed"
    assert named[1] / runs <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs)
