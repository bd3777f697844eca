"""Pairwise comparisons of all variants: what a verdict is decided from.

`fixed_n_comparisons` is the engine for one look at a finished plan. Engines that look repeatedly
(`matrix.stats.sequential`) return the same `Comparison` values with intervals that allow for it;
the rules of `matrix.stats.ruling` do not change.
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
        p: Two-sided p-value, to be compared with ``level``; ``None`` where the interval is. Of the
            open-ended engine: 1 over the largest e-value so far, right at every look. Of the
            planned engine: always ``None``, as its boundary is another at each look.
        level: Two-sided error rate of this comparison.
        identical: At least two rounds and the same difference in all of them.
        discordant: For a yes/no score, pairs (scenario x round) where the two differ; else
            ``None``.
        failures: Their product failures compared.
        crossed: For engines that look repeatedly: 1 if b's mean was shown to be the higher one at
            this look or an earlier one, -1 for the lower one, 0 for neither. ``None`` for the
            fixed engine, which has only this look.
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
    crossed: int | None = None

    @property
    def enough_discordant(self) -> bool:
        """Whether an exact test of a yes/no score could reach the level; true for other scores."""
        return self.discordant is None or self.discordant >= discordant_needed(self.level)

    @property
    def decidable(self) -> bool:
        """Whether the interval may carry a claim."""
        return self.interval is not None and self.enough_discordant

    @property
    def sign(self) -> int:
        """1 if b's mean is shown to be higher, -1 if lower, 0 if neither."""
        if self.crossed is not None:
            return self.crossed
        if self.interval is None or not self.decidable:
            return 0
        return int(self.interval.low > 0.0) - int(self.interval.high < 0.0)

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
            crossed=None if self.crossed is None else -self.crossed,
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
        rows = table.compared(a, b)
        test = paired_t(table.means[rows, a], table.means[rows, b], level)
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
    scores = table.scores[table.scored]
    return 0 < np.unique(scores[~np.isnan(scores)]).size <= 2


def _count_discordant(table: RoundTable, a: int, b: int) -> int:
    used = table.scores[table.scored & table.both_live(a, b)[:, None]]
    return int(np.count_nonzero(used[:, a] != used[:, b]))
