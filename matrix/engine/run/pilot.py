"""What the whole run will cost, told from its first round: the plan's estimate, corrected.

The profile says how much dearer one cell is than another; how dear sessions really are is one
factor on all of it. A ratio estimator (Cochran, Sampling Techniques, 3rd ed., ch. 6) takes that
factor from the sessions that have ended, and their scatter around it gives part of the interval.
The other part is how much rounds differ: all sessions of a round meet the same group, so their
costs go up and down together, which one round cannot show; there the plan's range has to serve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from matrix.engine.prepare.estimate import CostInterval
from matrix.model.money import NanoUSD
from matrix.stats.estimates.student import t_quantile

CONFIDENCE = 0.95
NORMAL = 1.96
"""Quantile of the normal distribution for it."""


@dataclass(slots=True)
class CostPilot:
    """Costs of ended sessions beside what the plan expected of them.

    Attributes:
        expected: What the plan expects of one session, per cell.
        sessions: Sessions planned; they go through the cells in turn.
        preparation: What the plan expects of everything that sessions share.
        spread: Standard deviation of a round's cost as the plan sees it, as a share of the cost.
    """

    expected: Sequence[NanoUSD]
    sessions: int
    preparation: NanoUSD = 0
    spread: float = 0.0
    _costs: list[tuple[NanoUSD, NanoUSD]] = field(default_factory=list)

    def observe(self, order: int, cost: NanoUSD) -> None:
        """A session of this launch order has ended and cost this much."""
        self._costs.append((cost, self.expected[order % len(self.expected)]))

    def projection(self) -> CostInterval | None:
        """The cost of the whole run, with a 95 % prediction interval; ``None`` below two sessions.

        With n sessions seen that cost C where E was expected, and M still to come that are
        expected to cost F, the factor is r = C / E and the whole C + r F. Its standard error is
        s sqrt(M + n (F / E)^2), s being the standard deviation of the n residuals; rounds that
        differ by a share v of their cost add r F v sqrt(1 + 1 / m) when m are to come. What
        sessions share is taken to be as much dearer or cheaper as they are.
        """
        n = len(self._costs)
        cost = sum(paid for paid, _ in self._costs)
        seen = sum(foreseen for _, foreseen in self._costs)
        if n < 2 or seen <= 0:
            return None
        factor = cost / seen
        to_come = max(0, self._planned - seen)
        residuals = sum((paid - factor * foreseen) ** 2 for paid, foreseen in self._costs)
        left = max(0, self.sessions - n)
        error = math.sqrt(residuals / (n - 1) * (left + n * (to_come / seen) ** 2))
        within = t_quantile(0.5 + CONFIDENCE / 2, n - 1) * error
        rounds = max(1.0, left / len(self.expected))
        between = NORMAL * factor * to_come * self.spread * math.sqrt(1.0 + 1.0 / rounds)
        reach = math.hypot(within, between)
        middle = cost + factor * (to_come + self.preparation)
        return CostInterval(max(cost, round(middle - reach)), round(middle), round(middle + reach))

    @property
    def _planned(self) -> NanoUSD:
        whole, rest = divmod(self.sessions, len(self.expected))
        return sum(self.expected) * whole + sum(self.expected[:rest])
