"""Which variant won, or why that cannot be said: the rules, apart from how intervals are made.

The claim "winner" has two parts that must both hold: a better score than every other variant on
completed sessions, and a failure rate shown to be at most a margin above that of each of them.
"Stopped by the cost cap" is a reason, never a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matrix.stats.boundary import Boundary
from matrix.stats.comparisons import Comparison, fixed_n_comparisons
from matrix.stats.failures import check_score_bounds, manski_bounds, score_loss
from matrix.stats.interval import Interval
from matrix.stats.means import MeanSummary, summarize
from matrix.stats.round_table import RoundTable
from matrix.stats.rules import Flag, Reason, Rules, VerdictKind
from matrix.stats.ruling import decide, inside, too_early
from matrix.stats.sequential import Beaten, Finding, look

DIFFERENT_FAILURES_P = 0.1
NOTABLE_LOSS = 0.05
DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class VariantSummary:
    """One variant by itself. Overlap of two such intervals decides nothing: see comparisons.

    Attributes:
        index: Index of the variant.
        n_rounds: Rounds in the mean.
        mean: Mean of round means; ``None`` without rounds.
        interval: t interval at ``1 - alpha``, wide enough for all looks of the engine; ``None``
            below two rounds, without spread, and before the first look of an engine that looks
            repeatedly.
        sessions: Sessions at risk of failure in the complete prefix.
        failures: Product failures among them.
    """

    index: int
    n_rounds: int
    mean: float | None
    interval: Interval | None
    sessions: int
    failures: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can honestly be said, and everything it rests on.

    Attributes:
        kind: The verdict.
        winner: Index of the winner; ``None`` unless ``kind`` is ``winner``.
        ahead: Variant whose score is shown to be better than every other's, whether or not that
            makes it the winner.
        decisive: The comparison that decided, or that keeps the one with the best mean from
            winning, b being the better one; ``None`` below ten rounds and, with the fixed engine,
            before the plan is over.
        comparisons: All pairs, as the look that decided saw them, or else the last look.
        variants: One summary each, over the whole prefix.
        reasons: Why, the main one first.
        flags: What to keep in mind with it.
        extra_rounds: Rounds still needed, projected from today's spread; ``None`` where no number
            can be given or none is needed.
        winner_rounds: Rounds still needed until a winner could be named, the failure gate
            included: at least ``extra_rounds``; ``None`` where that is, or if the failures so far
            leave no number to be given.
        rules: What was declared before launch.
        rounds_planned: Rounds of the plan.
        rounds_complete: Length of the complete prefix, rounds after the deciding look included.
        rounds_used: Rounds in the comparisons; with ``rounds_dropped`` they add up to
            ``decided_at``, or else to ``rounds_complete``.
        rounds_dropped: Rounds without a scenario scored for every live variant.
        pairs_errored: Pairs (scenario x round) lost to infrastructure.
        pairs_unscored: Pairs without a comparison of scores because a variant failed.
        decided_at: Length of the prefix at the first look that decided, for a winner or for
            equivalence; ``None`` for other verdicts. Later rounds never change the verdict.
        beaten: Variants that cannot win any more, in the order in which that was shown; they may
            be left out of rounds to come. Empty with the fixed engine.
    """

    kind: VerdictKind
    winner: int | None
    ahead: int | None
    decisive: Comparison | None
    comparisons: tuple[Comparison, ...]
    variants: tuple[VariantSummary, ...]
    reasons: tuple[Reason, ...]
    flags: tuple[Flag, ...]
    extra_rounds: int | None
    winner_rounds: int | None
    rules: Rules
    rounds_planned: int
    rounds_complete: int
    rounds_used: int
    rounds_dropped: int
    pairs_errored: int
    pairs_unscored: int
    decided_at: int | None = None
    beaten: tuple[Beaten, ...] = ()


def verdict_of(
    table: RoundTable, rules: Rules = DEFAULT_RULES, *, plan_over: bool | None = None
) -> Verdict:
    """Give the verdict by the engine that ``rules`` declare.

    With ``fixed`` this is `fixed_n_verdict`. The other engines look after every complete round
    from the tenth on, and may name a winner or equivalence before the plan is over; "no difference"
    is said only at its end. See `matrix.stats.sequential.look`.

    Args:
        table: Complete prefix of rounds for at least two variants.
        rules: What was declared before launch.
        plan_over: Whether no session is running or will be launched. By default, whether every
            planned session has an outcome, censored and dropped ones included.

    Raises:
        ValueError: With fewer than two variants, or a score outside ``rules.score_bounds``.
    """
    if rules.engine == "fixed":
        return fixed_n_verdict(table, rules, plan_over=plan_over)
    check_score_bounds(table, rules.score_bounds)
    finding = look(table, rules, plan_over=_is_over(table, plan_over))
    return _assembled(table, rules, finding)


