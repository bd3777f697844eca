"""How much higher than people a judge is, for each variant, and where that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import hypot

import numpy as np
import numpy.typing as npt

from matrix.model.records import JSON
from matrix.report.text import ends_as_data, interval
from matrix.stats import GateDecision, Interval
from matrix.stats.gates.gate import gate_of_interval
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

    @property
    def shown(self) -> bool:
        """Whether the judge is shown to err; by sign, where its error is the same in every label.

        Were an error as likely to be above 0 as below, all of n would lie on one side of it with
        chance 2 / 2^n (the sign test).
        """
        if self.interval is not None:
            return not self.interval.contains(0.0)
        return self.bias != 0.0 and 2 * 0.5**self.n <= ERROR_RATE


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

    @property
    def data(self) -> dict[str, JSON]:
        """The same for programs."""
        return {
            "first": self.first,
            "second": self.second,
            "difference": self.difference,
            **ends_as_data(self.interval),
        }

    def concerns(self, first: str, second: str) -> bool:
        """Whether it is of these two, in either order."""
        return {self.first, self.second} == {first, second}

    def turned(self, first: str) -> BiasDifference:
        """The same, of ``first`` minus the other of the two."""
        if first == self.first:
            return self
        turned = None if self.interval is None else self.interval.negated()
        return BiasDifference(self.second, self.first, -self.difference, turned)


def without_error(
    value: float, around: Interval, error: float, error_around: Interval | None
) -> Interval:
    """What is left of a judge's figure once what it is shown to err by is taken off.

    Args:
        value: A mean by the judge, or a difference of two.
        around: Its interval.
        error: How much too high that is, by labels.
        error_around: The interval of this; ``None`` where the error is the same in every label.

    Returns:
        An interval around ``value - error``, the doubts of both added in quadrature.
    """
    below, above = _doubts(around, value)
    if error_around is not None:
        least, most = _doubts(error_around, error)
        below, above = hypot(below, most), hypot(above, least)
    left = value - error
    return Interval(left - below, left + above, around.confidence)


def lead_falls(value: float, around: Interval, error: BiasDifference) -> bool:
    """Whether a difference that is shown is none any more without what the judge errs by."""
    left = without_error(value, around, error.difference, error.interval)
    return left.low <= 0.0 if value > 0.0 else left.high >= 0.0


def likeness_falls(value: float, around: Interval, error: BiasDifference, margin: float) -> bool:
    """Whether a difference that lies within a margin does not without what the judge errs by."""
    left = without_error(value, around, error.difference, error.interval)
    return left.low <= -margin or left.high >= margin


def gate_without_error(
    gate: GateDecision, error: BiasDifference | None, *, better: bool
) -> GateDecision:
    """A gate as far as it is the same once what the judge errs by is taken off; else undecided.

    Args:
        gate: By the judge.
        error: How much more it errs for the candidate, where it is shown to.
        better: Whether more of the score is better.
    """
    if error is None or gate.kind == "not_enough_data":
        return gate
    if gate.interval is None or gate.difference is None:
        return gate
    left = without_error(gate.difference, gate.interval, error.difference, error.interval)
    value = gate.difference - error.difference
    again = gate_of_interval(value, left, gate.margin, gate.n, higher_is_better=better)
    if again.kind == gate.kind:
        return gate
    return replace(gate, kind="not_enough_data", reason="judge errs", extra=None)


def _doubts(around: Interval, value: float) -> tuple[float, float]:
    """How far the ends of an interval lie below and above."""
    return value - around.low, around.high - value


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
