"""What quality costs: ratios of costs, who dominates whom, and the frontier of those left."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from matrix.report.compare.compare import MatchupVerdict
from matrix.report.compare.judges.judge_bias import gate_without_error
from matrix.report.compare.leading import Lead, costs_alone, costs_by_round, paired_costs
from matrix.stats import (
    CostRatio,
    Interval,
    cost_ratio,
    cost_ratio_jackknife,
    cost_ratio_unpaired,
    dominates,
    frontier,
)
from matrix.stats import frontier_membership as membership_of
from matrix.stats.estimates.bootstrap import DRAWS
from matrix.stats.gates.gate import all_alike, gate_of_interval
from matrix.stats.rounds.rules import Unit
from matrix.stats.verdicts.one_look import difference_once

NO_MARGIN = 1e-9
"""Margin of the gate where none is declared: then only a variant shown to be better, beyond
rounding, is surely no worse."""

MANY_ROUNDS = 1_000
"""Rounds from which the jackknife says what the bootstrap does, in a fraction of the time."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CostRow:
    """One variant on both counts.

    Attributes:
        level: Its name.
        mean: Mean of the metric.
        cost_per_session_usd: Mean cost of a session over the same rounds, failures included.
        ratio: That over the reference's; ``None`` for the reference itself and without money.
        low: Lower end of an approximate interval for the ratio.
        high: Upper end.
        on_frontier: Whether no other variant is at least as good and as cheap, and one of both.
        membership: Share of resampled rounds in which it is; descriptive. ``None`` where nothing
            pairs sessions.
    """

    level: str
    mean: float | None
    cost_per_session_usd: float | None
    ratio: float | None
    low: float | None
    high: float | None
    on_frontier: bool | None
    membership: float | None


@dataclass(frozen=True, slots=True)
class CostQuality:
    """Cost beside quality.

    Attributes:
        reference: The variant that ratios are over.
        confidence: Of the intervals, which are approximate.
        margin: How much worse counts as no worse; ``None``: only what is shown to be better does.
        rounds: Rounds that all variants took part in: the frontier is of these.
        rows: One per variant.
        dominating: Pairs (who, whom): shown to be no worse and cheaper, at `strict`.
        strict: Error rate of each of those claims: all of them err together at the declared one.
    """

    reference: str
    confidence: float
    margin: float | None
    rounds: int
    rows: tuple[CostRow, ...]
    dominating: tuple[tuple[str, str], ...]
    strict: float


def cost_quality_of(
    judged: MatchupVerdict, lead: Lead, rng: np.random.Generator
) -> CostQuality | None:
    """Cost beside quality; ``None`` where the metric is money itself, or costs are not known.

    Args:
        judged: The comparison.
        lead: The leading pair; ratios are over the first of it.
        rng: Source of the draws.
    """
    if not judged.matchup.paired:
        return _unpaired(judged, lead)
    costs = costs_by_round(judged)
    if judged.metric == "cost_usd" or judged.matchup.unpriced or not np.nansum(costs) > 0:
        return None
    table, names, rules = judged.table, judged.matchup.variants, judged.verdict.rules
    ratios, dominating = {}, []
    pairs = list(combinations(range(len(names)), 2))
    strict, aside = rules.alpha / len(pairs), rng.spawn(1)[0]
    for a, b in pairs:
        spent = paired_costs(judged, a, b)
        ratio = _ratio(spent[:, 0], spent[:, 1], rng, rules.alpha)
        ratios[a, b], ratios[b, a] = ratio, _inverse(ratio)
        surely = ratio if len(pairs) == 1 else _ratio(spent[:, 0], spent[:, 1], aside, strict)
        dominating += _who_dominates(judged, a, b, surely, strict)
    means = table.together(range(len(names)))
    together = ~np.isnan(means).any(axis=1) & ~np.isnan(costs).any(axis=1)
    on, share = _frontier(judged, means[together], costs[together], rng)
    rows_told = tuple(
        _row(
            judged, _known_mean(costs[:, index]), index, ratios.get((lead.first, index)), on, share
        )
        for index in range(len(names))
    )
    return CostQuality(
        reference=names[lead.first],
        confidence=1.0 - rules.alpha,
        margin=rules.delta,
        rounds=int(together.sum()),
        rows=rows_told,
        dominating=tuple(dominating),
        strict=strict,
    )


