"""Two variants over all looks at once: what each prefix of rounds shows about them.

Everything at a look is computed from the rounds before it only (cumulative sums), so a longer table
never changes what an earlier look saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.means import alike_log_p
from matrix.stats.estimates.proportions import discordant_needed, mcnemar
from matrix.stats.looks.betting import gate_bound, log_gate_capital
from matrix.stats.looks.boundary import Boundary
from matrix.stats.looks.failures import SequentialFailures, count_of
from matrix.stats.looks.mixture import t_mixture_log_e
from matrix.stats.rounds.differences import Differences, differences_of
from matrix.stats.rounds.round_table import BoolArray, FloatArray, RoundTable
from matrix.stats.rounds.rules import Rules
from matrix.stats.verdicts.comparisons import Comparison, discordant_pairs, known, lost_pairs

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """Two variants, every difference b minus a, after each of the P rounds of the prefix.

    Attributes:
        a: Index of the first variant.
        b: Index of the second.
        table: The rounds.
        boundary: How wide intervals are.
        seen: The differences.
        span: From the least possible score to the greatest, as known so far, shape [P]; infinite
            where that is not known.
        half: Half-width of the interval, shape [P]; infinite where there is none.
        discordant: Pairs so far whose scores differ, shape [P].
        binary: Whether all scores of the table so far are of two values, shape [P].
        failures: Pairs by who failed, after each round, shape [P, 3]: only a, only b, neither or
            both.
        failed_both: Pairs where both failed, shape [P].
        within: Whether a (first row) and b (second) were by then shown to fail at most the margin
            more often than the other, shape [2, P].
        beyond: The same of failing more than the margin more often, at ``strict``.
        strict: One-sided error rate of being shown to fail too often.
        rules: What was declared before launch.
    """

    a: int
    b: int
    table: RoundTable
    boundary: Boundary
    seen: Differences
    span: FloatArray
    half: FloatArray
    discordant: IntArray
    binary: BoolArray
    failures: FloatArray
    failed_both: FloatArray
    within: BoolArray
    beyond: BoolArray
    strict: float
    rules: Rules

    @property
    def decidable(self) -> BoolArray:
        """Where an interval may carry a claim, shape [P]."""
        enough = self.discordant >= discordant_needed(self.boundary.level)
        return np.isfinite(self.half) & self.seen.enough & (enough | ~self.binary)

    def shows(self, sign: int) -> BoolArray:
        """Whether the mean difference is shown to have this sign, at each look by itself, [P]."""
        return np.asarray(self.decidable & (sign * self.seen.mean > self.half))

    def shown_at(self, sign: int) -> int | None:
        """First prefix length at which the mean difference is shown to have this sign."""
        return _first(self.shows(sign))

    def inside(self) -> BoolArray:
        """Whether the interval lies inside the margin, shape [P]."""
        delta = self.rules.delta
        if delta is None:
            return np.zeros(self.half.size, dtype=np.bool_)
        return np.asarray(self.decidable & (np.abs(self.seen.mean) + self.half < delta))

    def at_level(self, level: float) -> Track:
        """The same two variants, in intervals at another two-sided error rate."""
        boundary = replace(self.boundary, level=level)
        return replace(self, boundary=boundary, half=_half_widths(boundary, self.seen, self.span))

    def comparison(self, length: int, *, by_itself: bool = False) -> Comparison:
        """What the last look at a prefix of up to ``length`` rounds says.

        Args:
            length: Rounds of the prefix.
            by_itself: Whether only that look counts, and not what earlier ones have shown.
        """
        look = self.boundary.last_look(length)
        last, level = look - 1, self.boundary.level
        n = int(self.seen.rounds[last]) if look else 0
        crossed = self._sign(look) if by_itself else self._crossed(length)
        interval = self._interval(look, crossed)
        log_e = self._log_e(look) if interval is not None else None
        errored, unscored = lost_pairs(self.table.up_to(look), self.a, self.b)
        return Comparison(
            a=self.a,
            b=self.b,
            n=n,
            pairs=int(self.seen.pairs[last]) if n else 0,
            errored=errored,
            unscored=unscored,
            difference=float(self.seen.mean[last]) if n else None,
            se=known(float(self.seen.se[last])) if n else None,
            interval=interval,
            p=None if log_e is None else min(1.0, exp(-log_e)),
            level=level,
            enough=bool(self.seen.enough[last]) if n else False,
            identical=bool(self.seen.se[last] == 0.0) if n else False,
            discordant=int(self.discordant[last]) if n and self.binary[last] else None,
            failures=self._contrast(length),
            crossed=crossed,
        )

    def _interval(self, look: int, crossed: int) -> Interval | None:
        """Interval at a look. Looks hold together, so an earlier one may exclude 0 for it."""
        if not look or not np.isfinite(self.half[look - 1]):
            return None
        mean, half = float(self.seen.mean[look - 1]), float(self.half[look - 1])
        low, high = mean - half, mean + half
        usable = self.decidable[:look]
        if crossed > 0 >= low:
            low = min(mean, float((self.seen.mean - self.half)[:look][usable].max()))
        if crossed < 0 <= high:
            high = max(mean, float((self.seen.mean + self.half)[:look][usable].min()))
        if self.seen.se[look - 1] == 0.0:
            span = float(self.span[look - 1])
            low, high = max(low, -span), min(high, span)
        return Interval(low, high, 1.0 - self.boundary.level)

    def _crossed(self, length: int) -> int:
        """Sign that was shown first, up to a prefix of ``length`` rounds; 0 for none."""
        at = [(self.shown_at(sign), sign) for sign in (1, -1)]
        known = [(end, sign) for end, sign in at if end is not None and end <= length]
        return min(known)[1] if known else 0

    def _sign(self, look: int) -> int:
        """Sign that is shown at one look; 0 for none."""
        if not look:
            return 0
        return int(self.shows(1)[look - 1]) - int(self.shows(-1)[look - 1])

    def _log_e(self, look: int) -> float | None:
        """Largest log e-value of the looks so far; ``None`` for a plan's boundary."""
        if self.boundary.engine != "open-ended":
            return None
        usable = self.decidable[:look]
        if not usable.any():
            return 0.0
        alike = usable & (self.seen.se[:look] == 0.0)
        usable &= ~alike
        found = [0.0]
        if usable.any():
            t = self.seen.mean[:look][usable] / self.seen.se[:look][usable]
            found.append(float(t_mixture_log_e(t, self.seen.df[:look][usable] + 1.0).max()))
        if alike.any():
            same = (self.seen.mean, self.seen.rounds, self.span)
            found.append(-float(alike_log_p(*(one[:look][alike] for one in same)).min()))
        return max(found)

    def _contrast(self, length: int) -> SequentialFailures:
        only_a, only_b, rest = (
            (count_of(float(count)) for count in self.failures[length - 1]) if length else (0, 0, 0)
        )
        both = count_of(float(self.failed_both[length - 1])) if length else 0
        alpha, interval = self.rules.alpha, None
        worth = self.rules.pairs_per_effective(self.table.pairs_per_round)
        if only_a + only_b + rest:
            a, b, others = only_a / worth, only_b / worth, rest / worth
            low = -gate_bound(b, a, others, alpha)
            interval = Interval(low, gate_bound(a, b, others, alpha), 1.0 - 2 * alpha)

        nothing = (False, False)
        within = self.within[:, length - 1].tolist() if length else nothing
        beyond = self.beyond[:, length - 1].tolist() if length else nothing
        return SequentialFailures(
            both=both,
            only_a=only_a,
            only_b=only_b,
            neither=rest - both,
            interval=interval,
            p_mid=mcnemar(int(only_a), int(only_b)).p_mid,
            per_effective=worth,
            margin=self.rules.failure_margin,
            alpha=alpha,
            a_passed=within[0],
            b_passed=within[1],
            a_exceeded=beyond[0],
            b_exceeded=beyond[1],
            strict=self.strict,
        )


