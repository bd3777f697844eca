"""Failures beside scores: a better score on fewer finished sessions is not yet better.

Scoring a crash as 0 would break t intervals (a 5 % crash mix errs 20 % of the time at n = 10), so
failures are compared as rates of their own; what the scores that they hide could change is in
`matrix.stats.verdicts.sensitivity`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.proportions import mcnemar, newcombe_paired
from matrix.stats.estimates.unpaired_rates import Count, fisher_mid_p, newcombe_unpaired
from matrix.stats.looks.betting import log_gate_capital
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.rounds.rules import Rules, design_effect

MOST_ROUNDS_AHEAD = 100_000
"""Projections beyond this many further rounds are reported as none."""


NONE = Count(0, 0)
"""Of no sessions."""


@dataclass(frozen=True, slots=True)
class FailureContrast:
    """Product failures of two variants, a and b, on the same pairs (scenario x round).

    The seed that the scenarios of a round share, or an outage, may make its failures go together:
    counts are then worth fewer independent pairs, and are divided by ``per_effective``. A pair that
    was repeated counts once, as the shares of its repeats: then counts may have fractions.

    Attributes:
        both: Pairs where both failed.
        only_a: Pairs where only a failed.
        only_b: Pairs where only b failed.
        neither: Pairs where neither failed.
        interval: Newcombe's paired interval for rate of b minus rate of a, at 1 - 2 alpha, so that
            each end is a one-sided bound at alpha; ``None`` without pairs.
        p_mid: McNemar's two-sided mid-p for equal rates.
        per_effective: Pairs that are worth one independent pair, at least 1.
    """

    both: float
    only_a: float
    only_b: float
    neither: float
    interval: Interval | None
    p_mid: float
    per_effective: float = 1.0

    @property
    def pairs(self) -> int:
        """Pairs compared."""
        return round(self.both + self.only_a + self.only_b + self.neither)

    @property
    def difference(self) -> float | None:
        """Failure rate of b minus that of a, as a fraction; ``None`` without pairs."""
        return (self.only_b - self.only_a) / self.pairs if self.pairs else None

    @property
    def leaves(self) -> str:
        """How much more often b may fail by what was seen, as the end of a sentence's clause."""
        if self.interval is None:
            return ""
        return f", which leaves up to {ceil(1000 * self.interval.high) / 10:.1f} points more"

    def reversed(self) -> FailureContrast:
        """The same contrast with a and b exchanged."""
        turned = self.interval.negated() if self.interval else None
        return replace(self, only_a=self.only_b, only_b=self.only_a, interval=turned)

    def b_non_inferior(self, margin: float) -> bool:
        """Whether b is shown to fail at most ``margin`` (a fraction) more often than a.

        With no failure on either side this takes 52 independent pairs for 5 points at alpha = .05.
        The bound is approximate: for b truly failing 5 points more often it errs .02 to .07 with 52
        to 150 pairs, nearest .05 away from zero failures.
        """
        return self.interval is not None and self.interval.high < margin

    def b_exceeds(self, margin: float, level: float) -> bool:
        """Whether b is shown, one-sided at ``level``, to fail more than ``margin`` more often."""
        found = self._newcombe(1.0 / self.per_effective, 2 * level)
        return found is not None and found.low > margin

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
        projected = self._newcombe(growth / self.per_effective, self._two_sided_level)
        return projected is not None and projected.high < margin

    def _newcombe(self, times: float, two_sided: float) -> Interval | None:
        """Newcombe's interval with so many times as many pairs of each kind."""
        counts = (self.both, self.only_b, self.only_a, self.neither)
        a, b, c, d = (count * times for count in counts)
        return newcombe_paired(a, b, c, d, two_sided)

    @property
    def _two_sided_level(self) -> float:
        return 1.0 - self.interval.confidence if self.interval else 1.0


@dataclass(frozen=True, slots=True)
class UnpairedFailures(FailureContrast):
    """The same of two samples that share nothing; there are no pairs to be counted.

    The interval is Newcombe's for independent rates, and ``p_mid`` is Fisher's.

    Attributes:
        of_a: Failures of a, and its sessions.
        of_b: The same of b.
    """

    of_a: Count = NONE
    of_b: Count = NONE

    @property
    def pairs(self) -> int:
        """Sessions of the variant that has fewer: no more of them can be told apart."""
        return int(min(self.of_a.trials, self.of_b.trials))

    @property
    def difference(self) -> float | None:
        """Failure rate of b minus that of a, as a fraction; ``None`` if either has no session."""
        if not self.pairs:
            return None
        return self.of_b.successes / self.of_b.trials - self.of_a.successes / self.of_a.trials

    def reversed(self) -> UnpairedFailures:
        """The same contrast with a and b exchanged."""
        turned = self.interval.negated() if self.interval else None
        return replace(self, of_a=self.of_b, of_b=self.of_a, interval=turned)

    def _newcombe(self, times: float, two_sided: float) -> Interval | None:
        a, b = (Count(*(times * one for one in count)) for count in (self.of_a, self.of_b))
        return newcombe_unpaired([a], [b], two_sided)


