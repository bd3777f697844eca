"""What a run has come to so far: outcomes, scores of the variants, and what the whole will cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from matrix.engine.prepare.estimate import CostInterval
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run.pilot import CostPilot
from matrix.engine.run.progress import FailedSoFar, VariantSoFar
from matrix.kinds.protocol import NamesScores
from matrix.model.entries import Ended
from matrix.model.metrics import measured
from matrix.model.money import NanoUSD, show_usd
from matrix.model.records import OUTCOMES, PLAYED, Outcome, SessionPlan
from matrix.stats.estimates.running import RunningMean

UNFORESEEN: Final = 0.5
"""How much rounds are taken to differ, as a share of their cost, where no plan foresees it: one
round cannot show it."""


class Scoreboard:
    """Counts sessions as they end, in this life of the run or an earlier one."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._outcomes: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
        self._variants: dict[str, RunningMean] = {}
        plan = prepared.plan
        self._planned = Counter(plan.cell_index(order) for order in range(plan.sessions))
        self.failed: FailedSoFar | None = None
        self._metric_sought = not isinstance(prepared.kind, NamesScores)
        self._pilot = CostPilot(
            # where nobody knows, all cells are taken to cost alike until a round has shown what
            [max(prepared.unforeseen, cost.total.middle) for cost in prepared.cell_costs],
            prepared.plan.sessions,
            prepared.prelude.total.middle * prepared.plan.rounds,
            UNFORESEEN if prepared.unforeseen else _spread(prepared.round_cost),
        )
        first = prepared.plan.round(0).sessions
        self._in_a_round = len(first)
        if len(first) == 1 and prepared.unforeseen and prepared.plan.rounds > 1:
            first += prepared.plan.round(1).sessions  # one session alone shows no spread
        self._first_round = {one.session_id for one in first}
        self._rounds: dict[int, list[tuple[int, NanoUSD] | None]] = {}
        self.projection: CostInterval | None = None

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """Outcome -> sessions."""
        return self._outcomes

    @property
    def ended(self) -> int:
        """Sessions with an outcome."""
        return sum(self._outcomes.values())

    def count(
        self, plan: SessionPlan, outcome: Outcome, score: float | None, cost: NanoUSD
    ) -> str | None:
        """A session is over; returns what there is to say about the cost of the whole, once."""
        self._outcomes[outcome] += 1
        factor = self._prepared.compare_factor
        if factor is not None and score is not None:
            self._variants.setdefault(plan.levels[factor], RunningMean()).add(score)
        if not self._first_round:
            return None
        played = outcome in PLAYED
        seen = (self._prepared.plan.cell_index(plan.order), cost) if played else None
        self._rounds.setdefault(plan.round, []).append(seen)
        self._first_round.discard(plan.session_id)
        if self._first_round:
            return None
        self._observe()
        self.projection = self._pilot.projection()
        return None if self.projection is None else self._tell(self.projection)

    def note_metric(self, ended: Ended) -> str | None:
        """What to say of the first session that came to an end without what is to be compared.

        Where a kind does not name its scores, only that session can tell that a metric is mistyped.
        """
        if not self._metric_sought or ended.outcome not in ("completed", "timeout"):
            return None
        self._metric_sought = False
        compare = self._prepared.spec.compare
        if measured(compare.metric, ended, compare.turn_limit) is not None:
            return None
        return (
            f"the first session that ended has no {compare.metric!r}, on which variants are to be "
            "compared: if compare.metric is mistyped, stop the run with Ctrl-C; a kind that names "
            "its scores (scores=[...]) has this found before the start"
        )

    def note_failure(self, ended: Ended) -> None:
        """Keep how a session of this life ended, if it is one that failed or errored."""
        if ended.outcome in ("failed", "errored"):
            self.failed = FailedSoFar(
                ended.session_id, ended.outcome, ended.error_class, ended.reason
            )

    def _observe(self) -> None:
        """Learn from rounds that are over: of others, quick sessions have ended, which cost less.

        A cell that costs another share of the round than the plan foresaw would count too often.
        """
        for ended in self._rounds.values():
            if len(ended) == self._in_a_round:
                for cell, cost in filter(None, ended):
                    self._pilot.observe(cell, cost)
        self._rounds.clear()

    def variants(self, unplayed: Mapping[int, int]) -> tuple[VariantSoFar, ...]:
        """The compared factor's levels, in the order of the spec.

        ``unplayed`` are sessions by cell index that need not be played any more.
        """
        factor = self._prepared.compare_factor
        if factor is None:
            return ()
        planned: Counter[str] = Counter()
        for index, sessions in self._planned.items():
            level = self._prepared.plan.cells[index].levels[factor]
            planned[level] += sessions - unplayed.get(index, 0)
        return tuple(
            self._variant(level, planned[level]) for level in self._prepared.factors[factor]
        )

    def _variant(self, level: str, planned: int) -> VariantSoFar:
        running = self._variants.get(level)
        if running is None or running.n == 0:
            return VariantSoFar(level, 0, None, None, None, planned)
        alpha = 1.0 - self._prepared.spec.compare.confidence
        interval = running.summary(alpha).interval
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        return VariantSoFar(level, running.n, running.mean, low, high, planned)

    def _tell(self, cost: CostInterval) -> str:
        limits = self._prepared.spec.limits
        text = (
            f"after the first round, the whole is expected to cost {show_usd(cost.middle)}, "
            f"from {show_usd(cost.low)} to {show_usd(cost.high)}"
        )
        if cost.middle <= limits.cap_nano:
            return text
        planned, under = self._prepared.plan.sessions, self._under(cost.middle)
        if under == planned:
            return f"{text}; the cap of {show_usd(limits.cap_nano)} may end it before that"
        return (
            f"{text}; the cap of {show_usd(limits.cap_nano)} will end it after about "
            f"{under:,} of {planned:,} sessions"
        )

    def _under(self, cost: NanoUSD) -> int:
        """Sessions that fit under the cap, if all of them together are expected to cost this.

        A whole round is begun only if there is room for the most that one may cost.
        """
        prepared, cap = self._prepared, self._prepared.spec.limits.cap_nano
        planned = prepared.plan.sessions
        if prepared.spec.at_cap != "whole-rounds":
            return round(cap / cost * planned)
        in_a_round = len(prepared.plan.cells)
        before = max(0.0, cap - prepared.round_cost.high) / (cost / planned * in_a_round)
        return min(planned, (int(before) + 1) * in_a_round)


def _spread(cost: CostInterval) -> float:
    """The range of a round's cost, taken as two standard deviations to either side."""
    return (cost.high - cost.low) / 4.0 / cost.middle if cost.middle else 0.0