def tracker(
    table: RoundTable, boundary: Boundary, rules: Rules, strict: float
) -> Callable[[int, int], Track]:
    """What makes the track of two variants of ``table``, sharing what all tracks need."""
    two_valued, span = _binary_so_far(table), _span_so_far(table, rules)

    def track(a: int, b: int) -> Track:
        seen = differences_of(table, a, b, rules.unit)
        failures, both = _failures_so_far(table, a, b)
        within, beyond = _gates(failures, table, rules, strict)
        return Track(
            a=a,
            b=b,
            table=table,
            boundary=boundary,
            seen=seen,
            span=span,
            half=_half_widths(boundary, seen, span),
            discordant=np.cumsum(discordant_pairs(table, a, b)),
            binary=two_valued,
            failures=failures,
            failed_both=both,
            within=within,
            beyond=beyond,
            strict=strict,
            rules=rules,
        )

    return track


def _half_widths(boundary: Boundary, seen: Differences, span: FloatArray) -> FloatArray:
    return boundary.half_widths(
        seen.info, seen.df, mean=seen.mean, se=seen.se, rounds=seen.rounds, span=span
    )


def _span_so_far(table: RoundTable, rules: Rules) -> FloatArray:
    """The range of scores: as declared, or 1 while all are 0 or 1, shape [P]."""
    if rules.score_bounds is not None:
        low, high = rules.score_bounds
        return np.full(table.prefix_length, high - low)
    yes_no = (np.isnan(table.scores) | np.isin(table.scores, (0.0, 1.0))).all(axis=(1, 2))
    return np.where(np.logical_and.accumulate(yes_no), 1.0, np.inf)


