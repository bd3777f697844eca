"""Which variant won, or why that cannot be said: the rules, apart from how intervals are made.

The claim "winner" has two parts that must both hold: a better score than every other variant on
completed sessions, and a failure rate shown to be at most a margin above that of each of them.
"Stopped by the cost cap" is a reason, never a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.multiplicity import pairwise_level
from matrix.stats.looks.boundary import Boundary
from matrix.stats.looks.failures import check_score_bounds
from matrix.stats.rounds.own_mean import own_mean
from matrix.stats.rounds.round_table import FloatArray, RoundTable
from matrix.stats.rounds.rules import Flag, Reason, Rules, VerdictKind
from matrix.stats.verdicts.comparisons import Comparison, fixed_n_comparisons
from matrix.stats.verdicts.ruling import Ruling, crowned, decide, too_early
from matrix.stats.verdicts.sensitivity import Sensitivity, gate_rests_on_lacking, sensitivities
from matrix.stats.verdicts.sequential import Beaten, LookOutcome, look, with_few_scores

DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class VariantSummary:
    """One variant by itself. Overlap of two such intervals decides nothing: see comparisons.

    Attributes:
        index: Index of the variant.
        n_rounds: Rounds in the mean.
        mean: Mean over its own scored sessions, scenarios weighing equally; ``None`` without any.
        interval: Interval of that at ``1 - alpha``, wide enough for all looks of the engine;
            ``None`` below two rounds, without spread, and before the first look of an engine that
            looks repeatedly.
        sessions: Sessions at risk of failure in the complete prefix.
        failures: Product failures among them.
        unscored: Those among them that have no score, failed or not.
        approximate: Whether the interval may cover less than it says.
    """

    index: int
    n_rounds: int
    mean: float | None
    interval: Interval | None
    sessions: int
    failures: int
    unscored: int = 0
    approximate: bool = False


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
        comparisons: All pairs at ``alpha / (k - 1)``, at which those of one variant hold together,
            as the look that decided saw them, or else the last look.
        claims: The same at plain level ``alpha``: what naming a winner rests on.
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
        rounds_used: Rounds that the decisive comparison rests on, or else the prefix.
        pairs_errored: Pairs (scenario x round) of the decisive comparison, or else of the worst
            pair of variants, that were lost to infrastructure.
        pairs_unscored: Further ones in which one of the two has no score.
        sensitivity: Of each rival of the winner (or, of equivalence, each pair): what the sessions
            without a score could change.
        decided_at: Length of the prefix at the first look that decided, for a winner or for
            equivalence; ``None`` for other verdicts. Later rounds never change the verdict.
        beaten: Variants that cannot win any more, in the order in which that was shown; they may
            be left out of rounds to come. With the fixed engine, those that fail too often or have
            hardly a score.
    """

    kind: VerdictKind
    winner: int | None
    ahead: int | None
    decisive: Comparison | None
    comparisons: tuple[Comparison, ...]
    claims: tuple[Comparison, ...]
    variants: tuple[VariantSummary, ...]
    reasons: tuple[Reason, ...]
    flags: tuple[Flag, ...]
    extra_rounds: int | None
    winner_rounds: int | None
    rules: Rules
    rounds_planned: int
    rounds_complete: int
    rounds_used: int
    pairs_errored: int
    pairs_unscored: int
    sensitivity: tuple[Sensitivity, ...] = ()
    decided_at: int | None = None
    beaten: tuple[Beaten, ...] = ()


def verdict_of(
    table: RoundTable, rules: Rules = DEFAULT_RULES, *, plan_over: bool | None = None
) -> Verdict:
    """Give the verdict by the engine that ``rules`` declare.

    With ``fixed`` this is `fixed_n_verdict`. The other engines look after every complete round
    from the tenth on, and may name a winner or equivalence before the plan is over; "no difference"
    is said only at its end. See `matrix.stats.verdicts.sequential.look`.

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
        plan_over: Whether the plan may be looked at: by default, whether all its rounds are
            complete. That a cap has ended it is no reason.

    Raises:
        ValueError: With fewer than two variants, a score outside ``rules.score_bounds``, or rules
            that declare another engine.
    """
    if rules.engine != "fixed":
        raise ValueError(f"the rules declare the engine {rules.engine!r}; use verdict_of")
    check_score_bounds(table, rules.score_bounds)
    strict = pairwise_level(rules.alpha, table.n_variants)
    found = fixed_n_comparisons(table, rules, strict)
    claims = found if strict == rules.alpha else fixed_n_comparisons(table, rules, rules.alpha)
    if plan_over is None:
        plan_over = table.prefix_length == table.n_rounds_planned
    early = too_early(table, rules, plan_over=plan_over)
    if early is not None:
        return _assembled(table, rules, LookOutcome(early, found, claims, None, ()))
    failing = _out(found, table, rules, strict)
    ruling = _ruled(found, claims, failing, table, rules)
    decided = table.prefix_length if ruling.kind in ("winner", "equivalent") else None
    return _assembled(table, rules, LookOutcome(ruling, found, claims, decided, failing))


