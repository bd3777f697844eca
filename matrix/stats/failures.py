"""Failures beside scores: a better score on fewer finished sessions is not yet better.

Scoring a crash as 0 would break t intervals (a 5 % crash mix errs 20 % of the time at n = 10), so
failures are compared as rates of their own, and the scores that failures hide are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log

import numpy as np

from matrix.stats.betting import log_gate_capital
from matrix.stats.interval import Interval
from matrix.stats.proportions import mcnemar, newcombe_paired
from matrix.stats.round_table import FloatArray, RoundTable

MOST_ROUNDS_AHEAD = 100_000
"""Projections beyond this many further rounds are reported as none."""


@dataclass(frozen=True, slots=True)
class FailureContrast:
    """Product failures of two variants, a and b, on the same pairs (scenario x round).

    Pairs are taken as independent given their scenario; seeds shared across the scenarios of a
    round may correlate them, which is not modelled.

    Attributes:
        both: Pairs where both failed.
        only_a: Pairs where only a failed.
        only_b: Pairs where only b failed.
        neither: Pairs where neither failed.
        interval: Newcombe's paired interval for rate of b minus rate of a, at 1 - 2 alpha, so that
            each end is a one-sided bound at alpha; ``None`` without pairs.
        p_mid: McNemar's two-sided mid-p for equal rates.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    interval: Interval | None
    p_mid: float

    @property
    def pairs(self) -> int:
        """Pairs compared."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def difference(self) -> float | None:
        """Failure rate of b minus that of a, as a fraction; ``None`` without pairs."""
        return (self.only_b - self.only_a) / self.pairs if self.pairs else None

    def reversed(self) -> FailureContrast:
        """The same contrast with a and b exchanged."""
        turned = self.interval.negated() if self.interval else None
        return FailureContrast(
            self.both, self.only_b, self.only_a, self.neither, turned, self.p_mid
        )

    def b_non_inferior(self, margin: float) -> bool:
        """Whether b is shown to fail at most ``margin`` (a fraction) more often than a.

        With no failure on either side this takes 52 pairs for 5 points at alpha = .05. The bound
        is approximate: for b truly failing 5 points more often it errs .02 to .07 with 52 to 150
        pairs, nearest .05 away from zero failures.
        """
        return self.interval is not None and self.interval.high < margin

    def rounds_to_pass(self, n_rounds: int, margin: float) -> int | None:
        """Further rounds until b passes, if all four kinds of pairs go on at today's rates.

        Returns:
            0 if b passes now; ``None`` if it fails too often for any number to be likely to help.
        """
        if self.b_non_inferior(margin):
            return 0
        if self.interval is None or n_rounds < 1:
            return None
        low, high = 0, MOST_ROUNDS_AHEAD
        if not self._would_pass(1.0 + high / n_rounds, margin):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            passes = self._would_pass(1.0 + middle / n_rounds, margin)
            low, high = (low, middle) if passes else (middle, high)
        return high

    def _would_pass(self, growth: float, margin: float) -> bool:
        """Whether b would pass with so many times as many pairs of each kind."""
        counts = (self.both, self.only_b, self.only_a, self.neither)
        a, b, c, d = (count * growth for count in counts)
        projected = newcombe_paired(a, b, c, d, self._two_sided_level)
        return projected is not None and projected.high < margin

    @property
    def _two_sided_level(self) -> float:
        return 1.0 - self.interval.confidence if self.interval else 1.0


@dataclass(frozen=True, slots=True)
class SequentialFailures(FailureContrast):
    """The same, looked at after every round: the interval is the one that a bet leaves.

    Attributes:
        margin: The declared failure margin, as a fraction: the only one that the gate knows.
        alpha: One-sided error rate of each gate, over all looks together.
        a_passed: Whether a was shown, at this look or an earlier one, to fail at most ``margin``
            more often than b.
        b_passed: The same of b against a.
    """

    margin: float
    alpha: float
    a_passed: bool
    b_passed: bool

    def reversed(self) -> SequentialFailures:
        """The same contrast with a and b exchanged."""
        return replace(
            self,
            only_a=self.only_b,
            only_b=self.only_a,
            interval=self.interval.negated() if self.interval else None,
            a_passed=self.b_passed,
            b_passed=self.a_passed,
        )

    def b_non_inferior(self, margin: float) -> bool:
        """Whether b was shown to fail at most ``margin`` more often, at this look or earlier.

        With no failure on either side this takes 79 pairs for 5 points at alpha = .05, and 39 for
        10: more than the one look of a fixed plan, for the right to look at any time.

        Raises:
            ValueError: If ``margin`` is not the declared one.
        """
        if margin != self.margin:
            raise ValueError(f"the gate was kept for a margin of {self.margin}; asked for {margin}")
        return self.b_passed

    def _would_pass(self, growth: float, margin: float) -> bool:
        rest = (self.both + self.neither) * growth
        capital = log_gate_capital(self.only_a * growth, self.only_b * growth, rest, margin)
        return float(capital) >= log(1.0 / self.alpha)


def failure_contrast(table: RoundTable, a: int, b: int, alpha: float) -> FailureContrast:
    """Compare the failures of ``a`` and ``b`` on all their pairs that did not error.

    Args:
        table: Complete prefix of rounds.
        a: Index of the first variant.
        b: Index of the second variant.
        alpha: One-sided error rate of each end of the interval, below 0.5.
    """
    kept = ~table.errored & table.both_live(a, b)[:, None]
    of_a, of_b = table.failed[:, :, a][kept], table.failed[:, :, b][kept]
    both, only_a, only_b = (
        int(np.count_nonzero(cells)) for cells in (of_a & of_b, of_a & ~of_b, of_b & ~of_a)
    )
    neither = int(kept.sum()) - both - only_a - only_b
    interval = newcombe_paired(both, only_b, only_a, neither, 2 * alpha)
    p_mid = mcnemar(only_a, only_b).p_mid
    return FailureContrast(both, only_a, only_b, neither, interval, p_mid)


def score_loss(table: RoundTable, a: int, b: int) -> float:
    """Share of pairs of two live variants missing from the score means, whatever the reason."""
    scored = table.scored[table.both_live(a, b)]
    return 1.0 - float(scored.mean()) if scored.size else 0.0


def manski_bounds(
    table: RoundTable, a: int, b: int, score_bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """Least and greatest mean difference, b minus a, that the missing scores leave possible.

    Every session of the prefix without a score, whatever the reason, is given the worst and the
    best possible one, in the rounds where both variants are live.
    Source: Manski (1990), Am Econ Rev 80:319.

    Args:
        table: Complete prefix of rounds.
        a: Index of the first variant.
        b: Index of the second variant.
        score_bounds: Least and greatest possible score; ``None`` for an unbounded score, whose
            difference is unbounded as soon as one score is missing.
    """
    lowest, highest = score_bounds or (-inf, inf)
    both = table.both_live(a, b)
    if not both.any():
        return lowest - highest, highest - lowest
    of_a, of_b = table.scores[both, :, a], table.scores[both, :, b]

    def mean(scores: FloatArray, fill: float) -> float:
        return float(np.where(np.isnan(scores), fill, scores).mean())

    return mean(of_b, lowest) - mean(of_a, highest), mean(of_b, highest) - mean(of_a, lowest)


def check_score_bounds(table: RoundTable, score_bounds: tuple[float, float] | None) -> None:
    """Raise ``ValueError`` if a recorded score lies outside the declared bounds."""
    recorded = table.scores[~np.isnan(table.scores)]
    if score_bounds is None or recorded.size == 0:
        return
    lowest, highest = float(recorded.min()), float(recorded.max())
    if lowest < score_bounds[0] or highest > score_bounds[1]:
        raise ValueError(
            f"scores go from {lowest:g} to {highest:g}, outside the declared bounds "
            f"{score_bounds}; declare the true ones, or None for an unbounded score"
        )