@dataclass(frozen=True, slots=True)
class SequentialFailures(FailureContrast):
    """The same, looked at after every round: the interval is the one that a bet leaves.

    Attributes:
        margin: The declared failure margin, as a fraction: the only one that the gate knows.
        alpha: One-sided error rate of each gate, over all looks together.
        a_passed: Whether a was shown, at this look or an earlier one, to fail at most ``margin``
            more often than b.
        b_passed: The same of b against a.
        a_exceeded: Whether a was shown, in the same way at ``strict``, to fail more than ``margin``
            more often than b.
        b_exceeded: The same of b against a.
        strict: One-sided error rate of the last two.
    """

    margin: float = 0.05
    alpha: float = 0.05
    a_passed: bool = False
    b_passed: bool = False
    a_exceeded: bool = False
    b_exceeded: bool = False
    strict: float = 0.05

    def reversed(self) -> SequentialFailures:
        """The same contrast with a and b exchanged."""
        return replace(
            self,
            only_a=self.only_b,
            only_b=self.only_a,
            interval=self.interval.negated() if self.interval else None,
            a_passed=self.b_passed,
            b_passed=self.a_passed,
            a_exceeded=self.b_exceeded,
            b_exceeded=self.a_exceeded,
        )

    def b_non_inferior(self, margin: float) -> bool:
        """Whether b was shown to fail at most ``margin`` more often, at this look or earlier.

        With no failure on either side this takes 79 pairs for 5 points at alpha = .05, and 39 for
        10: more than the one look of a fixed plan, for the right to look at any time.

        Raises:
            ValueError: If ``margin`` is not the declared one.
        """
        self._check_margin(margin)
        return self.b_passed

    def b_exceeds(self, margin: float, level: float) -> bool:
        """Whether b was shown, now or earlier, to fail more than ``margin`` more often.

        Raises:
            ValueError: If ``margin`` or ``level`` are not the declared ones.
        """
        self._check_margin(margin)
        if level != self.strict:
            raise ValueError(f"kept at an error rate of {self.strict}; asked for {level}")
        return self.b_exceeded

    def _check_margin(self, margin: float) -> None:
        if margin != self.margin:
            raise ValueError(f"the gate was kept for a margin of {self.margin}; asked for {margin}")

    def _would_pass(self, growth: float, margin: float) -> bool:
        times = growth / self.per_effective
        rest = (self.both + self.neither) * times
        capital = log_gate_capital(self.only_a * times, self.only_b * times, rest, margin)
        return float(capital) >= log(1.0 / self.alpha)


def count_of(total: float) -> float:
    """A count of pairs: a whole number, unless repeats of one differ."""
    return int(total) if total.is_integer() else total


def failure_contrast(
    table: RoundTable, a: int, b: int, alpha: float, per_effective: float = 1.0
) -> FailureContrast:
    """Compare the failures of ``a`` and ``b`` on all their pairs that did not error.

    Args:
        table: Complete prefix of rounds.
        a: Index of the first variant.
        b: Index of the second variant.
        alpha: One-sided error rate of each end of the interval, below 0.5.
        per_effective: Pairs that are worth one independent pair, at least 1.
    """
    kept = table.at_risk(a, b)
    of_a, of_b = table.failed[:, :, a], table.failed[:, :, b]
    both, only_a, only_b, neither = (
        count_of(float(table.shares(cells, kept).sum()))
        for cells in (of_a & of_b, of_a & ~of_b, of_b & ~of_a, ~of_a & ~of_b)
    )
    a11, b10, c01, d00 = (count / per_effective for count in (both, only_b, only_a, neither))
    interval = newcombe_paired(a11, b10, c01, d00, 2 * alpha)
    p_mid = mcnemar(int(only_a), int(only_b)).p_mid
    return FailureContrast(both, only_a, only_b, neither, interval, p_mid, per_effective)


def unpaired_failures(
    table: RoundTable, a: int, b: int, alpha: float, icc: float = 0.0
) -> UnpairedFailures:
    """Compare the failures of ``a`` and ``b`` where nothing pairs their sessions.

    Several sessions of a variant in one round, such as rows of one user, may go together.

    Args:
        table: Complete prefix of rounds.
        a: Index of the first variant.
        b: Index of the second variant.
        alpha: One-sided error rate of each end of the interval, below 0.5.
        icc: Intraclass correlation of the failures of one round, from 0 to 1.
    """
    of_a, of_b = (Count(int(table.failures[one]), int(table.sessions[one])) for one in (a, b))
    there = table.not_errored[:, :, [a, b]]
    together = there.sum(axis=(0, 1)) / np.maximum(there.any(axis=1).sum(axis=0), 1)
    worth = max(1.0, design_effect(float(together.max()), icc))
    fewer_a, fewer_b = (Count(*(one / worth for one in count)) for count in (of_a, of_b))
    interval = newcombe_unpaired([fewer_a], [fewer_b], 2 * alpha)
    p_mid = fisher_mid_p(fewer_a, fewer_b)
    return UnpairedFailures(0, 0, 0, 0, interval, p_mid, worth, of_a=of_a, of_b=of_b)


def beyond_bounds(
    table: RoundTable, score_bounds: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Lowest and highest recorded score where they lie outside the declared bounds."""
    recorded = table.scores[~np.isnan(table.scores)]
    if score_bounds is None or recorded.size == 0:
        return None
    lowest, highest = float(recorded.min()), float(recorded.max())
    inside = score_bounds[0] <= lowest and highest <= score_bounds[1]
    return None if inside else (lowest, highest)


def bounded_by(table: RoundTable, rules: Rules) -> Rules:
    """The same rules, without bounds that scores have shown to be none."""
    outside = beyond_bounds(table, rules.score_bounds)
    return rules if outside is None else replace(rules, score_bounds=None)


def check_score_bounds(table: RoundTable, score_bounds: tuple[float, float] | None) -> None:
    """Raise ``ValueError`` if a recorded score lies outside the declared bounds."""
    outside = beyond_bounds(table, score_bounds)
    if outside is not None:
        raise ValueError(
            f"scores go from {outside[0]:g} to {outside[1]:g}, outside the declared bounds "
            f"{score_bounds}; declare the true ones, or None for an unbounded score"
        )
