"""Launching: when the next round may start.

Rounds start in order and whole. Under ``whole-rounds`` a round starts only if everything spent,
everything that open sessions may still need, and the round itself fit under the cap, all at
upper estimates; so the cap truncates every variant evenly. Upper estimates start from the kind's
profile and are corrected by what finished sessions really cost. They decide only when to start;
the cap itself is kept by the ledger, whatever the estimates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from matrix.admission.ledger import Balance
from matrix.model.money import NanoUSD
from matrix.stats.estimates.running import RunningMean
from matrix.stats.estimates.student import t_quantile

MIN_OBSERVED = 8
"""Finished sessions of a cell before its own costs replace the profile's."""

UPPER_Z = 2.33
"""Upper estimate: mean + this many standard deviations of the observed costs (about 99 %)."""

UPPER = 0.99
"""The same as a share of what is to stay below."""

MIN_ROUNDS = 3
"""Rounds that must be over before cells that learn together learn anything."""


class Estimate(Protocol):
    """What a session of one cell costs, learned as sessions finish."""

    def observe(self, cost: NanoUSD | None) -> None:
        """A session is over; ``None`` if its cost says nothing, as it broke."""
        ...

    @property
    def expected(self) -> float:
        """What one is expected to cost."""
        ...

    @property
    def upper(self) -> NanoUSD:
        """What few cost more than."""
        ...


class NoRoom(NamedTuple):
    """A round that was not begun: the most that it may cost, and what is left of which cap.

    The cap is the run's, or that of a ``role``.
    """

    needs: NanoUSD
    left: NanoUSD
    cap: NanoUSD
    role: str = ""


class RoleCap(NamedTuple):
    """The cap of a role, and upper estimates of what sessions and shared preparations spend on it.

    ``upper`` is per cell, and learned as the run goes on.
    """

    cap: NanoUSD
    upper: Sequence[Estimate]
    prelude_upper: NanoUSD


@dataclass(slots=True)
class CostEstimate:
    """Upper estimate of one session's cost, learned as sessions finish (Welford's algorithm)."""

    prior: NanoUSD
    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    largest: NanoUSD = 0

    def observe(self, cost: NanoUSD | None) -> None:
        """Learn from one finished session."""
        if cost is None:
            return
        self.count += 1
        delta = cost - self.mean
        self.mean += delta / self.count
        self.squares += delta * (cost - self.mean)
        self.largest = max(self.largest, cost)

    @property
    def expected(self) -> float:
        """The mean of what was observed; the profile's upper estimate before there is one."""
        return self.mean if self.count >= MIN_OBSERVED else float(max(self.prior, self.largest))

    @property
    def upper(self) -> NanoUSD:
        """The profile's upper estimate at first, then from observation."""
        if self.count < MIN_OBSERVED:
            return max(self.prior, self.largest)
        sd = math.sqrt(self.squares / (self.count - 1))
        return max(self.largest, math.ceil(self.mean + UPPER_Z * sd))


@dataclass(slots=True)
class Lessons:
    """What whole rounds cost, as shares of what was expected of them; in launch order.

    For rounds that differ in how much of a session is left to play. Those with little left end
    first and tell little about the others, so a round is heeded only when it and all rounds
    launched before it are over.

    Attributes:
        size: Sessions of a round.
    """

    size: int
    _heeded: int = 0
    _over: dict[int, list[tuple[NanoUSD, NanoUSD]]] = field(default_factory=dict)
    _ended: Counter[int] = field(default_factory=Counter)
    _shares: RunningMean = field(default_factory=RunningMean)

    def observe(self, number: int, expected: NanoUSD, cost: NanoUSD | None) -> None:
        """A session of this round is over; ``cost`` is ``None`` if it says nothing."""
        self._ended[number] += 1
        if cost is not None and expected > 0:
            self._over.setdefault(number, []).append((expected, cost))
        while self._ended[self._heeded] >= self.size:
            told = self._over.pop(self._heeded, [])
            if told:
                self._shares.add(sum(cost for _, cost in told) / sum(due for due, _ in told))
            self._heeded += 1

    @property
    def known(self) -> bool:
        """Whether enough rounds are over to say anything."""
        return self._shares.n >= MIN_ROUNDS

    @property
    def mean(self) -> float:
        """Mean share."""
        return self._shares.mean or 0.0

    def upper(self, prior: float) -> float:
        """What few rounds to come exceed: a one-sided 99 % prediction bound.

        Of few rounds that bound is wide; ``prior`` is then as good, unless they say otherwise.
        """
        n = self._shares.n
        sd = math.sqrt(self._shares.variance or 0.0)
        bound = self.mean + t_quantile(UPPER, n - 1) * sd * math.sqrt(1.0 + 1.0 / n)
        return max(self.mean + UPPER_Z * sd, min(bound, prior))


@dataclass(slots=True)
class SharedEstimate:
    """The estimate of a cell that has too few sessions of its own, so that all learn together.

    Attributes:
        number: The round that the cell belongs to.
        middle: What its profile expects of a session: how much dearer it is than other cells.
        high: The profile's upper estimate.
        lessons: What all cells have learned.
    """

    number: int
    middle: NanoUSD
    high: NanoUSD
    lessons: Lessons

    def observe(self, cost: NanoUSD | None) -> None:
        """Learn from one finished session, for all cells."""
        self.lessons.observe(self.number, self.middle, cost)

    @property
    def expected(self) -> float:
        """As :attr:`CostEstimate.expected`."""
        return self.middle * self.lessons.mean if self.lessons.known else float(self.high)

    @property
    def upper(self) -> NanoUSD:
        """As :attr:`CostEstimate.upper`."""
        if not self.lessons.known or self.middle <= 0:
            return self.high
        return math.ceil(self.middle * self.lessons.upper(self.high / self.middle))


Launch = Literal["start", "wait", "never"]


def may_start(
    balance: Balance,
    *,
    open_upper: NanoUSD,
    open_spent: NanoUSD,
    round_upper: NanoUSD,
    anything_open: bool,
) -> Launch:
    """Whether a round fits under the cap, at upper estimates.

    Args:
        balance: The ledger now.
        open_upper: Sum of upper estimates of the open sessions, as if they were just starting.
        open_spent: What those open sessions have spent already.
        round_upper: Upper estimate of the whole round.
        anything_open: Whether any session is open, so that waiting can change the answer.

    Returns:
        ``start`` now, ``wait`` until open sessions are done, or ``never``: it does not fit.
    """
    remaining_of_open = max(0, open_upper - open_spent, balance.held)
    if balance.charged + remaining_of_open + round_upper <= balance.cap:
        return "start"
    return "wait" if anything_open else "never"


def may_open(balance: Balance, *, open_expected: float, open_spent: NanoUSD) -> bool:
    """Whether one more session may be opened where only the cap itself ends a run.

    As long as the sessions that are open are not expected to use up the cap. With more of them
    than it can pay for, all would march on together and all be cut short.

    Args:
        balance: The ledger now.
        open_expected: Sum of what the open sessions are expected to cost, from start to end.
        open_spent: What they have spent already.
    """
    to_come = max(0.0, open_expected - open_spent, float(balance.held))
    return balance.charged + to_come < balance.cap
