"""Rounds of the longer of two runs that the other has no partner for, and what their sessions did.

Pairs are of shared rounds, and should be. What the longer run did after them is in no column of the
comparison, so it is told beside it: it may be where that run broke.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matrix.model.records import OUTCOMES
from matrix.report.compare.matchup import Matchup
from matrix.report.text import plural
from matrix.stats import Interval
from matrix.stats.estimates.unpaired_rates import Count, newcombe_unpaired

_FAILED = ("failed", "timeout")
"""Outcomes that are failures."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Sessions of a run that are in no pair, as the other run has no such round.

    Attributes:
        run: Whose they are.
        other: The run that they have no partner in.
        unit: What a round is called.
        rounds: How many rounds.
        sessions: How many sessions.
        failed: Those that failed.
        unscored: Those that did not fail and have no value of the metric.
    """

    run: str
    other: str
    unit: str
    rounds: int
    sessions: int
    failed: int
    unscored: int

    @property
    def told(self) -> str:
        """All of it, in words."""
        one = self.rounds == 1
        have, are = ("has", "is") if one else ("have", "are")
        no_score = "has" if self.unscored == 1 else "have"
        return (
            f"{plural(self.rounds, self.unit)} of {self.run} {have} no partner in {self.other} and "
            f"{are} left out: {self.failed:,} of {'its' if one else 'their'} "
            f"{plural(self.sessions, 'session')} failed, {self.unscored:,} {no_score} no score"
        )


def left_out_of(matchup: Matchup, metric: str) -> LeftOut | None:
    """What no pair is made of, as one of two runs has more rounds; ``None`` where nothing is.

    Raises:
        BadInput: No session has such a metric.
    """
    alone = matchup.alone
    if alone is None:
        return None
    side = int(alone.sides[0])
    failed = _failed(alone)
    return LeftOut(
        run=matchup.variants[side],
        other=matchup.variants[1 - side],
        unit=matchup.unit,
        rounds=len(np.unique(alone.units)),
        sessions=len(alone.ids),
        failed=int(failed.sum()),
        unscored=int((~failed & ~np.isfinite(alone.values(metric))).sum()),
    )


def failures_of_all(matchup: Matchup) -> tuple[Count, Count] | None:
    """How many sessions of each of two runs failed, with those that are in no pair.

    Of all that ended by themselves: what errored or was cut short says nothing of either.
    ``None`` where all have a partner.
    """
    if matchup.alone is None:
        return None
    return _of_all(matchup, _FAILED, ("completed", *_FAILED))


def errors_of_all(matchup: Matchup) -> tuple[Count, Count] | None:
    """How many sessions of each of two runs errored, of all there are; ``None`` where none did.

    They are in no score and no failure gate, and may be the kind's own code as well as trouble
    around it.
    """
    counts = _of_all(matchup, ("errored",), OUTCOMES)
    return counts if any(one.successes for one in counts) else None


def _of_all(matchup: Matchup, counted: Sequence[str], of: Sequence[str]) -> tuple[Count, Count]:
    """Sessions of each of two runs, in a pair or not: how many ended so, of those that ended so."""
    parts = [one for one in (matchup, matchup.alone) if one is not None]
    first, second = (
        Count(*(sum(one.ended_as(side, ways) for one in parts) for ways in (counted, of)))
        for side in (0, 1)
    )
    return first, second


def more_often_of_all(counts: tuple[Count, Count], alpha: float, worth: float) -> bool:
    """Whether all sessions show that the second run fails more often than the first.

    Args:
        counts: Of each run.
        alpha: One-sided error rate.
        worth: Sessions that are worth one independent session.
    """
    first, second = (Count(one.successes / worth, one.trials / worth) for one in counts)
    apart: Interval | None = newcombe_unpaired([first], [second], 2 * alpha)
    return apart is not None and apart.low > 0


def _failed(matchup: Matchup) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isin(matchup.outcomes, _FAILED))
