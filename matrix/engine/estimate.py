"""What a run will use, before anything is spent: from the kinds' profiles and the price table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matrix.admission.tariffs import Tariff
from matrix.kinds.protocol import RoleProfile
from matrix.model.money import NanoUSD
from matrix.model.records import Usage


@dataclass(frozen=True, slots=True)
class Interval:
    """Low, expected and upper estimate of an amount of money."""

    low: NanoUSD
    middle: NanoUSD
    high: NanoUSD

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.middle + other.middle, self.high + other.high)

    def times(self, count: int) -> Interval:
        """The same ``count`` times over."""
        return Interval(self.low * count, self.middle * count, self.high * count)


NOTHING = Interval(0, 0, 0)


def session_cost(
    profile: Sequence[RoleProfile], tariffs: Mapping[str, Tariff]
) -> dict[str, Interval]:
    """Role -> what one session spends on it."""
    costs: dict[str, Interval] = {}
    for use in profile:
        tariff = tariffs[use.model]
        per_call = tariff.cost(Usage(math.ceil(use.input_tokens), math.ceil(use.output_tokens)))
        low, middle, high = (round(calls * per_call) for calls in use.calls)
        costs[use.role] = costs.get(use.role, NOTHING) + Interval(low, middle, high)
    return costs


def total(costs: Mapping[str, Interval]) -> Interval:
    """Sum over roles."""
    return sum(costs.values(), start=NOTHING)


def dearest_call(profile: Sequence[RoleProfile], tariffs: Mapping[str, Tariff]) -> NanoUSD:
    """A lower bound on the hold of the dearest kind of call in a profile."""
    return max(
        (
            tariffs[use.model].bound(round(use.input_tokens), round(use.output_tokens))
            for use in profile
        ),
        default=0,
    )
