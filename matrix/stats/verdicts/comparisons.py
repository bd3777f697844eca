"""Pairwise comparisons of all variants: what a verdict is decided from.

`fixed_n_comparisons` is the engine for one look at a finished plan. Engines that look repeatedly
(`matrix.stats.verdicts.sequential`) return the same `Comparison` values with intervals that allow
for it; the rules of `matrix.stats.verdicts.ruling` do not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, inf, isnan

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.means import alike_half_width, alike_log_p
from matrix.stats.estimates.proportions import discordant_needed, mcnemar, newcombe_paired
from matrix.stats.looks.failures import FailureContrast, failure_contrast, unpaired_failures
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.rounds.rules import Rules
from matrix.stats.verdicts.one_look import MeanDifference, difference_once


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two variants over the same rounds; every difference is b minus a.

    Attributes:
        a: Index of the first variant.
        b: Index of the second variant.
        n: Rounds compared.
        pairs: Scored pairs in them.
        errored: Pairs of both variants lost to infrastructure.
        unscored: Further pairs in which one of them has no score.
        difference: Mean over rounds, in units of the score; ``None`` without rounds.
        se: Its standard error; 0 without spread, ``None`` where it is not known.
        interval: Interval for it at ``1 - level``; ``None`` below two rounds, or without spread
            in scores that have no bounds.
        p: Two-sided p-value, to be compared with ``level``; ``None`` where the interval is. Of the
            open-ended engine: 1 over the largest e-value so far, right at every look. Of the
            planned engine: always ``None``, as its boundary is another at each look.
        level: Two-sided error rate of this comparison.
        enough: Whether there are as many observations as any claim needs.
        identical: At least two rounds and the same difference in all of them.
        discordant: For a yes/no score, pairs (scenario x round) where the two differ; else, and
            where nothing pairs the sessions, ``None``.
        failures: Their product failures compared.
        crossed: For engines that look repeatedly: 1 if b's mean was shown to be the higher one at
            this look or an earlier one, -1 for the lower one, 0 for neither. ``None`` for the
            fixed engine, which has only this look.
        sizes: Scores of a and of b where nothing pairs them; then ``n`` is the lesser. ``None`` of
            pairs.
    """

    a: int
    b: int
    n: int
    pairs: int
    errored: int
    unscored: int
    difference: float | None
    se: float | None
    interval: Interval | None
    p: float | None
    level: float
    enough: bool
    identical: bool
    discordant: int | None
    failures: FailureContrast
    crossed: int | None = None
    sizes: tuple[int, int] | None = None

    @property
    def enough_discordant(self) -> bool:
        """Whether an exact test of a yes/no score could reach the level; true for other scores."""
        return self.discordant is None or self.discordant >= discordant_needed(self.level)

    @property
    def decidable(self) -> bool:
        """Whether the interval may carry a claim."""
        return self.interval is not None and self.enough and self.enough_discordant

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
        return replace(
            self,
            a=self.b,
            b=self.a,
            # 0.0 - x rather than -x: an exact zero stays 0.0, never -0.0.
            difference=None if self.difference is None else 0.0 - self.difference,
            interval=self.interval.negated() if self.interval else None,
            failures=self.failures.reversed(),
            crossed=None if self.crossed is None else -self.crossed,
            sizes=None if self.sizes is None else self.sizes[::-1],
        )


def fixed_n_comparisons(table: RoundTable, rules: Rules, level: float) -> tuple[Comparison, ...]:
    """Compare all pairs of variants by t on their differences, each at ``level``.

    Valid for one look, after a number of rounds that the scores had no part in choosing.

    Args:
        table: Complete prefix of rounds for k >= 2 variants.
        rules: What was declared before launch.
        level: Two-sided error rate of each comparison.

    Returns:
        Comparisons (0, 1), (0, 2), ..., (k-2, k-1).
    """
    binary, bounds = _is_binary(table), rules.score_bounds
    unpaired = rules.unit == "unpaired"

    def compare(a: int, b: int) -> Comparison:
        return _compared(
            difference_once(table, a, b, level, rules.unit),
            table,
            (a, b),
            level,
            failures=failures_of_pair(table, a, b, rules),
            # of samples that share nothing no two sessions are a pair, however they lie
            discordant=_count_discordant(table, a, b) if binary and not unpaired else None,
            span=inf if bounds is None else bounds[1] - bounds[0],
        )

    return tuple(compare(a, b) for a, b in combinations(range(table.n_variants), 2))