def _gates(
    failures: FloatArray, table: RoundTable, rules: Rules, strict: float
) -> tuple[BoolArray, BoolArray]:
    """Who is shown to fail within the margin, and who beyond it, [2, P] each: a, then b."""
    worth = failures.T / rules.pairs_per_effective(table.pairs_per_round)
    only = worth[:2]
    margin, rest, others = rules.failure_margin, worth[2], only[::-1]
    within = log_gate_capital(others, only, rest, margin) >= log(1.0 / rules.alpha)
    # "b fails at most m more often than a" is "a fails at least -m more often than b"
    beyond = log_gate_capital(only, others, rest, -margin) >= log(1.0 / strict)
    return (
        np.logical_or.accumulate(within, axis=1),
        np.logical_or.accumulate(beyond, axis=1),
    )


def _failures_so_far(table: RoundTable, a: int, b: int) -> tuple[FloatArray, FloatArray]:
    kept, of_a, of_b = table.at_risk(a, b), table.failed[:, :, a], table.failed[:, :, b]
    cells = (of_a & ~of_b, of_b & ~of_a, of_a == of_b, of_a & of_b)
    counts = np.stack([table.shares(one, kept).sum(axis=1) for one in cells], axis=1).cumsum(axis=0)
    return counts[:, :3], counts[:, 3]


def _binary_so_far(table: RoundTable) -> BoolArray:
    """Whether the scores by then have at most two values, shape [P]."""
    first_seen = np.unique(table.scores.ravel(), return_index=True, equal_nan=True)
    firsts = np.sort(first_seen[1][~np.isnan(first_seen[0])])
    if firsts.size <= 2:
        return np.ones(table.prefix_length, dtype=np.bool_)
    per_round = table.n_scenarios * table.n_variants
    return np.asarray(np.arange(table.prefix_length) < firsts[2] // per_round)


def _first(hits: BoolArray) -> int | None:
    """Length of the first prefix that is hit."""
    return int(hits.argmax()) + 1 if hits.any() else None
