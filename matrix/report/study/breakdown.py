"""The leading pair in every scenario, or at every level of another factor; and beyond these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.report.compare.compare import MatchupVerdict
from matrix.report.compare.leading import Lead
from matrix.report.compare.matchup import AVERAGED, Matchup
from matrix.report.text import plural
from matrix.stats import MIN_SCENARIOS, new_scenarios, pairwise_level
from matrix.stats.rounds.rules import MIN_ROUNDS

SCENARIO = "scenario"
STORY = "story"
"""Another word for a scenario, as play-tests call theirs."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """The leading pair at one level: means over the pairs of sessions that both have a value."""

    level: str
    pairs: int
    first: float | None
    second: float | None
    difference: float | None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The leading pair by level; descriptive, it tests nothing.

    Attributes:
        by: What is broken down by.
        first: The variant with the better mean in all.
        second: The other one.
        rows: One per level, in the order of the spec.
    """

    by: str
    first: str
    second: str
    rows: tuple[BreakdownRow, ...]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the scenarios that were run say about others like them.

    Attributes:
        scenarios: Scenarios with a difference, which are the units.
        difference: Mean difference of the leading pair; ``None`` where it is refused.
        low: Lower end of its interval.
        high: Upper end.
        level: Error rate of the interval.
        p: Two-sided p-value.
        sentence: The same in words, or why nothing is said.
        holds: Whether the verdict's claim, a winner or equivalence, is shown of new scenarios as
            well; ``None`` where nothing is said of them, or the verdict claims nothing.
    """

    scenarios: int
    difference: float | None
    low: float | None
    high: float | None
    level: float
    p: float | None
    sentence: str
    holds: bool | None = None


def chosen_breakdown(matchup: Matchup, by: str | None) -> str | None:
    """What to break down by: what was asked for, or scenarios where there are several.

    Raises:
        BadInput: There is nothing of this name to break down by.
    """
    there = {name: levels for name, levels in matchup.within.items() if name not in AVERAGED}
    if by is None:
        return SCENARIO if len(set(there.get(SCENARIO, ()))) > 1 else None
    name = SCENARIO if by == STORY and STORY not in there else by
    if name in there:
        return name
    why = f"found {by!r}"
    if name == matchup.factor:
        why = f"{by!r} is what is compared"
    known = ", ".join(there) or "nothing, as a branch is paired by checkpoint"
    told = f"{why}; differences can be broken down by: {known}{did_you_mean(by, list(there))}"
    raise BadInput([Mistake("--by", None, "", told)])


def breakdown_of(judged: MatchupVerdict, lead: Lead, by: str) -> Breakdown:
    """The leading pair at each level."""
    scores = judged.table.scores
    labels = np.array(judged.matchup.within[by], dtype=object)
    names = judged.matchup.variants
    rows = tuple(
        _row(str(level), scores[:, labels == level], lead, paired=judged.matchup.paired)
        for level in dict.fromkeys(labels)
    )
    return Breakdown(by, names[lead.first], names[lead.second], rows)


def _row(level: str, scores: Floats, lead: Lead, *, paired: bool) -> BreakdownRow:
    """Over pairs or, where there are none, over all that each has; then the fewer are told."""
    first, second = scores[:, :, lead.first], scores[:, :, lead.second]
    known = [~np.isnan(first), ~np.isnan(second)]
    if paired:
        known = [known[0] & known[1]] * 2
    count = min(int(one.sum()) for one in known)
    if not count:
        return BreakdownRow(level, 0, None, None, None)
    one, two = float(first[known[0]].mean()), float(second[known[1]].mean())
    return BreakdownRow(level, count, one, two, one - two)


def elsewhere_of(judged: MatchupVerdict, lead: Lead | None) -> Elsewhere:
    """A claim about scenarios like these, with the scenario as its unit; refused below five."""
    matchup, verdict = judged.matchup, judged.verdict
    level = pairwise_level(verdict.rules.alpha, len(matchup.variants))
    if SCENARIO not in matchup.within:
        told = "Nothing is said about other moments or scenarios: the units are checkpoints."
        return Elsewhere(0, None, None, None, level, None, told)
    count = len(set(matchup.within[SCENARIO]))
    if lead is None:
        told = "Nothing is said about other scenarios: there is nothing to compare yet."
        return Elsewhere(count, None, None, None, level, None, told)
    if verdict.rules.engine == "fixed" and "plan not over" in verdict.reasons:
        told = "Nothing is said about other scenarios yet: this looks once, when the plan is over."
        return Elsewhere(count, None, None, None, level, None, told)
    if "too few rounds" in verdict.reasons:
        told = "Nothing is said about other scenarios yet: that, too, takes at least "
        told += f"{plural(MIN_ROUNDS, 'round')}."
        return Elsewhere(count, None, None, None, level, None, told)
    by_scenario = _by_scenario(judged.table.scores, matchup.within[SCENARIO])
    if not matchup.paired:  # no row belongs with another: one mean of each scenario
        by_scenario = _means(by_scenario, axis=0)[None]
    found = new_scenarios(by_scenario[:, :, lead.second], by_scenario[:, :, lead.first], level)
    if found.interval is None or found.difference is None:
        whole = "" if found.n_scenarios == count else f" with scores of both, of {count} played"
        why = (
            f"that takes at least {MIN_SCENARIOS} scenarios, and here "
            f"{'is' if found.n_scenarios == 1 else 'are'} {found.n_scenarios}{whole}"
            if not found.enough
            else "the difference is the same in all of these, so chance cannot be judged"
        )
        told = f"Nothing is said about scenarios other than these: {why}."
        return Elsewhere(found.n_scenarios, None, None, None, level, None, told)
    ahead = judged.sign * found.interval.low > 0 and judged.sign * found.interval.high > 0
    margin = verdict.rules.delta
    alike = margin is not None and found.interval.inside(margin)
    name, rival = matchup.variants[lead.first], matchup.variants[lead.second]
    if ahead:
        told = f"On new scenarios like these, {name} is shown to be better than {rival} as well"
        told += "" if verdict.kind == "winner" else ", by its score"
    elif verdict.kind == "equivalent":
        are = "are practically equivalent as well" if alike else "may differ by more"
        told = f"On new scenarios like these, {name} and {rival} {are}"
    else:
        told = f"For new scenarios like these, {name} is not shown to be better than {rival}"
    claims = {"winner": ahead, "equivalent": alike}
    told += f" ({plural(found.n_scenarios, 'scenario')} as the unit, however many rounds)."
    if matchup.spec.engine != "fixed":
        told += " This does not allow for the looks that were taken while the run went on."
    return Elsewhere(
        found.n_scenarios,
        found.difference,
        found.interval.low,
        found.interval.high,
        level,
        found.p,
        told,
        None if judged.void is not None else claims.get(verdict.kind),
    )


def _by_scenario(scores: Floats, scenarios: tuple[str, ...]) -> Floats:
    """Scores averaged over the strata of each scenario, [rounds, scenarios, variants]."""
    labels = np.array(scenarios, dtype=object)
    parts = []
    for name in dict.fromkeys(scenarios):
        mine = scores[:, labels == name]
        parts.append(_means(mine, axis=1))
    return np.stack(parts, axis=1)


def _means(values: Floats, axis: int) -> Floats:
    """Means of what is known; NaN where nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))
