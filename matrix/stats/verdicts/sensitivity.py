"""What the sessions without a score could change about a claim, and where it turns.

A claim rests on the scores that there are. Those that are missing may be missing for a reason: a
variant that fails, or cannot be judged, where it does worst looks better than it is. So each claim
is asked again with the missing scores filled in: of the variant that it favours at a level that
sinks until the claim no longer holds (a tipping point; Yan, Lee & Li 2009, Stat Biosci 1:223), and
at the worst for it that scores can be (Manski 1990, Am Econ Rev 80:319).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from matrix.stats.looks.boundary import Boundary
from matrix.stats.rounds.differences import differences_of
from matrix.stats.rounds.round_table import FloatArray, RoundTable
from matrix.stats.rounds.rules import Rules
from matrix.stats.verdicts.comparisons import Comparison, failures_of_pair
from matrix.stats.verdicts.one_look import difference_once
from matrix.stats.verdicts.ruling import inside

if TYPE_CHECKING:
    from matrix.stats.verdicts.sequential import LookOutcome

STEPS = 40
"""Halvings in the search for where a claim turns: to 1e-12 of the range of scores."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One comparison behind a claim, with the sessions of its two variants that have no score.

    Attributes:
        variant: Index of the variant that is claimed to be better; of equivalence, either.
        rival: Index of the other one.
        missing: Sessions of ``variant`` without a score, in rounds that both took part in.
        rival_missing: Those of the rival.
        turns_at: Mean score of ``variant``'s missing sessions at which the claim no longer holds,
            the rival's being as its others are; ``None`` where no possible score does that, or
            none is missing.
        overturned: Whether the claim falls if ``variant``'s are all the worst possible scores and
            the rival's the best.
    """

    variant: int
    rival: int
    missing: int
    rival_missing: int
    turns_at: float | None
    overturned: bool


def sensitivities(finding: LookOutcome, table: RoundTable, rules: Rules) -> tuple[Sensitivity, ...]:
    """Of each comparison that a winner or equivalence rests on; none for other verdicts.

    Args:
        finding: What was claimed.
        table: The rounds as the look that decided saw them.
        rules: What was declared before launch. Without bounds of the score, the least and the
            greatest that were seen take their place.
    """
    kind, winner = finding.ruling.kind, finding.ruling.ahead
    ends = worst_and_best(table, rules)
    if ends is None:
        return ()
    if kind == "equivalent":
        pairs = [pair for pair in finding.comparisons if inside(pair, rules.delta)]
        return tuple(_of_equivalence(pair, table, rules, ends) for pair in pairs)
    if kind != "winner" or winner is None:
        return ()
    out = _out(finding)
    pairs = [p if p.b == winner else p.reversed() for p in finding.claims if winner in (p.a, p.b)]
    led = [p for p in pairs if p.a not in out and p.interval is not None and _leads(p, rules)]
    unseen = [pair for pair in pairs if out.get(pair.a) == "unscored"]
    return (
        *(_of_lead(pair, table, rules, ends) for pair in led),
        *(_of_unseen(pair, table, rules, ends) for pair in unseen),
    )


def gate_rests_on_lacking(finding: LookOutcome, table: RoundTable, rules: Rules) -> bool:
    """Whether the winner would pass no failure gate if the rows that it lacks had failed.

    Programs that write only what came to its end leave out just those. False where a table lacks
    none, as those of runs that were played here.

    Args:
        finding: What was claimed.
        table: The rounds as the look that decided saw them.
        rules: What was declared before launch.
    """
    winner = finding.ruling.ahead
    if not table.lacking or finding.ruling.kind != "winner" or winner is None:
        return False
    lost = table.errored[:, :, winner] & table.without_score(winner)
    if not lost.any():
        return False
    failed, errored = table.failed.copy(), table.errored.copy()
    failed[:, :, winner] |= lost
    errored[:, :, winner] &= ~lost
    at_worst = replace(table, failed=failed, errored=errored)
    rivals = set(range(table.n_variants)) - {winner} - _out(finding).keys()
    return not all(
        failures_of_pair(at_worst, rival, winner, rules).b_non_inferior(rules.failure_margin)
        for rival in rivals
    )


def _out(finding: LookOutcome) -> dict[int, str]:
    """Variants that are out whatever their scores, and why."""
    return {one.variant: one.why for one in finding.beaten if one.why != "score"}


def _of_lead(
    pair: Comparison, table: RoundTable, rules: Rules, ends: tuple[float, float]
) -> Sensitivity:
    """``pair`` has the winner as b."""
    mine, theirs = _missing(table, pair.b, pair.a), _missing(table, pair.a, pair.b)
    if not (mine or theirs):
        return Sensitivity(pair.b, pair.a, 0, 0, None, overturned=False)
    worst, best = ends
    usual = _mean(table, pair.a)

    def holds(own: float, other: float) -> bool:
        return _still_leads(pair, filled(table, {pair.b: own, pair.a: other}), rules)

    overturned = not holds(worst, best)
    turns = None
    if mine and not holds(worst, usual):
        low, high = worst, _mean(table, pair.b)
        if not holds(high, usual):
            turns = high
        for _ in range(STEPS if turns is None else 0):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle, usual) else (middle, high)
        turns = high if turns is None else turns
    return Sensitivity(pair.b, pair.a, mine, theirs, turns, overturned=overturned)


def _of_unseen(
    pair: Comparison, table: RoundTable, rules: Rules, ends: tuple[float, float]
) -> Sensitivity:
    """Of a rival that is out because it has too few scores: who it is better than, they would say.

    ``pair`` has the winner as b.
    """
    mine, theirs = _missing(table, pair.b, pair.a), _missing(table, pair.a, pair.b)
    worst, best = ends
    at_worst = filled(table, {pair.b: worst, pair.a: best})
    overturned = bool(theirs) and not _still_leads(pair, at_worst, rules)
    return Sensitivity(pair.b, pair.a, mine, theirs, None, overturned=overturned)


def _of_equivalence(
    pair: Comparison, table: RoundTable, rules: Rules, ends: tuple[float, float]
) -> Sensitivity:
    mine, theirs = _missing(table, pair.b, pair.a), _missing(table, pair.a, pair.b)
    either_way = (ends, ends[::-1]) if mine or theirs else ()
    overturned = False
    for own, other in either_way:
        low, high = _ends(pair, filled(table, {pair.b: own, pair.a: other}), rules)
        overturned |= not max(-low, high) < (rules.delta or 0.0)
    return Sensitivity(pair.b, pair.a, mine, theirs, None, overturned=overturned)


def _leads(pair: Comparison, rules: Rules) -> bool:
    return pair.sign == (1 if rules.higher_is_better else -1)


def _still_leads(pair: Comparison, table: RoundTable, rules: Rules) -> bool:
    low, high = _ends(pair, table, rules)
    return low > 0.0 if rules.higher_is_better else high < 0.0


def _ends(pair: Comparison, table: RoundTable, rules: Rules) -> tuple[float, float]:
    """Ends of the interval with scores filled in, by the same look."""
    if rules.engine == "fixed":
        once = difference_once(table, pair.a, pair.b, pair.level, rules.unit)
        if once.interval is not None:
            return once.interval.low, once.interval.high
        if once.mean is None or once.se is None:
            return -inf, inf
        return once.mean, once.mean
    found = differences_of(table, pair.a, pair.b, rules.unit)
    boundary = Boundary(rules.engine, pair.level, table.n_rounds_planned, rules.first_look)
    look = boundary.last_look(table.prefix_length) - 1
    radius = float(boundary.radii(found.info[[look]], found.df[[look]])[0])
    mean, half = float(found.mean[-1]), radius * float(found.se[-1])
    return mean - half, mean + half


def filled(table: RoundTable, scores: dict[int, float]) -> RoundTable:
    """The table with one score for all missing ones of a variant, by its index."""
    values: FloatArray = table.scores.copy()
    for variant, score in scores.items():
        values[:, :, variant][table.without_score(variant)] = score
    return replace(table, scores=values)


def _missing(table: RoundTable, variant: int, other: int) -> int:
    """Sessions without a score, lost to infrastructure or not, where both variants took part."""
    return int(table.without_score(variant)[table.both_live(variant, other)].sum())


def _mean(table: RoundTable, variant: int) -> float:
    return float(np.nanmean(table.scores[:, :, variant]))


def worst_and_best(table: RoundTable, rules: Rules) -> tuple[float, float] | None:
    """The ends of what a score can be; of what was seen, where no bounds are known."""
    ends = rules.score_bounds or _seen_range(table)
    return ends if ends is None or rules.higher_is_better else ends[::-1]


def _seen_range(table: RoundTable) -> tuple[float, float] | None:
    """The least and the greatest score there is; ``None`` if there is none."""
    known = table.scores[~np.isnan(table.scores)]
    return (float(known.min()), float(known.max())) if known.size else None
