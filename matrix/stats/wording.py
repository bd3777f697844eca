"""Phrases that several sentences about a verdict share."""

from __future__ import annotations

from dataclasses import dataclass

from matrix.stats.comparisons import Comparison
from matrix.stats.figures import count, decimals_for, ends, percent
from matrix.stats.interval import Interval
from matrix.stats.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Wording:
    """A verdict with the names its sentence uses.

    Attributes:
        verdict: What to say.
        names: Names of the variants by index.
        on_metric: `` on <metric>``, or empty.
        unit: Unit of differences, or empty.
        paired_on: What the verdict's rounds are called.
    """

    verdict: Verdict
    names: tuple[str, ...]
    on_metric: str
    unit: str
    paired_on: str = "round"

    @property
    def pair(self) -> Comparison:
        """The comparison the verdict rests on."""
        if self.verdict.decisive is None:
            raise ValueError(f"no comparison behind the verdict {self.verdict.kind!r}")
        return self.verdict.decisive

    @property
    def interval(self) -> Interval:
        """The interval of that comparison."""
        if self.pair.interval is None:
            raise ValueError(f"no interval behind the verdict {self.verdict.kind!r}")
        return self.pair.interval

    @property
    def better(self) -> str:
        """Name of the better variant of the comparison."""
        return self.names[self.pair.b]

    @property
    def worse(self) -> str:
        """Name of the other one."""
        return self.names[self.pair.a]

    @property
    def rounds(self) -> str:
        """How many rounds were compared."""
        return count(self.verdict.rounds_used, f"complete {self.paired_on}")

    @property
    def amount(self) -> str:
        """Size of the difference, with its unit."""
        size = abs(self.pair.difference or 0.0)
        return self.with_unit(f"{size:.{decimals_for(self.interval)}f}")

    @property
    def lead(self) -> str:
        """How much better, as a positive amount whichever direction is better."""
        rising = (self.pair.difference or 0.0) >= 0
        low, high = ends(self.interval if rising else self.interval.negated())
        return f"{self.amount} ({percent(self.interval)} interval {low} to {high})"

    @property
    def failures(self) -> str:
        """Failures of both variants, with their denominators."""
        best, rival = (self.verdict.variants[i] for i in (self.pair.b, self.pair.a))
        return (
            f"failed: {best.failures:,} of {count(best.sessions, 'session')}, "
            f"against {rival.failures:,} of {rival.sessions:,}"
        )

    @property
    def failure_margin(self) -> str:
        """How much more often a winner may fail."""
        return f"{100 * self.verdict.rules.failure_margin:g} percentage points"

    def with_unit(self, amount: str) -> str:
        """An amount with the unit, if there is one."""
        return f"{amount} {self.unit}" if self.unit else amount
