"""Looking at the scores while a run goes on: when, and what follows for what is launched.

A look is made after every complete round, in launch order, and is journalled before it is acted
on. Round r is launched by the look made ``lag`` rounds before it, even if later looks exist by
then, so that what a run launches does not depend on how fast its sessions were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from matrix.engine.prepare.judges import bounds_of, lower_is_better_of
from matrix.kinds.protocol import Kind
from matrix.model.entries import Dropped, Looked
from matrix.model.metrics import lower_is_better
from matrix.model.plan import Plan
from matrix.model.records import Outcome, SessionPlan
from matrix.model.spec.run_spec import RunSpec
from matrix.stats import Rules, Verdict, complete_rounds, verdict_of
from matrix.stats.looks.failures import bounded_by
from matrix.stats.rounds.round_table import RoundTable

TABLES = 500
"""Tables that are made of the scores in a whole run, about: of many rounds, several are looked at
together. Each has its look all the same, and what they come to does not depend on it."""

FEWEST_OPEN_ROUNDS = 2
"""Rounds that are launched beyond the newest look, at least."""


def declared_rules(
    spec: RunSpec,
    kind: Kind,
    *,
    metric: str | None = None,
    margin: float | None = None,
) -> Rules:
    """What the spec declares of its comparison, as rules.

    Args:
        spec: The run spec.
        kind: The kind that plays it.
        metric: Another metric than the declared one, looked at once, at the end.
        margin: Another margin than the declared one.
    """
    compare = spec.compare
    chosen = metric or compare.metric
    return Rules(
        alpha=round(1.0 - compare.confidence, 12),
        # a margin is in units of what it was declared for
        delta=compare.margin if margin is None and chosen == compare.metric else margin,
        higher_is_better=not lower_is_better(chosen, lower_is_better_of(spec, kind)),
        failure_margin=compare.failure_margin / 100.0,
        failure_icc=compare.failure_icc,
        score_bounds=kind.score_range if chosen == "score" else bounds_of(spec, chosen),
        engine=spec.engine if chosen == compare.metric else "fixed",
        unit=compare.unit,
    )


class Unplayed(NamedTuple):
    """Sessions of the plan that looks left out, by cell index."""

    by_cell: Mapping[int, int]

    @property
    def sessions(self) -> int:
        return sum(self.by_cell.values())


@dataclass(slots=True)
class Looks:
    """The looks of one run.

    Attributes:
        plan: The run's plan.
        factor: The compared factor.
        levels: Its levels, in the order of the spec.
        rules: What was declared before launch.
        newest: The newest look, of this life of the run or an earlier one.
        verdict: What the newest look of this life came to.
        only_at_cap: Whether nothing is looked at unless the cap ends the run.
        blocked: Why no further look can be made; empty while they go on.
    """

    plan: Plan
    factor: str
    levels: Sequence[str]
    rules: Rules
    newest: Looked | None = None
    verdict: Verdict | None = None
    blocked: str = ""
    only_at_cap: bool = False
    _ended: list[tuple[int, int, int, float, str]] = field(default_factory=list)
    _counts: dict[int, int] = field(default_factory=dict)
    _seen: int = 0
    _tabled: int = 0
    _strata: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Number what pairs agree on: the scenario and every other factor's level."""
        keys: dict[object, int] = {}
        for index, cell in enumerate(self.plan.cells):
            others = tuple((f, v) for f, v in cell.levels.items() if f != self.factor)
            self._strata[index] = keys.setdefault((cell.scenario, others), len(keys))

    @property
    def _n_strata(self) -> int:
        return len(set(self._strata.values()))

    @property
    def lag(self) -> int:
        """Rounds between a look and the first round that it decides about."""
        return max(FEWEST_OPEN_ROUNDS, self.plan.rounds // 10)

    @property
    def looked(self) -> int:
        """Rounds that the newest look covers."""
        return 0 if self.newest is None else self.newest.rounds

    @property
    def over(self) -> bool:
        """Whether a look has decided."""
        return self.newest is not None and self.newest.stop_from is not None

    def ready(self, number: int) -> bool:
        """Whether the look that round ``number`` (from 0) waits for has been made."""
        by = number + 1 - self.lag
        return (
            self.only_at_cap
            or by < self.rules.first_look
            or by <= self.looked
            or bool(self.blocked)
        )

    def unlaunched(self, plan: SessionPlan) -> str:
        """Why a planned session is not launched; empty if it is."""
        return "" if self.newest is None else self.newest.unlaunched(plan)

    def ended(self, plan: SessionPlan, outcome: Outcome, value: float | None) -> None:
        """A session is over; ``value`` is what it measured."""
        cell = self.plan.cell_index(plan.order)
        variant = self.levels.index(plan.levels[self.factor])
        place = (plan.round, self._strata[cell], variant)
        self._ended.append((*place, float("nan") if value is None else value, outcome))
        self._counts[plan.round] = self._counts.get(plan.round, 0) + 1

    def due(self, at: float) -> Iterator[Looked]:
        """The looks that can be made now, one by one; make each durable, then say :meth:`made`."""
        if self.only_at_cap or self.blocked or self.over or not self._prefix_grew():
            return
        table = self._table()
        if table.prefix_length < self._seen:
            self.blocked = table.prefix_end
        # a range that is not kept bounds nothing; the looks themselves do not go by it
        self.verdict = verdict_of(table, bounded_by(table, self.rules), plan_over=False)
        for rounds in range(max(self.rules.first_look, self.looked + 1), table.prefix_length + 1):
            yield self._look(self.verdict, rounds, at)
            if self.over:
                return

    def at_cap(self, at: float) -> Looked | None:
        """The one look of a plan that the cap has ended; ``None`` if there was one, or none can be.

        It covers the rounds that are complete: rounds start in the order of the plan whatever the
        scores are, so the scores have no part in where it ends.
        """
        if not self.only_at_cap or self.newest is not None or not self._prefix_grew():
            return None
        table = self._table()
        if table.prefix_length < self.rules.first_look:
            return None
        self.verdict = verdict_of(table, bounded_by(table, self.rules), plan_over=True)
        return Looked(table.prefix_length, self.factor, (), self.verdict.kind, None, at)

    def made(self, look: Looked) -> None:
        """A look is durable, and holds."""
        self.newest = look

    def unplayed(self) -> Unplayed:
        """What the looks have left out of the plan."""
        missing: dict[int, int] = {}
        if self.newest is None:
            return Unplayed(missing)
        gone = {dropped.level: dropped.from_round for dropped in self.newest.dropped}
        stop = self.plan.rounds if self.newest.stop_from is None else self.newest.stop_from
        whole, rest = divmod(self.plan.sessions, len(self.plan.cells))
        for index, cell in enumerate(self.plan.cells):
            planned = whole + (index < rest)
            first = min(stop, gone.get(cell.levels[self.factor], stop))
            if planned > first:
                missing[index] = planned - first
        return Unplayed(missing)

    def _prefix_grew(self) -> bool:
        """Whether enough more rounds have all their sessions to look at them."""
        while self._seen < self.plan.rounds and self._has_all(self._seen):
            self._seen += 1
        step = max(1, self.plan.rounds // TABLES)
        enough = self._seen - self._tabled >= step or self._seen == self.plan.rounds
        if self._seen < self.rules.first_look or self._seen == self._tabled or not enough:
            return False
        self._tabled = self._seen
        return True

    def _has_all(self, number: int) -> bool:
        first = number * len(self.plan.cells)
        cells = self.plan.cells[: self.plan.sessions - first]
        gone = (
            set()
            if self.newest is None
            else {one.level for one in self.newest.dropped if number >= one.from_round}
        )
        expected = sum(cell.levels[self.factor] not in gone for cell in cells)
        return self._counts.get(number, 0) >= expected

    def _table(self) -> RoundTable:
        rows = [row for row in self._ended if row[0] < self._seen]
        if self.newest is not None:
            gone = self.newest.left_out(self.levels, self._n_strata, self._seen)
            rows += [(*place, float("nan"), "dropped") for place in gone]
        rounds, strata, variants, values, outcomes = zip(*rows, strict=True)
        return complete_rounds(
            np.array(rounds),
            np.array(strata),
            np.array(variants),
            np.array(values),
            np.array(outcomes),
            n_rounds_planned=self.plan.rounds,
            n_scenarios=self._n_strata,
            n_variants=len(self.levels),
        )

    def _look(self, verdict: Verdict, rounds: int, at: float) -> Looked:
        """The look after so many rounds; what earlier ones said stays."""
        first = rounds - 1 + self.lag
        dropped = {} if self.newest is None else {one.level: one for one in self.newest.dropped}
        for one in verdict.beaten:
            level = self.levels[one.variant]
            if one.at <= rounds and level not in dropped:
                dropped[level] = Dropped(level, self.levels[one.by], first)
        decided = verdict.decided_at is not None and verdict.decided_at <= rounds
        return Looked(
            rounds=rounds,
            factor=self.factor,
            dropped=tuple(dropped.values()),
            decided=verdict.kind if decided else "",
            stop_from=first if decided else None,
            at=at,
        )
