"""Where nothing is shown: what shipping each variant now would risk. It never names a winner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matrix.model.seeds import derive_seed
from matrix.report.compare.compare import MatchupVerdict
from matrix.stats.rounds.round_table import FloatArray, RoundTable
from matrix.stats.verdicts.decision import decision_aid

FEWEST_SHARE = 0.5
"""Share of the places in which all that can still win must have a score, or nothing is said: the
others would be compared by what they are missing."""


@dataclass(frozen=True, slots=True)
class RiskRow:
    """One variant.

    Attributes:
        level: Its name.
        chance_best: Posterior chance that it is the best of those compared; ``None`` where unknown.
        expected_loss: What it would give up on average, in units of the metric, if it is shipped
            and another is better.
        cost_usd: Dollars per completed session.
    """

    level: str
    chance_best: float | None
    expected_loss: float | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Risk:
    """What shipping each variant now would risk.

    Attributes:
        rows: The variants, the least expected loss first.
        prior_sd: Standard deviation of the prior of a difference, in units of the metric.
        rounds: Rounds that the pair with the fewest has in common.
    """

    rows: tuple[RiskRow, ...]
    prior_sd: float
    rounds: int


def risk_of(judged: MatchupVerdict, costs: tuple[float | None, ...]) -> Risk | None:
    """The risk of each variant; ``None`` where something is shown, or nothing can be said.

    Nothing is said of samples that nothing pairs, which have no rounds to draw from, nor where many
    scores of those that can still win are missing; one that is out has
    no figures.

    Args:
        judged: The comparison.
        costs: Dollars per completed session, by variant.
    """
    verdict, table = judged.verdict, judged.table
    early = table.prefix_length < verdict.rules.first_look
    if verdict.kind in ("winner", "equivalent") or early or not judged.matchup.paired:
        return None
    rng = np.random.default_rng(derive_seed("compare", "decision aid"))
    higher = verdict.rules.higher_is_better
    out = {one.variant for one in verdict.beaten}
    means = _compared(table, [one for one in range(table.n_variants) if one not in out])
    found = None if means is None else decision_aid(means, rng, higher_is_better=higher)
    if found is None:
        return None
    rows = [
        RiskRow(name, found.chance_best[index], found.expected_loss[index], costs[index])
        for index, name in enumerate(judged.matchup.variants)
    ]
    rows.sort(key=lambda row: np.inf if row.expected_loss is None else row.expected_loss)
    return Risk(tuple(rows), found.prior_sd, found.rounds)


def _compared(table: RoundTable, left: list[int]) -> FloatArray | None:
    """Scores by round, [rounds, variants], where all of these have one; NaN elsewhere.

    On the same scenarios and rounds for all, as differences are. ``None`` where that leaves out too
    much, or fewer than two are left.
    """
    places = table.prefix_length * table.n_scenarios
    scored = int((~np.isnan(table.scores[:, :, left])).all(axis=2).sum())
    if len(left) < 2 or scored < FEWEST_SHARE * places:
        return None
    found = np.full((table.prefix_length, table.n_variants), np.nan)
    found[:, left] = table.together(left)
    return found
