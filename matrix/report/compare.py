"""From a run's tables to a verdict on one factor: pairing, statistics, one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from matrix.engine.looks import declared_rules
from matrix.engine.registry import load_kind
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.spec import RunSpec
from matrix.report.pairing import Pairing, pairing_of
from matrix.report.rounds import round_table, session_values
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
    spec = RunSpec.model_validate(run.spec)
    pairing = pairing_of(run)
    factors = pairing.factors
    chosen = _factor(factor or run.plan.compared, factors)
    metric = metric or run.plan.metric
    levels = list(factors[chosen])
    data = session_values(tables, run, pairing, chosen, metric)
    rules = declared_rules(spec, load_kind(run.kind), metric=metric, margin=margin)
    verdict = verdict_of(
        round_table(data, tables, run, pairing, chosen),
        rules,
        plan_over=run.status != "running",
    )
    return FactorComparison(
        factor=chosen,
        metric=metric,
        rows=tuple(_row(data, level, verdict, index) for index, level in enumerate(levels)),
        verdict=verdict,
        sentence=verdict_sentence(
            verdict,
            levels,
            "" if metric == "score" else metric,
            "points" if metric == "score" else "",
            pairing.unit,
        ),
        rests_on=_rests_on(verdict, run, pairing),
        simulated=run.simulated,
    )


def _factor(name: str | None, factors: Mapping[str, Sequence[str]]) -> str:
    comparable = [factor for factor, levels in factors.items() if len(levels) > 1]
    if name is None or name not in factors:
        found = "no factor given" if name is None else f"found {name!r}"
        hint = did_you_mean(name or "", comparable)
        raise BadInput(
            [
                Mistake(
                    "--factor",
                    None,
                    "",
                    f"{found}; factors with several levels: {', '.join(comparable) or 'none'}"
                    f"{hint}",
                )
            ]
        )
    if name not in comparable:
        raise BadInput(
            [Mistake("--factor", None, "", f"{name!r} has only one level, so nothing to compare")]
        )
    return name


def _row(data: Any, level: str, verdict: Verdict, index: int) -> VariantRow:
    mine = data[data["level"] == level]
    outcomes = mine["outcome"].value_counts()
    completed = int(outcomes.get("completed", 0))
    summary = verdict.variants[index]
    bounds = verdict.rules.score_bounds or (-inf, inf)  # a mean cannot lie outside them either
    return VariantRow(
        level=level,
        sessions=len(mine),
        ended=completed + int(outcomes.get("timeout", 0)),
        failed=int(outcomes.get("failed", 0)) + int(outcomes.get("timeout", 0)),
        errored=int(outcomes.get("errored", 0)),
        censored=int(outcomes.get("censored", 0)),
        mean=summary.mean,
        low=None if summary.interval is None else max(summary.interval.low, bounds[0]),
        high=None if summary.interval is None else min(summary.interval.high, bounds[1]),
        cost_per_completed_usd=float(mine["cost_usd"].sum()) / completed if completed else None,
    )


def _rests_on(verdict: Verdict, run: RunFile, pairing: Pairing) -> str:
    parts = [
        f"{plural(verdict.rounds_used, f'complete {pairing.unit}')} of "
        f"{verdict.rounds_planned:,}, {pairing.basis}",
        f"{100 * (1 - verdict.rules.alpha):.4g} % t intervals on {pairing.unit} differences"
        + (
            f", level {verdict.comparisons[0].level:.3g} per pair"
            if len(verdict.variants) > 2
            else ""
        ),
    ]
    if verdict.pairs_errored:
        parts.append(f"{plural(verdict.pairs_errored, 'pair')} dropped for infrastructure errors")
    if verdict.pairs_unscored:
        parts.append(
            f"{plural(verdict.pairs_unscored, 'pair')} without a score because a variant failed"
        )
    flags = [flag for flag in verdict.flags if not (pairing.scope and flag == SCENARIOS_ONLY)]
    parts += [*(FLAGS[flag] for flag in flags), *([pairing.scope] if pairing.scope else [])]
    if run.simulated:
        parts.append("simulated models")
    return "; ".join(parts)