def _out(
    pairs: tuple[Comparison, ...], table: RoundTable, rules: Rules, strict: float
) -> tuple[Beaten, ...]:
    """Variants with hardly a score, or shown to fail more often by more than the margin."""
    gone: dict[int, Beaten] = {}
    for pair in pairs:
        for one in (pair, pair.reversed()):
            if one.failures.b_exceeds(rules.failure_margin, strict):
                gone.setdefault(one.b, Beaten(one.b, one.a, table.prefix_length, "failures"))
    for mute in with_few_scores(table, rules, table.prefix_length):
        gone.setdefault(mute.variant, mute)
    return tuple(gone.values())


def _ruled(
    found: tuple[Comparison, ...],
    claims: tuple[Comparison, ...],
    failing: tuple[Beaten, ...],
    table: RoundTable,
    rules: Rules,
) -> Ruling:
    out = {one.variant for one in failing}
    left = [index for index in range(table.n_variants) if index not in out]
    if len(left) == 1:
        return crowned(claims, left[0], set(left), out, rules)

    def among(pairs: tuple[Comparison, ...]) -> list[Comparison]:
        return [pair for pair in pairs if pair.a in left and pair.b in left]

    return decide(among(claims), among(found), table, rules, left)


def _is_over(table: RoundTable, plan_over: bool | None) -> bool:
    return table.open_sessions == 0 if plan_over is None else plan_over


def _assembled(table: RoundTable, rules: Rules, finding: LookOutcome) -> Verdict:
    """The verdict with its summaries, flags and denominators."""
    ruling = finding.ruling
    seen = table if finding.decided_at is None else table.up_to(finding.decided_at)
    shaken = sensitivities(finding, seen, rules)
    flags: tuple[Flag, ...] = ("these scenarios only",)
    if any(one.overturned for one in shaken) or gate_rests_on_lacking(finding, seen, rules):
        flags = ("fragile", *flags)
    pairs = finding.claims if ruling.decisive is None else (ruling.decisive,)
    # failures decide over rounds in which nobody may have a score
    decisive = None if ruling.reasons[0] == "others fail too often" else ruling.decisive
    return Verdict(
        kind=ruling.kind,
        winner=ruling.ahead if ruling.kind == "winner" else None,
        ahead=ruling.ahead,
        decisive=ruling.decisive,
        comparisons=finding.comparisons,
        claims=finding.claims,
        variants=_summaries(table, rules),
        reasons=ruling.reasons,
        flags=flags,
        extra_rounds=ruling.extra_rounds,
        winner_rounds=ruling.winner_rounds,
        rules=rules,
        rounds_planned=table.n_rounds_planned,
        rounds_complete=table.prefix_length,
        rounds_used=seen.prefix_length if decisive is None else decisive.n,
        pairs_errored=max(pair.errored for pair in pairs),
        pairs_unscored=max(pair.unscored for pair in pairs),
        sensitivity=shaken,
        decided_at=finding.decided_at,
        beaten=finding.beaten,
    )


def known_bounds(table: RoundTable, rules: Rules) -> tuple[float, float] | None:
    """Of scores, or of their means: those declared, or 0 and 1 where both and no other were given.

    Scores that are all 0, or all 1, may be anything: a count or a sum, of which no more is known.
    """
    if rules.score_bounds is not None:
        return rules.score_bounds
    given = np.unique(table.scores[~np.isnan(table.scores)])
    return (0.0, 1.0) if given.tolist() == [0.0, 1.0] else None


def _summaries(table: RoundTable, rules: Rules) -> tuple[VariantSummary, ...]:
    failures, sessions, unscored = table.failures, table.sessions, table.unscored
    found, bounds = [], known_bounds(table, rules)
    for index in range(table.n_variants):
        scores = table.scores[table.live[:, index], :, index]
        radius = _radius(scores, table, rules)
        own = own_mean(scores, rules.alpha, radius=radius, bounds=bounds)
        found.append(
            VariantSummary(
                index,
                own.n_rounds,
                own.mean,
                own.interval,
                int(sessions[index]),
                int(failures[index]),
                int(unscored[index]),
                own.approximate,
            )
        )
    return tuple(found)


def _radius(scores: FloatArray, table: RoundTable, rules: Rules) -> float | None:
    """Half-width in standard errors that allows for the looks of the engine; ``None`` for one.

    Looks go by the rounds that ended; rounds without a score cost degrees of freedom, as of pairs.
    """
    if rules.engine == "fixed":
        return None
    boundary = Boundary(rules.engine, rules.alpha, table.n_rounds_planned, rules.first_look)
    look = np.array([boundary.last_look(len(scores))])
    scored = int((~np.isnan(scores)).any(axis=1).sum())
    return float(boundary.radii(look, np.array([scored - 1.0]))[0])
