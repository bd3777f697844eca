"""Builders of round tables from dense arrays, shared by the tests of statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from matrix.stats import OUTCOMES, RoundTable, complete_rounds

TableBuilder = Callable[..., RoundTable]


def long_rows(shape: tuple[int, int, int]) -> tuple[npt.NDArray[np.int64], ...]:
    """Round, scenario and variant index of every cell of a [R, S, k] array, in order."""
    return tuple(index.ravel() for index in np.indices(shape))


def build_table(
    scores: npt.ArrayLike, outcomes: npt.ArrayLike | None = None, planned: int | None = None
) -> RoundTable:
    """A table from scores and outcome names or codes, both shaped [R, S, k]."""
    cube = np.asarray(scores, dtype=np.float64)
    named: npt.NDArray[Any] = (
        np.zeros(cube.shape, dtype=np.int64) if outcomes is None else np.asarray(outcomes)
    )
    rounds, scenarios, variants = long_rows(cube.shape)
    return complete_rounds(
        rounds,
        scenarios,
        variants,
        cube.ravel(),
        np.broadcast_to(named, cube.shape).ravel(),
        n_rounds_planned=planned or cube.shape[0],
        n_scenarios=cube.shape[1],
        n_variants=cube.shape[2],
    )


def build_normal(
    effects: list[float],
    n_rounds: int = 40,
    n_scenarios: int = 3,
    sd: float = 5.0,
    seed: int = 1,
    planned: int | None = None,
    fail: dict[int, int] | None = None,
) -> RoundTable:
    """Normal scores around 40 + effect; ``fail`` makes each variant's first so many rounds fail.

    Failures hit the first scenario only.
    """
    rng = np.random.default_rng(seed)
    shape = (n_rounds, n_scenarios, len(effects))
    scores = 40.0 + rng.normal(0.0, sd, shape) + np.asarray(effects)
    outcomes = np.zeros(shape, dtype=np.int64)
    for variant, rounds in (fail or {}).items():
        outcomes[:rounds, 0, variant] = OUTCOMES.index("failed")
    return build_table(scores, outcomes, planned)


@pytest.fixture(scope="session")
def table_of() -> TableBuilder:
    return build_table


@pytest.fixture(scope="session")
def normal_table() -> TableBuilder:
    return build_normal
