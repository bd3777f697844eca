"""Sessions that came to an end without a score: a judge could not be read, or a limit came first.

They are in no mean, so how many there are of each variant is told beside the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from matrix.report.compare.matchup import Floats, Matchup
from matrix.stats.rounds.balancing import weighing
from matrix.stats.rounds.round_table import RoundTable


class Unscored(NamedTuple):
    """One variant's sessions that came to an end, completed or at a limit.

    Attributes:
        level: The variant.
        without: Those that have no value of the metric.
        ended: All of them.
    """

    level: str
    without: int
    ended: int


def unscored_of(matchup: Matchup, metric: str) -> tuple[Unscored, ...]:
    """How many sessions of each variant have no value of a metric, variant by variant.

    Raises:
        BadInput: No session has such a metric.
    """
    ended = np.isin(matchup.outcomes, ("completed", "timeout"))
    without = ended & ~np.isfinite(matchup.values(metric))
    counts = [np.bincount(matchup.sides[those], minlength=len(matchup.variants))
              for those in (without, ended)]  # fmt: skip
    return tuple(
        Unscored(level, int(lost), int(of))
        for level, lost, of in zip(matchup.variants, *counts, strict=True)
    )


def unscored_told(counts: Sequence[Unscored], metric: str, *, named: bool = True) -> str:
    """A sentence with every variant that has such sessions; empty if none has.

    Args:
        counts: Of each variant.
        metric: What they are without.
        named: Whether to say which variant it is.
    """
    found = [
        f"{one.without:,} of {one.ended:,} ended sessions" + f" of {one.level}" * named
        for one in counts
        if one.without
    ]
    return f"Without a {metric}, and in no mean: {', '.join(found)}." if found else ""


def mute_places(matchup: Matchup, table: RoundTable) -> list[str]:
    """Scenarios (with levels of other factors) in which some variant never scored, nor failed.

    None where that is so of a variant everywhere: then it is the variant that is mute.
    """
    heard: Floats = np.where(np.isfinite(table.scores) | table.failed, 1.0, 0.0)
    if not len(heard):
        return []
    least = heard.max(axis=0).min(axis=1)
    mute = [name for name, known in zip(matchup.strata, least, strict=True) if not known]
    return mute if len(mute) < len(least) else []


def uncounted_places(matchup: Matchup, table: RoundTable) -> list[str]:
    """Scenarios (with levels of other factors) that are not in some difference of two variants.

    They have fewer than two pairs of scores of these, where others have more; see
    `matrix.stats.rounds.balancing`. Those of :func:`mute_places` are among them.
    """
    counted = np.ones(table.n_scenarios, dtype=np.bool_)
    for pair in combinations(range(table.n_variants), 2):
        here = weighing(table.scored(*pair))
        if here.any():
            counted &= here
    mute = mute_places(matchup, table)
    return [
        name
        for name, there in zip(matchup.strata, counted, strict=True)
        if not there or name in mute
    ]
