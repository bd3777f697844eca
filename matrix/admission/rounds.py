"""Launching: when the next round may start.

Rounds start in order and whole. Under ``whole-rounds`` a round starts only if everything spent,
everything that open sessions may still need, and the round itself fit under the cap, all at
upper estimates; so the cap truncates every variant evenly. Upper estimates start from the kind's
profile and are corrected by what finished sessions really cost. They decide only when to start;
the cap itself is kept by the ledger, whatever the estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from matrix.admission.ledger import Balance
from matrix.model.money import NanoUSD

MIN_OBSERVED = 8
"""Finished sessions of a cell before its own costs replace the profile's."""

UPPER_Z = 2.33
"""Upper estimate: mean + this many standard deviations of the observed costs (about 99 %)."""


@dataclass(slots=True)
class CostEstimate:
    """Upper estimate of one session's cost, learned as sessions finish (Welford's algorithm)."""

    prior: NanoUSD
    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    largest: NanoUSD = 0

    def observe(self, cost: NanoUSD) -> None:
        """Learn from one finished session."""
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
    if balance.spent + balance.overrun + remaining_of_open + round_upper <= balance.cap:
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
    return balance.spent + balance.overrun + to_come < balance.cap
