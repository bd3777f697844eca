"""How much higher than people a judge is, for each variant, and where that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from matrix.report.text import interval
from matrix.stats import Interval
from matrix.stats.judges.judge_errors import Rated, error_interval, errors_apart

ERROR_RATE = 0.05
"""Chance of calling a judge that errs alike different, over all pairs of variants."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BiasRow:
    """How much higher than people the judge is, on the transcripts of one variant."""

    level: str
    n: int
    people: float
    judge: float
    bias: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class BiasDifference:
    """Two variants for which the judge errs differently: ``first`` minus ``second``.

    ``interval`` is ``None`` where its error is the same in every label of either variant.
    """

    first: str
    second: str
    difference: float
    interval: Interval | None

    @property
    def sure(self) -> str:
        """How sure that is, in words."""
        if self.interval is None:
            return "the same in every label"
        return interval(self.interval.low, self.interval.high, 2)


def bias_of(
    people: Floats, judge: Floats, levels: Sequence[str]
) -> tuple[tuple[BiasRow, ...], tuple[BiasDifference, ...]]:
    """The judge's error by variant, and the pairs of variants for which it is shown to differ.

    Args:
        people: What people say, [transcripts].
        judge: What the judge says of the same.
        levels: The variant of each; those with an empty name are passed over.
    """
    names = [name for name in dict.fromkeys(sorted(levels)) if name]
    where = {name: np.array([level == name for level in levels]) for name in names}
    rated = {name: Rated(people[mine], judge[mine]) for name, mine in where.items()}
    rows = tuple(
        BiasRow(
            level=name,
            n=len(mine.people),
            people=float(mine.people.mean()),
            judge=float(mine.judge.mean()),
            bias=float(mine.errors.mean()),
            interval=error_interval(mine),
        )
        for name, mine in rated.items()
    )
    pairs = list(combinations(names, 2))
    found = []
    for first, second in pairs:
        apart = errors_apart(rated[first], rated[second], ERROR_RATE / len(pairs))
        if apart is not None and apart.shown:
            found.append(BiasDifference(first, second, apart.difference, apart.interval))
    return rows, tuple(found)
