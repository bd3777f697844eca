"""Phrases that several sentences about a verdict share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matrix.stats.estimates.figures import count, decimals_for, ends, percent
from matrix.stats.estimates.interval import Interval
from matrix.stats.verdicts.comparisons import Comparison
from matrix.stats.verdicts.sequential import Beaten
from matrix.stats.verdicts.verdict import Verdict


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
        """How many rounds were compared; of samples that share nothing, how many of each."""
        pair = self.verdict.decisive
        if pair is not None and pair.sizes is not None:
            return self.sizes(pair, pair.sizes)
        used = self.verdict.rounds_used if pair is None else pair.n
        return count(used, f"complete {self.paired_on}")

    @property
    def unpaired(self) -> bool:
        """Whether variants are samples that share nothing."""
        return self.verdict.rules.unit == "unpaired"

    def sizes(self, pair: Comparison, sizes: tuple[int, int]) -> str:
        """How many scores there are of the better variant and of the other one."""
        own, other = self.names[pair.b], self.names[pair.a]
        return f"{count(sizes[1], self.paired_on)} of {own} and {sizes[0]:,} of {other}"

    @property
    def sequential(self) -> bool:
        """Whether the data were looked at after every round."""
        return self.verdict.rules.engine != "fixed"

    @property
    def looked(self) -> str:
        """When the data were looked at and when that decided; empty for one look at the end."""
        if not self.sequential:
            return ""
        at = self.verdict.decided_at
        if at is None:
            return f", looked at after every {self.paired_on}"
        return (
            f", looked at after every {self.paired_on} and decided after "
            f"{self.paired_on} {at:,} of {self.verdict.rounds_planned:,}"
        )

    @property
    def in_question(self) -> tuple[str, ...]:
        """Names of the variants that were not beaten."""
        gone = {one.variant for one in self.verdict.beaten}
        return tuple(name for index, name in enumerate(self.names) if index not in gone)

    def beaten(self, before: int | None = None) -> str:
        """Who was beaten by whom and when, as a second half of a sentence; empty if nobody was.

        Args:
            before: Leave out those whose scores were beaten at this look or later.
        """
        said = [
            self._gone(one)
            for one in self.verdict.beaten
            if before is None or one.at < before or one.why != "score"
        ]
        return "; " + ", ".join(said) if said else ""

    def outscored(self) -> str:
        """Who is shown to score worse than whom, as :meth:`beaten` says it; empty if nobody is.

        Of a plan that is looked at once, where no winner is named among the others: at other
        plans' looks such a variant is beaten, and out.
        """
        said = [
            f"{self.names[loser]} is shown to score worse than "
            f"{_listed([self.names[pair.b] for pair in pairs])}"
            for loser, pairs in outscored(self.verdict).items()
        ]
        return "; " + ", ".join(said) if said else ""

    def _gone(self, one: Beaten) -> str:
        name, other, when = self.names[one.variant], self.names[one.by], self.paired_on
        if one.why == "unscored":
            return f"{name} is out, as too few of its sessions have a score to compare it"
        if one.why == "score":
            return f"{name} was beaten by {other} after {when} {one.at:,}"
        if not self.sequential:
            return f"{name} cannot win, as it fails too often (against {other})"
        return f"{name} was out after {when} {one.at:,}, as it fails too often (against {other})"

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
    def failure_bound(self) -> str:
        """How much more often the better one may fail yet; empty if that is within the margin."""
        seen = self.pair.failures.interval
        if seen is None or seen.high <= self.verdict.rules.failure_margin:
            return ""
        return self.pair.failures.leaves

    @property
    def failures_apart(self) -> str:
        """That they do not fail equally often, where their interval says so; empty if not."""
        seen = self.pair.failures.interval
        if seen is None or seen.low <= 0.0 <= seen.high:
            return ""
        return f"; how often they fail is no part of that, and differs ({self.failures})"

    @property
    def failure_margin(self) -> str:
        """How much more often a winner may fail."""
        return f"{100 * self.verdict.rules.failure_margin:g} percentage points"

    def with_unit(self, amount: str) -> str:
        """An amount with the unit, if there is one."""
        return with_unit(amount, self.unit)


def outscored(verdict: Verdict) -> dict[int, list[Comparison]]:
    """Variant -> its pairs with those that are shown to score better, which are ``b`` of these.

    Empty but where one look has named no winner.
    """
    if verdict.rules.engine != "fixed" or verdict.kind not in ("no_difference", "not_enough_data"):
        return {}
    unsaid = {"plan not over", "too few rounds", "failure gate not passed"}  # one beats all
    if unsaid & set(verdict.reasons) or len(verdict.comparisons) == 1:
        return {}
    gone = {one.variant for one in verdict.beaten}
    found: dict[int, list[Comparison]] = {}
    for pair in verdict.comparisons:
        if pair.sign and not gone & {pair.a, pair.b}:
            ahead = (pair.sign > 0) == verdict.rules.higher_is_better
            shown = pair if ahead else pair.reversed()
            found.setdefault(shown.a, []).append(shown)
    return dict(sorted(found.items()))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def with_unit(amount: str, unit: str) -> str:
    """``1 point``, ``2 points``, ``1.0 points``; an amount alone where there is no unit."""
    noun = unit.removesuffix("s") if amount == "1" else unit
    return f"{amount} {noun}" if unit else amount