def fixed_n_verdict(
    table: RoundTable, rules: Rules = DEFAULT_RULES, *, plan_over: bool | None = None
) -> Verdict:
    """Give the verdict of a plan with a fixed number of rounds, looked at once, at its end.

    Before the plan is over the verdict is ``not_enough_data`` whatever the numbers say: a t test
    repeated at every round from 10 to 100 finds a difference between equals in 29 % of runs.

    Args:
        table: Complete prefix of rounds for at least two variants.
        rules: What was declared before launch.
        plan_over: Whether no session is running or will be launched. By default, whether every
            planned session has an outcome, censored ones included.

    Raises:
        ValueError: With fewer than two variants, a score outside ``rules.score_bounds``, or rules
            that declare another engine.
    """
    if rules.engine != "fixed":
        raise ValueError(f"the rules declare the engine {rules.engine!r}; use verdict_of")
    check_score_bounds(table, rules.score_bounds)
    comparisons = fixed_n_comparisons(table, rules.alpha)
    over = _is_over(table, plan_over)
    ruling = too_early(table, rules, plan_over=over) or decide(comparisons, table, rules)
    decided = table.prefix_length if ruling.kind in ("winner", "equivalent") else None
    return _assembled(table, rules, Finding(ruling, comparisons, decided, ()))


def _is_over(table: RoundTable, plan_over: bool | None) -> bool:
    return table.open_sessions == 0 if plan_over is None else plan_over


def _assembled(table: RoundTable, rules: Rules, finding: Finding) -> Verdict:
    """The verdict with its summaries, flags and denominators."""
    ruling, comparisons = finding.ruling, finding.comparisons
    seen = table if finding.decided_at is None else table.up_to(finding.decided_at)
    flags: tuple[Flag, ...] = ("these scenarios only",)
    if _is_fragile(finding, seen, rules):
        flags = ("fragile", *flags)
    return Verdict(
        kind=ruling.kind,
        winner=ruling.ahead if ruling.kind == "winner" else None,
        ahead=ruling.ahead,
        decisive=ruling.decisive,
        comparisons=comparisons,
        variants=_summaries(table, rules),
        reasons=ruling.reasons,
        flags=flags,
        extra_rounds=ruling.extra_rounds,
        winner_rounds=ruling.winner_rounds,
        rules=rules,
        rounds_planned=table.n_rounds_planned,
        rounds_complete=table.prefix_length,
        rounds_used=seen.n_rounds,
        rounds_dropped=seen.rounds_dropped,
        pairs_errored=seen.pairs_errored,
        pairs_unscored=seen.pairs_unscored,
        decided_at=finding.decided_at,
        beaten=finding.beaten,
    )


def _summaries(table: RoundTable, rules: Rules) -> tuple[VariantSummary, ...]:
    failures, sessions = table.failures, table.sessions
    took_part = table.live[table.rounds]
    summaries = [
        summarize(table.means[took_part[:, i], i], rules.alpha) for i in range(table.n_variants)
    ]
    intervals = [_mean_interval(one, rules, table.n_rounds_planned) for one in summaries]
    return tuple(
        VariantSummary(i, s.n, s.mean, interval, int(sessions[i]), int(failures[i]))
        for i, (s, interval) in enumerate(zip(summaries, intervals, strict=True))
    )


def _mean_interval(summary: MeanSummary, rules: Rules, n_planned: int) -> Interval | None:
    """Interval of one variant's mean that allows for the looks of the engine."""
    if rules.engine == "fixed" or summary.mean is None or summary.se is None:
        return summary.interval
    boundary = Boundary(rules.engine, rules.alpha, n_planned)
    radius = float(boundary.radii(np.array([boundary.last_look(summary.n)]))[0])
    if not np.isfinite(radius):
        return None
    half = radius * summary.se
    return Interval(summary.mean - half, summary.mean + half, 1.0 - rules.alpha)


def _claimed(finding: Finding, rules: Rules) -> list[Comparison]:
    """The comparisons that a winner or equivalence rests on; none for other verdicts."""
    ruling, pairs = finding.ruling, finding.comparisons
    if ruling.kind == "equivalent":
        return [pair for pair in pairs if inside(pair, rules.delta)]
    if ruling.kind != "winner":
        return []
    if not finding.beaten:
        return [pair for pair in pairs if ruling.ahead in (pair.a, pair.b)]
    beatings = {frozenset((one.variant, one.by)) for one in finding.beaten}
    return [pair for pair in pairs if frozenset((pair.a, pair.b)) in beatings]


def _is_fragile(finding: Finding, table: RoundTable, rules: Rules) -> bool:
    """Whether missing scores could undo a claim: who is ahead, or that all lie in the margin."""
    ruling = finding.ruling
    for pair in _claimed(finding, rules):
        loss = score_loss(table, pair.a, pair.b)
        if pair.failures.p_mid >= DIFFERENT_FAILURES_P and loss <= NOTABLE_LOSS:
            continue
        low, high = manski_bounds(table, pair.a, pair.b, rules.score_bounds)
        if ruling.kind == "winner" and low <= 0.0 <= high:
            return True
        if ruling.kind == "equivalent" and max(-low, high) >= (rules.delta or 0.0):
            return True
    return False
