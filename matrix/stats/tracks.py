"""Two variants over all looks at once: what each prefix of rounds shows about them.

Everything at a look is computed from the rounds before it only (cumulative sums), so a longer table
never changes what an earlier look saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

import numpy as np
import numpy.typing as npt

from matrix.stats.betting import gate_bound, log_gate_capital
from matrix.stats.boundary import Boundary
from matrix.stats.comparisons import Comparison, discordant_needed
from matrix.stats.failures import SequentialFailures
from matrix.stats.interval import Interval
from matrix.stats.means import ROUNDING
from matrix.stats.mixture import t_mixture_log_e
from matrix.stats.proportions import mcnemar
from matrix.stats.round_table import BoolArray, FloatArray, RoundTable
from matrix.stats.rules import Rules

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """Two variants, every difference b minus a, after each of their n common scored rounds.

    Attributes:
        a: Index of the first variant.
        b: Index of the second.
        boundary: How wide intervals are.
        ends: Length of the prefix that ends with each round, shape [n], ascending.
        mean: Mean difference so far, shape [n].
        sd: Standard deviation so far, 0 for identical differences and for one, shape [n].
        half: Half-width of the interval, shape [n]; infinite where there is none.
        discordant: Pairs so far whose scores differ, shape [n].
        binary: Whether all scores of the table so far are of two values, shape [n].
        failures: Pairs by who failed, after each round of the prefix, shape [P, 3]: only a, only b,
            neither or both.
        failed_both: Pairs where both failed, shape [P].
        rules: What was declared before launch.
    """

    a: int
    b: int
    boundary: Boundary
    ends: IntArray
    mean: FloatArray
    sd: FloatArray
    half: FloatArray
    discordant: IntArray
    binary: BoolArray
    failures: IntArray
    failed_both: IntArray
    rules: Rules

    @property
    def decidable(self) -> BoolArray:
        """Where an interval may carry a claim, shape [n]."""
        enough = self.discordant >= discordant_needed(self.boundary.level)
        return np.isfinite(self.half) & (enough | ~self.binary)

    def shown_at(self, sign: int) -> int | None:
        """First prefix length at which the mean difference is shown to have this sign."""
        return _first(self.decidable & (sign * self.mean > self.half), self.ends)

    def still_shown_at(self, sign: int, length: int) -> int | None:
        """First prefix of at least ``length`` rounds with the mean on that side of 0."""
        if sign * self.mean[int(self._seen(np.array([length]))[0]) - 1] > 0:
            return length
        return _first((sign * self.mean > 0) & (self.ends > length), self.ends)

    def inside(self, length: int) -> BoolArray:
        """Whether the interval lies inside the margin at prefixes of 0 to ``length`` rounds."""
        delta = self.rules.delta
        seen = self._seen(np.arange(length + 1))
        if delta is None or not self.ends.size:
            return np.zeros(length + 1, dtype=np.bool_)
        within = self.decidable & (np.abs(self.mean) + self.half < delta)
        return np.asarray((seen > 0) & within[np.maximum(seen - 1, 0)])

    def gate_at(self, *, of_b: bool) -> int | None:
        """First prefix length at which b (or else a) is shown to fail within the margin."""
        return self._gate(self.failures.shape[0], of_b=of_b)

    def comparison(self, length: int) -> Comparison:
        """What the last look at a prefix of up to ``length`` rounds says."""
        n = self.boundary.last_look(int(self._seen(np.array([length]))[0]))
        level, last = self.boundary.level, n - 1
        mean = float(self.mean[last]) if n else None
        crossed = self._crossed(length)
        interval = self._interval(n, crossed)
        log_e = self._log_e(n) if interval is not None else None
        return Comparison(
            a=self.a,
            b=self.b,
            n=n,
            difference=mean,
            interval=interval,
            p=None if log_e is None else min(1.0, exp(-log_e)),
            level=level,
            identical=n >= 2 and float(self.sd[last]) == 0.0,
            discordant=int(self.discordant[last]) if n and self.binary[last] else None,
            failures=self._contrast(length),
            crossed=crossed,
        )

    def _interval(self, n: int, crossed: int) -> Interval | None:
        """Interval at ``n`` rounds. Looks hold together, so an earlier one may exclude 0 for it."""
        if not n or not np.isfinite(self.half[n - 1]):
            return None
        mean, half = float(self.mean[n - 1]), float(self.half[n - 1])
        low, high = mean - half, mean + half
        usable = self.decidable[:n]
        if crossed > 0 >= low:
            low = min(mean, float((self.mean - self.half)[:n][usable].max()))
        if crossed < 0 <= high:
            high = max(mean, float((self.mean + self.half)[:n][usable].min()))
        return Interval(low, high, 1.0 - self.boundary.level)

    def _seen(self, lengths: IntArray) -> npt.NDArray[np.intp]:
        return np.searchsorted(self.ends, lengths, side="right")

    def _crossed(self, length: int) -> int:
        """Sign that was shown first, up to a prefix of ``length`` rounds; 0 for none."""
        at = [(self.shown_at(sign), sign) for sign in (1, -1)]
        known = [(end, sign) for end, sign in at if end is not None and end <= length]
        return min(known)[1] if known else 0

    def _log_e(self, n: int) -> float | None:
        """Largest log e-value of the first ``n`` rounds; ``None`` for a plan's boundary."""
        if self.boundary.engine != "open-ended":
            return None
        counts = np.arange(1, n + 1)
        usable = self.decidable[:n]
        if not usable.any():
            return 0.0
        t = self.mean[:n][usable] * np.sqrt(counts[usable]) / self.sd[:n][usable]
        return max(0.0, float(t_mixture_log_e(t, counts[usable]).max()))

    def _contrast(self, length: int) -> SequentialFailures:
        only_a, only_b, rest = (
            (int(count) for count in self.failures[length - 1]) if length else (0, 0, 0)
        )
        both = int(self.failed_both[length - 1]) if length else 0
        alpha, interval = self.rules.alpha, None
        if only_a + only_b + rest:
            low = -gate_bound(only_b, only_a, rest, alpha)
            interval = Interval(low, gate_bound(only_a, only_b, rest, alpha), 1.0 - 2 * alpha)
        return SequentialFailures(
            both=both,
            only_a=only_a,
            only_b=only_b,
            neither=rest - both,
            interval=interval,
            p_mid=mcnemar(only_a, only_b).p_mid,
            margin=self.rules.failure_margin,
            alpha=alpha,
            a_passed=self._gate(length, of_b=False) is not None,
            b_passed=self._gate(length, of_b=True) is not None,
        )

    def _gate(self, length: int, *, of_b: bool) -> int | None:
        only_a, only_b, rest = self.failures[:length].T
        mine, theirs = (only_b, only_a) if of_b else (only_a, only_b)
        capital = log_gate_capital(theirs, mine, rest, self.rules.failure_margin)
        return _first(capital >= log(1.0 / self.rules.alpha), np.arange(1, length + 1))


