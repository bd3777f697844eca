"""Sessions that came to an end without a score: a judge could not be read, or a limit came first.

They are in no mean, so how many there are of each variant is told beside the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from matrix.report.compare.matchup import Floats, Matchup
from matrix.report.text import names_listed
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


class Place(NamedTuple):
    """A scenario (with levels of other factors) that some difference of two variants leaves out.

    Attributes:
        name: The scenario.
        mute: Whether a variant has no score there at all.
        variants: Variants of which no difference counts it; empty where no difference at all does.
    """

    name: str
    mute: bool
    variants: tuple[str, ...]

    @property
    def told(self) -> str:
        """What is left out, and of which variants, if not of all."""
        return f"{self.name} of {names_listed(self.variants)}" if self.variants else self.name


def uncounted_places(matchup: Matchup, table: RoundTable) -> list[Place]:
    """Scenarios that are not in some difference of two variants.

    They have fewer than two pairs of scores of these, where others have more; see
    `matrix.stats.rounds.balancing`. None is mute where a variant is so everywhere: then it is the
    variant that is mute.
    """
    there: Floats = np.where(np.isfinite(table.scores) | table.failed, 1.0, 0.0)
    heard = there.max(axis=0, initial=0.0) > 0
    if not heard.all(axis=1).any():
        heard[:] = True
    counted = np.ones((table.n_variants, table.n_variants, table.n_scenarios), dtype=np.bool_)
    for one, other in combinations(range(table.n_variants), 2):
        here = weighing(table.scored(one, other))
        if here.any():
            counted[one, other] = counted[other, one] = here
    found = []
    for place, name in enumerate(matchup.strata):
        if table.never is not None and table.never[:, place].all():
            continue
        lost = _lost(counted[:, :, place])
        mute = not heard[place].all()
        if lost or mute:
            some = 0 < len(lost) < table.n_variants - 1
            named = tuple(matchup.variants[one] for one in lost) if some else ()
            found.append(Place(name, mute, named))
    return found


def _lost(counted: npt.NDArray[np.bool_]) -> list[int]:
    """The fewest variants without which every difference counts, [variants, variants]."""
    lost: list[int] = []
    left = ~counted
    while left.any():
        worst = int(left.sum(axis=0).argmax())
        lost.append(worst)
        left[worst] = left[:, worst] = False
    return sorted(lost)
