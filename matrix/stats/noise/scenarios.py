"""What the scenarios that were run say about others like them.

The verdict of a run is about its own scenarios. A claim about new scenarios has the scenario as its
unit: Student's t on the S mean differences, with S - 1 degrees of freedom. More rounds do not help
beyond a point; more scenarios do. With ten scenarios that differ, pooling all sessions names a
winner among equals in 24 % of runs, clustered standard errors in 8 to 10 %, this in 5 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.means import summarize
from matrix.stats.estimates.student import t_two_sided_p
from matrix.stats.rounds.round_table import RoundTable

MIN_SCENARIOS = 5
"""Scenarios below which nothing is claimed about others."""


@dataclass(frozen=True, slots=True)
class NewScenarios:
    """Difference of two variants on scenarios like those that were run.

    Attributes:
        n_scenarios: Scenarios with at least one scored pair, S.
        difference: Mean of their mean differences, each with equal weight; ``None`` without any.
        interval: t interval with S - 1 degrees of freedom; ``None`` below `MIN_SCENARIOS` and where
            all scenarios differ by the same amount.
        df: ``S - 1``, or 0.
        t: Mean over standard error; ``None`` where ``interval`` is.
        p: Two-sided p-value; ``None`` where ``interval`` is.
        by_scenario: Mean difference of each scenario, NaN where it has no scored pair.
    """

    n_scenarios: int
    difference: float | None
    interval: Interval | None
    df: int
    t: float | None
    p: float | None
    by_scenario: tuple[float, ...]

    @property
    def enough(self) -> bool:
        """Whether there are scenarios enough for a claim about others."""
        return self.n_scenarios >= MIN_SCENARIOS


def paired_scores(table: RoundTable) -> npt.NDArray[np.float64]:
    """Scores where every live variant has one, shape [P, S, k]; NaN elsewhere.

    What `matrix.stats.noise_shares` takes, which needs all variants side by side.
    """
    missing = (np.isnan(table.scores) & table.live[:, None, :]).any(axis=2)
    return np.where(np.asarray(missing)[:, :, None], np.nan, table.scores)


def new_scenarios(first: npt.ArrayLike, second: npt.ArrayLike, alpha: float = 0.05) -> NewScenarios:
    """Compare two variants on scenarios like those that were run; refuses below five scenarios.

    Args:
        first: Scores of the first variant by round and scenario, shape [n, S]; NaN where there is
            none. A pair that lacks either score is left out.
        second: Scores of the second, same shape.
        alpha: Two-sided error rate of the interval.

    Returns:
        The difference second minus first; without interval and p below five scenarios.

    Raises:
        ValueError: If shapes differ or a score is infinite.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"scores are [rounds, scenarios] for both; got {a.shape} and {b.shape}")
    if np.isinf(a).any() or np.isinf(b).any():
        raise ValueError("a score is a finite number, or NaN where a session has none")
    scored = ~(np.isnan(a) | np.isnan(b))
    counts = scored.sum(axis=0)
    totals = np.where(scored, b - a, 0.0).sum(axis=0)
    means = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
    known = means[counts > 0]
    scale = float(max(np.abs(x[scored]).max(initial=0.0) for x in (a, b)))
    summary = summarize(known, alpha, scale=scale)
    listed, df = tuple(means.tolist()), max(summary.n - 1, 0)
    if summary.mean is None or summary.se is None or summary.n < MIN_SCENARIOS:
        return NewScenarios(summary.n, summary.mean, None, df, None, None, listed)
    t = summary.mean / summary.se
    p = t_two_sided_p(t, df)
    return NewScenarios(summary.n, summary.mean, summary.interval, df, t, p, listed)
