"""Error rates and power of whole verdicts, by seeded simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.special import nctdtr, stdtrit

from matrix.stats import Rules, fixed_n_verdict

N_SCENARIOS = 3
SD = 6.0
SD_OF_ROUND_DIFFERENCE = SD * sqrt(2 / N_SCENARIOS)


def winners(
    table_of: Any, effects: list[float], n_rounds: int, runs: int, rules: Rules, seed: int
) -> Counter[int | None]:
    """How often each variant was named winner over simulated runs without failures."""
    rng = np.random.default_rng(seed)
    shape = (n_rounds, N_SCENARIOS, len(effects))
    shared = 8 * rng.normal(size=(runs, n_rounds, 1, 1))
    scores = 50 + shared + SD * rng.normal(size=(runs, *shape)) + np.asarray(effects)
    return Counter(fixed_n_verdict(table_of(run), rules).winner for run in scores)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("k", "runs"), [(2, 2500), (3, 1500), (4, 1000)])
def test_equal_variants_name_a_winner_at_most_as_often_as_declared(
    table_of: Any, k: int, runs: int
) -> None:
    alpha = 0.05
    rules = Rules(alpha=alpha, score_bounds=None, failure_icc=0.0)
    named = winners(table_of, [0.0] * k, n_rounds=20, runs=runs, rules=rules, seed=k)
    false = 1 - named[None] / runs
    assert false <= alpha + 3 * sqrt(alpha * (1 - alpha) / runs)
    if k == 2:
        assert false >= alpha - 3 * sqrt(alpha * (1 - alpha) / runs), "the level should be used up"


@pytest.mark.slow
def test_a_planted_effect_is_found_as_often_as_theory_says(table_of: Any) -> None:
    n, d, runs = 34, 0.5, 1500
    rules = Rules(score_bounds=None)
    named = winners(table_of, [0.0, d * SD_OF_ROUND_DIFFERENCE], n, runs, rules, seed=7)
    power = 1 - float(nctdtr(n - 1, d * sqrt(n), stdtrit(n - 1, 0.975)))
    assert power == pytest.approx(0.80, abs=0.02)
    assert named[1] / runs == pytest.approx(power, abs=3 * sqrt(power * (1 - power) / runs))
    assert named[0] / runs < 0.005


@pytest.mark.slow
def test_a_variant_that_fails_beyond_the_margin_rarely_wins(table_of: Any) -> None:
    runs, margin = 600, 0.05
    rng = np.random.default_rng(11)
    shape = (40, N_SCENARIOS, 2)
    named: Counter[int | None] = Counter()
    for _ in range(runs):
        scores = rng.normal(50, SD, shape) + np.array([0.0, 12.0])
        failed = rng.random(shape) < np.array([0.05, 0.05 + margin])
        table = table_of(scores, np.where(failed, "failed", "completed"))
        named[fixed_n_verdict(table, Rules(failure_margin=margin)).winner] += 1
    assert named[0] == 0
    assert named[1] / runs <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs)


FEW_VALUES = (0.05, 0.02, 0.93)
"""Chances of 0, .5 and 1."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "draw"),
    [
        ((15, 150), "few values"),
        ((30, 300), "few values"),
        ((40, 160), "few values"),
        ((12, 60), "lognormal"),
        ((12, 12), "lognormal"),
        ((15, 150), "beta"),
        ((20, 20), "normal"),
        ((15, 400), "wider"),
        ((15, 400), "narrower"),
    ],
)
def test_unpaired_equal_variants_name_a_winner_at_most_as_often_as_declared(
    table_of: Any, sizes: tuple[int, int], draw: str
) -> None:
    """The table of docs/statistics.md is made of these, with 4,000 runs each."""
    runs, most, (n, m), rng = 800, 0.05, sizes, np.random.default_rng(sum(sizes))
    rules = Rules(failure_margin=1.0, unit="unpaired", score_bounds=None)
    draws: dict[str, Callable[[int, int], Any]] = {
        "few values": lambda size, _: rng.choice([0.0, 0.5, 1.0], size, p=FEW_VALUES),
        "lognormal": lambda size, _: rng.lognormal(0, 1, size),
        "beta": lambda size, _: rng.beta(9, 1, size),
        "normal": lambda size, _: rng.normal(0, 1, size),
        "wider": lambda size, side: rng.normal(0, (3, 1)[side], size),
        "narrower": lambda size, side: rng.normal(0, (1, 3)[side], size),
    }
    of, named = draws[draw], 0
    for _ in range(runs):
        scores = np.full((max(sizes), 1, 2), np.nan)
        scores[:n, 0, 0], scores[:m, 0, 1] = of(n, 0), of(m, 1)
        table = replace(table_of(scores), never=np.isnan(scores))
        named += fixed_n_verdict(table, rules).kind == "winner"
    assert named / runs <= most + 3 * sqrt(most * (1 - most) / runs)
