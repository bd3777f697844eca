"""Words and figures of a comparison: what each code of a verdict means in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matrix.report.text import number, with_interval
from matrix.stats import Interval
from matrix.stats.estimates.figures import decimals_for, ends
from matrix.stats.rounds.rules import Flag, Reason

REASONS: dict[Reason, str] = {
    "too few rounds": "with scores from fewer than ten {unit}s, chance alone can look like "
    "anything.",
    "plan not over": "the plan is not over, so this is not the last word.",
    "too few discordant pairs": "too few pairs of sessions came out differently, and only those "
    "say anything.",
    "identical so far": "the difference was the same in every {unit}, which leaves nothing to "
    "judge chance by.",
    "interval wider than margin": "the difference is known less closely than the margin.",
    "failure gate not passed": "a better score is not enough: a winner must also be shown to fail "
    "at most {margin} percentage points more often{where}.",
    "inside the margin": "every difference that the data allow is smaller than the margin.",
    "beats every other variant": "it is better than {others} by more than chance "
    "explains, and shown to fail at most {margin} percentage points more often{where}.",
    "interval includes 0": "what the data allow includes no difference at all.",
    "stopped early": "looks at the scores had settled it, so the rest was not played.",
    "ended by censored session": "a session was cut short, or not begun (cost cap, time limit, "
    "interrupt, or a run that was decided); only the {unit}s before it are complete and compared.",
    "others fail too often": "every other variant is shown to fail more often than it by more than "
    "the failure margin, which rules it out whatever its scores.",
}
"""What each reason of a verdict says to people."""

_ON_SCORES: dict[Reason, str] = {
    "beats every other variant": "it is better than {others} by more than chance "
    "explains; who fails more often is not known.",
}
"""The same where failures are not told, so that any number of them is allowed."""


def reason_told(reason: Reason, unit: str, failure_margin: float, *, some_out: bool = False) -> str:
    """A reason, for people.

    Args:
        reason: Which.
        unit: What an observation is called.
        failure_margin: How much more often a winner may fail, as a fraction.
        some_out: Other variants are out for what is no score, and were not compared by any.
    """
    words = REASONS | _ON_SCORES if failure_margin >= 1.0 else REASONS
    # imported results have units or rows, and no spec that could say it
    where = "" if unit in ("unit", "row") else " (compare.failure_margin)"
    others = "each that is not out" if some_out else "each other variant"
    margin = f"{100 * failure_margin:g}"
    return words[reason].format(unit=unit, margin=margin, where=where, others=others)


FLAGS: Mapping[Flag, str] = {
    "fragile": "fragile. Some scores are missing, because sessions failed, were lost or could not "
    "be judged, or because a variant has no result there. If those had gone as badly, or as well, "
    "as can be, or had failed where nobody knows it, the verdict would be another.",
    "these scenarios only": "this is about the scenarios that were played, not about others like "
    "them.",
}
"""What each flag says to people."""

FINDINGS: Mapping[str, str] = {
    "better": "{first} better",
    "equivalent": "within the margin",
    "not shown": "none shown",
    "identical": "identical so far",
    "too few": "too little data",
    "too early": "plan not over",
    "void": "void, as the judge errs",
}
"""What a pair shows, in the words of a table."""

_DIGITS = {
    "cost_usd": 4,
    "turns": 1,
    "calls": 1,
    "duration_s": 1,
    "tokens_in": 0,
    "tokens_out": 0,
}
_OTHERS = 3


@dataclass(frozen=True, slots=True)
class Figures:
    """How figures of one metric are written."""

    metric: str
    score: int = 1
    """Decimals of a score, as ``score_digits`` says."""

    @property
    def digits(self) -> int:
        """Decimals of its means."""
        return self.score if self.metric == "score" else _DIGITS.get(self.metric, _OTHERS)

    def number(self, value: float | None) -> str:
        """A mean."""
        return number(value, self.digits)

    def mean(self, value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
        """A mean and its interval."""
        return with_interval(value, low, high, self.digits)

    def difference(
        self, value: float | None, low: float | None = None, high: float | None = None
    ) -> str:
        """A difference, with its sign; of a known interval, in as many figures as it is worth."""
        return with_interval(value, low, high, self.digits, "+")[0]

    def interval(self, low: float | None, high: float | None) -> str:
        """An interval of differences, in as many figures as it is worth."""
        if low is None or high is None:
            return "-"
        found = Interval(low, high, 0.95)  # its figures do not depend on the confidence
        if decimals_for(found) <= self.digits:
            return f"{low + 0.0:,.{self.digits}f} to {high + 0.0:,.{self.digits}f}"
        return " to ".join(ends(found))


def short(value: float | None) -> str:
    """A figure of unknown size in three figures or so."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 100 else f"{value + 0.0:.3g}"


def chance(p: float | None) -> str:
    """A p-value."""
    if p is None:
        return "-"
    return "< .0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"