def tracker(table: RoundTable, boundary: Boundary, rules: Rules) -> Callable[[int, int], Track]:
    """What makes the track of two variants of ``table``, sharing what all tracks need."""
    two_valued = _binary_so_far(table)

    def track(a: int, b: int) -> Track:
        rows = table.compared(a, b)
        used = table.rounds[rows]
        first, second = table.means[rows, a], table.means[rows, b]
        mean, sd = _running_moments(first, second)
        n = np.arange(1, used.size + 1)
        radii = boundary.radii(n)
        spread = (sd > 0.0) & np.isfinite(radii)
        half = np.full(n.size, np.inf)
        half[spread] = radii[spread] * sd[spread] / np.sqrt(n[spread])
        failures, both = _failures_so_far(table, a, b)
        return Track(
            a=a,
            b=b,
            boundary=boundary,
            ends=used + 1,
            mean=mean,
            sd=sd,
            half=half,
            discordant=_discordant_so_far(table, used, a, b),
            binary=two_valued[used],
            failures=failures,
            failed_both=both,
            rules=rules,
        )

    return track


def _running_moments(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of ``second - first`` over the first 1, 2, ... rounds."""
    difference = second - first
    if not difference.size:
        return difference, difference
    n = np.arange(1, difference.size + 1)
    # Taken from the first value, which every prefix knows: sums of large numbers lose digits.
    shifted = difference - difference[0]
    mean = np.cumsum(shifted) / n
    squares = np.maximum(np.cumsum(shifted * shifted) - n * mean * mean, 0.0)
    sd = np.sqrt(squares / np.maximum(n - 1, 1))
    size = np.maximum.accumulate(np.maximum(np.abs(first), np.abs(second)))
    return difference[0] + mean, np.where(sd <= ROUNDING * size, 0.0, sd)


def _failures_so_far(table: RoundTable, a: int, b: int) -> tuple[IntArray, IntArray]:
    kept = ~table.errored & table.both_live(a, b)[:, None]
    of_a, of_b = table.failed[:, :, a] & kept, table.failed[:, :, b] & kept
    only_a, only_b = (of_a & ~of_b).sum(axis=1), (of_b & ~of_a).sum(axis=1)
    rest = kept.sum(axis=1) - only_a - only_b
    counts = np.cumsum(np.stack([only_a, only_b, rest], axis=1), axis=0)
    both = np.cumsum((of_a & of_b).sum(axis=1))
    return counts.astype(np.int64), both.astype(np.int64)


def _discordant_so_far(table: RoundTable, used: IntArray, a: int, b: int) -> IntArray:
    of_a, of_b = table.scores[used, :, a], table.scores[used, :, b]
    differ = (of_a != of_b) & table.scored[used]
    return np.cumsum(differ.sum(axis=1)).astype(np.int64)


def _binary_so_far(table: RoundTable) -> BoolArray:
    """Whether the scores of pairs scored by then have at most two values, shape [P]."""
    values = np.where(table.scored[:, :, None], table.scores, np.nan)
    first_seen = np.unique(values.ravel(), return_index=True, equal_nan=True)
    firsts = np.sort(first_seen[1][~np.isnan(first_seen[0])])
    if firsts.size <= 2:
        return np.ones(table.prefix_length, dtype=np.bool_)
    per_round = table.n_scenarios * table.n_variants
    return np.asarray(np.arange(table.prefix_length) < firsts[2] // per_round)


def _first(hits: BoolArray, lengths: IntArray) -> int | None:
    return int(lengths[hits.argmax()]) if hits.any() else None