def failures_of_pair(table: RoundTable, a: int, b: int, rules: Rules) -> FailureContrast:
    """The failures of two variants, by one look, as the rules have them."""
    if rules.unit == "unpaired":
        return unpaired_failures(table, a, b, rules.alpha, rules.failure_icc)
    per_effective = rules.pairs_per_effective(table.pairs_per_round)
    return failure_contrast(table, a, b, rules.alpha, per_effective)


def _compared(
    found: MeanDifference,
    table: RoundTable,
    pair: tuple[int, int],
    level: float,
    *,
    failures: FailureContrast,
    discordant: int | None,
    span: float,
) -> Comparison:
    """The one look at all of a table; without any spread, by what is known of the scores."""
    a, b = pair
    mean, interval, p = found.mean, found.interval, found.p
    if interval is None and mean and discordant:
        interval, p = paired_rates(table, pair, level, failures.per_effective)
    if interval is None and mean and found.se == 0.0 and span < inf:
        half = float(alike_half_width(mean, found.n, span, level))
        interval = Interval(max(mean - half, -span), min(mean + half, span), 1.0 - level)
        p = exp(float(alike_log_p(mean, found.n, span)))
    errored, unscored = lost_pairs(table, a, b)
    return Comparison(
        a=a,
        b=b,
        n=found.n,
        pairs=found.pairs,
        errored=errored,
        unscored=unscored if found.sizes is None else _without_score(table, a, b),
        difference=mean,
        se=found.se,
        interval=interval,
        p=p,
        level=level,
        enough=found.enough,
        identical=found.identical,
        discordant=discordant,
        failures=failures,
        sizes=found.sizes,
    )


def paired_rates(
    table: RoundTable, pair: tuple[int, int], level: float, worth: float
) -> tuple[Interval | None, float | None]:
    """Interval of b's rate minus a's and its p, for scores that are 0 or 1; nothing for others.

    They leave a t test little to go by, or nothing where all rounds came out alike: Newcombe's
    paired interval and McNemar's mid-p, of as many pairs as those of a round are worth.

    Args:
        table: Complete prefix of rounds.
        pair: Indices of a and b.
        level: Two-sided error rate.
        worth: Pairs of a round that are worth one independent pair.
    """
    scored = table.scored(*pair)
    if not np.isin(table.scores[:, :, list(pair)][scored], (0.0, 1.0)).all():
        return None, None
    ones_a, ones_b = (table.scores[:, :, one] == 1.0 for one in pair)
    cells = (ones_b & ones_a, ones_b & ~ones_a, ~ones_b & ones_a, ~ones_b & ~ones_a)
    both, only_b, only_a, neither = (
        float(table.shares(one, scored).sum()) / worth for one in cells
    )
    p_mid = mcnemar(int(only_a), int(only_b)).p_mid
    return newcombe_paired(both, only_b, only_a, neither, level), p_mid


def known(se: float) -> float | None:
    """A standard error, if it is one."""
    return None if isnan(se) else se


def lost_pairs(table: RoundTable, a: int, b: int) -> tuple[int, int]:
    """Pairs of both variants lost to infrastructure, and further ones without both scores."""
    live = np.repeat(table.both_live(a, b)[:, None], table.n_scenarios, axis=1)
    at_risk = table.at_risk(a, b)
    lost = live & ~at_risk
    if table.never is not None:
        lost &= ~(table.never[:, :, a] & table.never[:, :, b])
    return int(lost.sum()), int((at_risk & ~table.scored(a, b)).sum())


def _without_score(table: RoundTable, a: int, b: int) -> int:
    """Sessions of two samples that did not error and have no score."""
    return int(table.unscored[[a, b]].sum())


def _is_binary(table: RoundTable) -> bool:
    return 0 < np.unique(table.scores[~np.isnan(table.scores)]).size <= 2


def _count_discordant(table: RoundTable, a: int, b: int) -> int:
    return int(discordant_pairs(table, a, b).sum())


def discordant_pairs(table: RoundTable, a: int, b: int) -> npt.NDArray[np.int64]:
    """Pairs of each round whose scores of two values differ, of repeats on average; shape [P]."""
    scored, of_a, of_b = table.scored(a, b), table.scores[:, :, a], table.scores[:, :, b]
    differ = table.shares(of_a > of_b, scored) != table.shares(of_a < of_b, scored)
    return np.asarray(differ.sum(axis=1), dtype=np.int64)
