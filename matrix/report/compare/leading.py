"""Which two variants the sections of a comparison look at more closely, and their cost by round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matrix.report.compare.compare import MatchupVerdict

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lead:
    """Two variants, by index; every difference is ``first`` minus ``second``.

    Attributes:
        first: The one with the better mean.
        second: The one that comes closest to it, or the baseline.
    """

    first: int
    second: int


def leading_pair(judged: MatchupVerdict, against: int | None = None) -> Lead | None:
    """The variant that is ahead and its closest rival; ``None`` with fewer than two means.

    Beaten variants are rivals only if nobody else is left. With a baseline, the pair is the best of
    the others and the baseline, the better one first.
    """
    verdict = judged.verdict
    decisive = None if verdict.kind == "equivalent" else verdict.decisive
    if against is None and decisive is not None:
        return Lead(decisive.b, decisive.a)  # the pair that the verdict's sentence is about
    beaten = {one.variant for one in verdict.beaten}
    known = [
        (one.index in beaten, -judged.sign * one.mean, one.index)
        for one in verdict.variants
        if one.mean is not None
    ]
    ranked = [index for _, _, index in sorted(known)]
    if against is not None and against in ranked:
        others = [index for index in ranked if index != against]
        ranked = sorted([against, *others[:1]], key=ranked.index)
    return Lead(ranked[0], ranked[1]) if len(ranked) > 1 else None


def cube_of(judged: MatchupVerdict, values: Floats) -> Floats:
    """A value of every session of the complete prefix, [rounds, strata, variants]; NaN if none."""
    return judged.matchup.cube(judged.table, values)


def costs_by_round(judged: MatchupVerdict) -> Floats:
    """Mean cost of a session in US dollars, [rounds of the prefix, variants]; failures included.

    Sessions lost to infrastructure are left out, as they are of scores; NaN for a variant that has
    no other in a round.
    """
    kept = judged.table.not_errored
    return _mean_cost(cube_of(judged, judged.matchup.cost_usd), kept)


def paired_costs(judged: MatchupVerdict, a: int, b: int) -> Floats:
    """Mean costs of two variants over the pairs of which neither was lost, [rounds, 2]."""
    cost = cube_of(judged, judged.matchup.cost_usd)[:, :, [a, b]]
    kept = np.repeat(judged.table.at_risk(a, b)[:, :, None], 2, axis=2)
    found = _mean_cost(cost, kept)
    return found[~np.isnan(found).any(axis=1)]


def costs_alone(judged: MatchupVerdict, variant: int) -> Floats:
    """Costs of all sessions of a variant that nothing pairs, but those lost to infrastructure.

    Of units that it alone has, the mean of each one's sessions.

    Scenarios weigh the same: each cost is multiplied by how many there would be in its scenario if
    all had as many, over how many there are.
    """
    costs = np.where(judged.table.errored, np.nan, cube_of(judged, judged.matchup.cost_usd))
    if judged.matchup.grouped:
        costs = judged.matchup.unit_means(costs)
    cost = costs[:, :, variant]
    kept = ~np.isnan(cost)
    counts = kept.sum(axis=0)
    even = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
    return np.asarray((cost * even)[kept])


def _mean_cost(cost: Floats, kept: npt.NDArray[np.bool_]) -> Floats:
    sessions = kept.sum(axis=1)
    total = np.where(kept, cost, 0.0).sum(axis=1)
    return np.where(sessions > 0, total / np.maximum(sessions, 1), np.nan)
