"""Pairwise comparisons of all variants: what a verdict is decided from.

`fixed_n_comparisons` is the engine for one look at a finished plan. An engine that looks
repeatedly returns the same `Comparison` values with intervals that allow for it; the rules of
`matrix.stats.verdict` do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, log2

import numpy as np

from matrix.stats.failures import FailureContrast, failure_contrast
from matrix.stats.interval import Interval
from matrix.stats.means import paired_t
from matrix.stats.multiplicity import pairwise_level
from matrix.stats.round_table import RoundTable


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two variants over the same rounds; every difference is b minus a.

    Attributes:
        a: Index of the first variant.
        b: Index of the second variant.
        n: Rounds compared.
        difference: Mean over rounds, in units of the score; ``None`` without rounds.
        interval: Interval for it at ``1 - level``; ``None`` below two rounds or without spread.
        p: Two-sided p-value, to be compared with ``level``; ``None`` where the interval is.
        level: Two-sided error rate of this comparison.
        identical: At least two rounds and the same difference in all of them.
        discordant: For a yes/no score, pairs (scenario x round) where the two differ; else
            ``None``.
        failures: Their product failures compared.
    """

    a: int
    b: int
    n: int
    difference: float | None
    interval: Interval | None
    p: float | None
    level: float
    identical: bool
    discordant: int | None
    failures: FailureContrast

    @property
    def enough_discordant(self) -> bool:
        """Whether an exact test of a yes/no score could reach the level; true for other scores."""
        return self.discordant is None or self.discordant >= discordant_needed(self.level)

    @property
    def decidable(self) -> bool:
        """Whether the interval may carry a claim."""
        return self.interval is not None and self.enough_discordant

    def reversed(self) -> Comparison:
        """The same comparison with a and b exchanged."""
        return Comparison(
            a=self.b,
            b=self.a,
            n=self.n,
            # 0.0 - x rather than -x: an exact zero stays 0.0, never -0.0.
            difference=None if self.difference is None else 0.0 - self.difference,
            interval=self.interval.negated() if self.interval else None,
            p=self.p,
            level=self.level,
            identical=self.identical,
            discordant=self.discordant,
            failures=self.failures.reversed(),
        )


def fixed_n_comparisons(table: RoundTable, alpha: float) -> tuple[Comparison, ...]:
    """Compare all pairs of variants by paired t on round means, each at ``alpha / (k - 1)``.

    Valid for one look, after a number of rounds that the scores had no part in choosing.

    Args:
        table: Complete prefix of rounds for k >= 2 variants.
        alpha: Error rate over all comparisons; also that of each one-sided failure bound.

    Returns:
        Comparisons (0, 1), (0, 2), ..., (k-2, k-1).
    """
    level = pairwise_level(alpha, table.n_variants)
    binary = _is_binary(table)

    def compare(a: int, b: int) -> Comparison:
        test = paired_t(table.means[:, a], table.means[:, b], level)
        return Comparison(
            a=a,
            b=b,
            n=test.difference.n,
            difference=test.difference.mean,
            interval=test.difference.interval,
            p=test.p,
            level=level,
            identical=test.difference.identical,
            discordant=_count_discordant(table, a, b) if binary else None,
            failures=failure_contrast(table, a, b, alpha),
        )

    return tuple(compare(a, b) for a, b in combinations(range(table.n_variants), 2))


def discordant_needed(level: float) -> int:
    """Fewest differing yes/no pairs at which an exact two-sided p can reach ``level``: 6 for .05.

    All m pairs pointing one way have p = 2 / 2**m.
    """
    return ceil(1 + log2(1 / level))


def _is_binary(table: RoundTable) -> bool:
    return 0 < np.unique(table.scores[table.scored]).size <= 2


def _count_discordant(table: RoundTable, a: int, b: int) -> int:
    used = table.scores[table.scored]
    return int(np.count_nonzero(used[:, a] != used[:, b]))
