"""From a run's tables to a verdict on one factor: pairing, statistics, one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from matrix.engine.looks import declared_rules
from matrix.report.matching import factor_matchup
from matrix.report.matchup import Matchup
from matrix.report.text import plural
from matrix.stats import Verdict, verdict_of, verdict_sentence
from matrix.stats.rules import Flag
from matrix.store.reader import RunTables
from matrix.store.run_folder import RunFile

FLAGS: Mapping[Flag, str] = {
    "fragile": "fragile: the sessions without a score could overturn it",
    "these scenarios only": "about the scenarios played, not others like them",
}
"""What the flags of a verdict say to people."""

_ENGINES = {
    "fixed": "t intervals",
    "planned": "intervals that allow for a look after every round",
    "open-ended": "intervals that allow for looks at any time",
}

SCENARIOS_ONLY: Flag = "these scenarios only"


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One level of the compared factor, with every denominator."""

    level: str
    sessions: int
    ended: int
    failed: int
    errored: int
    censored: int
    mean: float | None
    low: float | None
    high: float | None
    cost_per_completed_usd: float | None


@dataclass(frozen=True, slots=True)
class FactorComparison:
    """A factor's levels compared on one metric: table, verdict, and the sentence that says it."""

    factor: str
    metric: str
    rows: tuple[VariantRow, ...]
    verdict: Verdict
    sentence: str
    rests_on: str
    simulated: bool


def compare_factor(
    tables: RunTables,
    run: RunFile,
    factor: str | None = None,
    metric: str | None = None,
    margin: float | None = None,
) -> FactorComparison:
    """Compare the levels of a factor, paired by round, scenario and every other factor.

    Raises:
        BadInput: No such factor or metric, or nothing to compare.
    """
    return compare(factor_matchup(tables, run, factor), metric, margin)


def compare(
    matchup: Matchup, metric: str | None = None, margin: float | None = None
) -> FactorComparison:
    """Compare the variants of a matchup on one metric, the declared one if left out.

    Raises:
        BadInput: There is no such metric.
    """
    chosen = metric or matchup.metric
    table, left_out = matchup.round_table(chosen)
    rules = declared_rules(matchup.spec, matchup.kind, metric=chosen, margin=margin)
    verdict = verdict_of(table, rules, plan_over=matchup.over)
    return FactorComparison(
        factor=matchup.factor,
        metric=chosen,
        rows=tuple(_row(matchup, verdict, index) for index in range(len(matchup.variants))),
        verdict=verdict,
        sentence=verdict_sentence(
            verdict,
            matchup.variants,
            "" if chosen == "score" else chosen,
            "points" if chosen == "score" else "",
            matchup.unit,
        ),
        rests_on=_rests_on(verdict, matchup, left_out),
        simulated=matchup.simulated,
    )


def _row(matchup: Matchup, verdict: Verdict, index: int) -> VariantRow:
    mine = matchup.sides == index
    outcomes = Counter(matchup.outcomes[mine])
    completed = outcomes["completed"]
    summary = verdict.variants[index]
    bounds = verdict.rules.score_bounds or (-inf, inf)  # a mean cannot lie outside them either
    return VariantRow(
        level=matchup.variants[index],
        sessions=int(mine.sum()) - outcomes["dropped"],
        ended=completed + outcomes["timeout"],
        failed=outcomes["failed"] + outcomes["timeout"],
        errored=outcomes["errored"],
        censored=outcomes["censored"],
        mean=summary.mean,
        low=None if summary.interval is None else max(summary.interval.low, bounds[0]),
        high=None if summary.interval is None else min(summary.interval.high, bounds[1]),
        cost_per_completed_usd=float(matchup.cost_usd[mine].sum()) / completed
        if completed
        else None,
    )


def _rests_on(verdict: Verdict, matchup: Matchup, left_out: int) -> str:
    unit = matchup.unit
    parts = [
        f"{plural(verdict.rounds_used, f'complete {unit}')} of "
        f"{verdict.rounds_planned:,}, {matchup.basis}",
        f"{100 * (1 - verdict.rules.alpha):.4g} % {_ENGINES[verdict.rules.engine]} on {unit} "
        "differences"
        + (
            f", level {verdict.comparisons[0].level:.3g} per pair"
            if len(verdict.variants) > 2
            else ""
        ),
    ]
    if left_out:
        parts.append(
            f"{plural(left_out, 'pair')} left out for want of a value, which may favour a variant"
        )
    if verdict.pairs_errored > left_out:
        lost = plural(verdict.pairs_errored - left_out, "pair")
        parts.append(f"{lost} dropped for infrastructure errors")
    if verdict.pairs_unscored:
        parts.append(
            f"{plural(verdict.pairs_unscored, 'pair')} without a score because a variant failed"
        )
    flags = [flag for flag in verdict.flags if not (matchup.scope and flag == SCENARIOS_ONLY)]
    parts += [*(FLAGS[flag] for flag in flags), *([matchup.scope] if matchup.scope else [])]
    if matchup.simulated:
        parts.append("simulated models")
    return "; ".join(parts)