def _unpaired(judged: MatchupVerdict, lead: Lead) -> CostQuality | None:
    """The same of samples that share nothing: of all sessions of each variant."""
    names, rules = judged.matchup.variants, judged.verdict.rules
    costs = [costs_alone(judged, index) for index in range(len(names))]
    means = [one.mean for one in judged.verdict.variants]
    unknown = judged.metric == "cost_usd" or judged.matchup.unpriced
    if unknown or min(one.size for one in costs) == 0 or not sum(one.sum() for one in costs) > 0:
        return None
    pairs = list(combinations(range(len(names)), 2))
    strict, ratios, dominating = rules.alpha / len(pairs), {}, []
    for a, b in pairs:
        ratio = cost_ratio_unpaired(costs[a], costs[b], rules.alpha)
        ratios[a, b], ratios[b, a] = ratio, _inverse(ratio)
        surely = cost_ratio_unpaired(costs[a], costs[b], strict)
        dominating += _who_dominates(judged, a, b, surely, strict)
    each, on = [float(one.mean()) for one in costs], None
    if None not in means:
        quality = [one or 0.0 for one in means]
        on = frontier(quality, each, higher_is_better=rules.higher_is_better).tolist()
    return CostQuality(
        reference=names[lead.first],
        confidence=1.0 - rules.alpha,
        margin=rules.delta,
        rounds=min(one.size for one in costs),
        rows=tuple(
            _row(judged, each[index], index, ratios.get((lead.first, index)), on, None)
            for index in range(len(names))
        ),
        dominating=tuple(dominating),
        strict=strict,
    )


def _known_mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _who_dominates(
    judged: MatchupVerdict, a: int, b: int, surely: CostRatio, strict: float
) -> list[tuple[str, str]]:
    """Of two variants, which dominates which; ``surely`` is b's cost over a's at ``strict``."""
    names = judged.matchup.variants
    return [
        (names[one], names[other])
        for one, other, ratio in ((a, b, _inverse(surely)), (b, a, surely))
        if _dominates(judged, one, other, ratio, strict)
    ]


def _ratio(first: Floats, second: Floats, rng: np.random.Generator, alpha: float) -> CostRatio:
    if len(first) >= MANY_ROUNDS or alpha * DRAWS < 2:  # no draw lies beyond such a level
        return cost_ratio_jackknife(first, second, alpha)
    return cost_ratio(first, second, rng, alpha)


def _dominates(
    judged: MatchupVerdict, one: int, other: int, ratio: CostRatio, alpha: float
) -> bool:
    """Whether ``one`` is shown to be no worse than ``other`` and cheaper, each at ``alpha``."""
    names = judged.matchup.variants
    if judged.void is not None and judged.void.concerns(names[one], names[other]):
        return False
    if "plan not over" in judged.verdict.reasons:
        return False
    rules, paired = judged.verdict.rules, judged.matchup.paired
    unit: Unit = "round" if paired else "unpaired"
    found = difference_once(judged.table, other, one, 2 * alpha, unit)
    interval = found.interval
    if interval is None and paired:
        interval = all_alike(found.mean, found.n, alpha)
    if not found.n or (rules.delta is None and found.identical):
        return False  # identical scores show nothing to be better, however sure they look
    gate = gate_of_interval(
        found.mean,
        interval,
        rules.delta or NO_MARGIN,
        found.n,
        higher_is_better=rules.higher_is_better,
    )
    error = judged.error_between(names[one], names[other])
    return dominates(gate_without_error(gate, error, better=rules.higher_is_better), ratio)


def _frontier(
    judged: MatchupVerdict, means: Floats, costs: Floats, rng: np.random.Generator
) -> tuple[list[bool] | None, list[float] | None]:
    if not len(means):
        return None, None
    higher = judged.verdict.rules.higher_is_better
    on = frontier(means.mean(axis=0), costs.mean(axis=0), higher_is_better=higher)
    share = membership_of(means, costs, rng, higher_is_better=higher)
    return on.tolist(), None if share is None else share.tolist()


def _inverse(ratio: CostRatio) -> CostRatio:
    interval = ratio.interval
    if interval is not None:
        interval = Interval(1 / interval.high, 1 / interval.low, interval.confidence)
    value = None if ratio.ratio is None else 1 / ratio.ratio
    return CostRatio(ratio.n, value, interval, ratio.method)


def _row(
    judged: MatchupVerdict,
    cost: float | None,
    index: int,
    ratio: CostRatio | None,
    on: list[bool] | None,
    share: list[float] | None,
) -> CostRow:
    interval = None if ratio is None else ratio.interval
    return CostRow(
        level=judged.matchup.variants[index],
        mean=judged.verdict.variants[index].mean,
        cost_per_session_usd=cost,
        ratio=None if ratio is None else ratio.ratio,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        on_frontier=None if on is None else on[index],
        membership=None if share is None else share[index],
    )
