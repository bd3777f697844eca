"""What a run will use, before anything is spent: money and time, from the kinds' profiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from matrix.admission.tariffs import Tariff
from matrix.engine.prepare.catalogue import is_simulated
from matrix.engine.wire.providers import AGENT, LOCAL
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.kinds.protocol import Binding, RoleInfo, RoleProfile
from matrix.model.money import NanoUSD
from matrix.model.records import Usage


@dataclass(frozen=True, slots=True)
class CostInterval:
    """Low, expected and upper estimate of an amount of money."""

    low: NanoUSD
    middle: NanoUSD
    high: NanoUSD

    def __add__(self, other: CostInterval) -> CostInterval:
        return CostInterval(
            self.low + other.low, self.middle + other.middle, self.high + other.high
        )

    def times(self, count: int) -> CostInterval:
        """The same ``count`` times over."""
        return CostInterval(self.low * count, self.middle * count, self.high * count)


NOTHING = CostInterval(0, 0, 0)


def session_cost(
    profile: Sequence[RoleProfile], tariffs: Mapping[str, Tariff]
) -> dict[str, CostInterval]:
    """Role -> what one session spends on it."""
    costs: dict[str, CostInterval] = {}
    for use in profile:
        tariff = tariffs[use.model]
        per_call = tariff.cost(Usage(math.ceil(use.input_tokens), math.ceil(use.output_tokens)))
        low, middle, high = (round(calls * per_call) for calls in use.calls)
        costs[use.role] = costs.get(use.role, NOTHING) + CostInterval(low, middle, high)
    return costs


def total(costs: Mapping[str, CostInterval]) -> CostInterval:
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


# --- time -------------------------------------------------------------------------------------

FIRST_TOKEN_S = 1.0
"""Typical wait for the first token of a real model's answer, in seconds."""

TOKENS_PER_S = 50.0
"""Typical speed of the tokens after it. Models that reason before they answer are slower."""

AGENT_TURN_S = 60.0
"""Typical time of a turn of an agent, in seconds."""

LOCAL_READ_PER_S = 150.0
LOCAL_WRITE_PER_S = 25.0
"""Tokens that each of two calls at once to a local model reads and writes per second, on two
cores."""


class TimeInterval(NamedTuple):
    """Low, expected and upper estimate of a time, in seconds."""

    low: float
    middle: float
    high: float


class Work(NamedTuple):
    """Calls (low, middle, high) that one session asks of a limit group, and what each takes."""

    group: str
    calls: tuple[float, float, float]
    input_tokens: float
    output_tokens: float
    seconds: float
    at_once: float


TYPICAL_STEPS = 5
"""Requests that a turn of the built-in agent is expected to take, before any was played."""


def with_steps(binding: Binding, roles: Sequence[RoleInfo], agents: Container[str]) -> Binding:
    """A binding in which plain models that work with tools take several requests a turn."""
    working = {role.name for role in roles if role.tools}

    def whole(use: RoleProfile) -> RoleProfile:
        if use.role not in working or use.model in agents:
            return use
        low, middle, high = (TYPICAL_STEPS * calls for calls in use.calls)
        return use._replace(calls=(low, middle, 2 * high))

    return replace(binding, profile=tuple(map(whole, binding.profile)))


def work_of(profile: Sequence[RoleProfile], models: Mapping[str, ModelEntry]) -> list[Work]:
    """The work of one session on real models; simulated ones take no time worth counting."""
    return [
        Work(
            models[use.model].group,
            use.calls,
            use.input_tokens,
            use.output_tokens,
            _seconds(models[use.model], use),
            use.at_once,
        )
        for use in profile
        if not is_simulated(models[use.model], models)
    ]


def _seconds(entry: ModelEntry, use: RoleProfile) -> float:
    if entry.provider == AGENT:
        return AGENT_TURN_S
    if entry.provider == LOCAL:
        return use.input_tokens / LOCAL_READ_PER_S + use.output_tokens / LOCAL_WRITE_PER_S
    return FIRST_TOKEN_S + use.output_tokens / TOKENS_PER_S


def run_time(
    sessions: Sequence[tuple[int, Sequence[Work]]],
    open_sessions: int,
    limits: Mapping[str, GroupLimits],
) -> TimeInterval:
    """About how long a run takes: a rule of thumb, for choosing between a coffee and a night.

    A session's calls follow one another, but for those that it makes side by side. The run takes
    as long as the longest of: one session; all sessions, so many open at once; and for each group
    with a limit, its calls or tokens at the limit's rate. Retries, the shared preparation and
    limits that nobody gave are not in it.

    Args:
        sessions: For each cell how many sessions of it there are, and the work of one.
        open_sessions: Sessions played at the same time.
        limits: Limit group -> its limits.
    """
    return TimeInterval(
        *(_run_seconds(sessions, open_sessions, limits, index) for index in range(3))
    )


def _run_seconds(
    sessions: Sequence[tuple[int, Sequence[Work]]],
    open_sessions: int,
    limits: Mapping[str, GroupLimits],
    index: int,
) -> float:
    """:func:`run_time` by the low (0), middle (1) or high (2) numbers of calls."""
    alone = [
        sum(part.calls[index] * part.seconds / max(1.0, part.at_once) for part in work)
        for _, work in sessions
    ]
    count = sum(number for number, _ in sessions)
    together = sum(number * one for (number, _), one in zip(sessions, alone, strict=True))
    rated = [
        sum(
            number * part.calls[index] * units(part)
            for number, work in sessions
            for part in work
            if part.group == group
        )
        / rate
        for group, limit in limits.items()
        for rate, units in _rates(limit)
    ]
    return max([*alone, together / max(1, min(open_sessions, count)), *rated], default=0.0)


def limits_anything(limits: GroupLimits | None) -> bool:
    """Whether a group has any limit that calls or tokens have to keep to."""
    return limits is not None and bool(_rates(limits))


def _rates(limits: GroupLimits) -> list[tuple[float, Callable[[Work], float]]]:
    """Each limit of a group as units per second, and how many units one call takes."""
    found: list[tuple[float | None, Callable[[Work], float]]] = [
        (limits.rpm and limits.rpm / 60.0, lambda part: 1.0),
        (limits.tpm and limits.tpm / 60.0, lambda part: part.input_tokens + part.output_tokens),
        (limits.itpm and limits.itpm / 60.0, lambda part: part.input_tokens),
        (limits.otpm and limits.otpm / 60.0, lambda part: part.output_tokens),
        (limits.concurrency, lambda part: part.seconds),
    ]
    return [(rate, units) for rate, units in found if rate]
