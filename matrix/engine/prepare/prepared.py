"""A run that can start: plain values, made by ``prepare_run`` or read from a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from matrix.admission.rounds import CostEstimate, Estimate, Lessons, RoleCap, SharedEstimate
from matrix.engine.prepare.catalogue import is_simulated, processes_of
from matrix.engine.prepare.estimate import (
    NOTHING,
    CostInterval,
    TimeInterval,
    limits_anything,
    total,
)
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.kinds.protocol import Kind, LearnsCosts
from matrix.model.lines import in_line
from matrix.model.money import NanoUSD, from_usd, show_usd
from matrix.model.notebook import table_as_html
from matrix.model.plan import Plan
from matrix.model.records import JSON
from matrix.model.seeds import content_hash
from matrix.model.spec.agents import AgentSpec
from matrix.model.spec.aliases import StandIns, simulated_words
from matrix.model.spec.run_spec import RunSpec


@dataclass(frozen=True, slots=True)
class CellCost:
    """Expected cost of one session of a cell, or of a round's shared preparation, by role."""

    roles: Mapping[str, CostInterval]

    @property
    def total(self) -> CostInterval:
        return total(self.roles)

    def of(self, role: str) -> CostInterval:
        """What one role of it costs."""
        return self.roles.get(role, NOTHING)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can start.

    Attributes:
        spec: The run spec after all overrides.
        source: Name of the file it came from.
        kind: The kind that plays it.
        plan: Cells and rounds.
        resources: Content hash -> text or data.
        models: Model name -> entry, for every model that may be asked.
        groups: Limit group -> limits.
        cell_costs: Expected cost of a session, per cell.
        prelude: Expected cost of one round's shared preparation.
        factors: Factor -> levels, as text.
        compare_factor: The factor that the verdict is about, if there is one.
        scenarios: Scenario -> its title, and the fields that it can be grouped by.
        time: Expected time of the whole run on real models; see ``estimate.run_time``.
        env_file: The project's ``.env``, whether it is there or not.
        stand_ins: Role -> those of its levels behind which a simulated model is.
        folders: Tree -> folder that sessions begin with, until the run has been set up.
        notes: What is odd about scenarios and no mistake.
        cap_given_at: When its cap was given, if that was when it was resumed.
        call_cost: What has to be set aside for the dearest kind of call, about; 0 if not known.
        calls_each: Calls that one session is expected to make, over all cells.
        last_turn: The turn with which its longest sessions are over; 0 where that is not known.
    """

    spec: RunSpec
    source: str
    kind: Kind
    plan: Plan
    resources: Mapping[str, JSON]
    models: Mapping[str, ModelEntry]
    groups: Mapping[str, GroupLimits]
    cell_costs: tuple[CellCost, ...]
    prelude: CellCost
    preludes_per_round: int
    factors: Mapping[str, tuple[str, ...]]
    compare_factor: str | None
    scenarios: Mapping[str, Mapping[str, JSON]]
    time: TimeInterval
    env_file: Path
    stand_ins: StandIns = field(default_factory=dict)
    call_cost: NanoUSD = 0
    calls_each: float = 0.0
    last_turn: int = 0
    folders: Mapping[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cap_given_at: datetime | None = None

    def __repr__(self) -> str:
        """One line: a plan has the texts of all its scenarios."""
        facts = "; ".join(f"{name} {told}" for name, told in self._facts())
        return in_line(f"<plan of {self.spec.name}: {facts}>")

    def _repr_html_(self) -> str:
        """What a notebook shows: what would be played, and for how much."""
        return table_as_html(f"Plan of {self.spec.name}", (), self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        plan, estimate = self.plan, self.estimate
        compared = [] if self.compare_factor is None else [("compared", self.compare_factor)]
        return [
            ("kind", self.spec.kind),
            ("sessions", f"{plan.sessions:,} in {plan.rounds:,} rounds of {plan.round_size:,}"),
            *compared,
            (
                "estimate",
                "unknown until a round was played"
                if self.unforeseen
                else f"{show_usd(estimate.middle)}, from {show_usd(estimate.low)} to "
                f"{show_usd(estimate.high)}",
            ),
            ("cap", show_usd(self.spec.limits.cap_nano)),
        ]

    @property
    def agents(self) -> dict[str, AgentSpec]:
        """The agents among the models that may be asked."""
        return {name: one for name, one in self.spec.agents.items() if name in self.models}

    @property
    def simulated(self) -> str:
        """What every screen says of the run if a simulated model plays in it; else empty."""
        return simulated_words(self.stand_ins, mixed=self.mixed, factors=self.factors)

    @property
    def mixed(self) -> bool:
        """Whether real models play beside simulated ones."""
        return bool(self.stand_ins) and not self.play_money

    @property
    def play_money(self) -> bool:
        """Whether every model of the run is simulated, so that no real money is spent."""
        return all(is_simulated(entry, self.models) for entry in self.models.values())

    @property
    def unforeseen(self) -> bool:
        """Whether nobody knows what its sessions cost before a round of them was played."""
        return isinstance(self.kind, LearnsCosts) and self.kind.learns_costs

    @property
    def unlimited_groups(self) -> list[str]:
        """Limit groups of real models for which no rate limit is known."""
        real = {entry.group for entry in self.models.values() if entry.facts.account}
        return sorted(group for group in real if not limits_anything(self.groups.get(group)))

    @property
    def clients(self) -> dict[str, int]:
        """Provider -> processes of its own; simulated models and agents are in the workers."""
        needed = {one.provider for one in self.models.values() if not one.facts.in_worker}
        asked = self.spec.providers.processes
        return {provider: processes_of(provider, asked) for provider in sorted(needed)}

    @property
    def round_cost(self) -> CostInterval:
        """Expected cost of one whole round, shared preparation included; of the dearest one."""
        return self._round_cost([cost.total for cost in self.cell_costs], self.prelude.total)

    def round_cost_of(self, role: str) -> CostInterval:
        """What one whole round is expected to spend on a role, as :attr:`round_cost`."""
        return self._round_cost([one.of(role) for one in self.cell_costs], self.prelude.of(role))

    def _round_cost(self, cells: Sequence[CostInterval], prelude: CostInterval) -> CostInterval:
        continued, variants = self.plan.continued, self.plan.variants
        if continued is None:
            return sum(cells, start=prelude)
        rounds = (
            sum(cells[first : first + variants], start=NOTHING)
            for first in range(0, len(cells), variants)
        )
        return max(rounds, key=lambda cost: cost.high).times(continued.repeats)

    @property
    def _all_cells(self) -> CostInterval:
        return sum((cost.total for cost in self.cell_costs), start=NOTHING)

    @property
    def estimate(self) -> CostInterval:
        """Expected cost of the whole run."""
        whole, rest = divmod(self.plan.sessions, len(self.plan.cells))
        partial = sum((c.total for c in self.cell_costs[:rest]), start=CostInterval(0, 0, 0))
        if rest:
            partial = partial + self.prelude.total
        return (self._all_cells + self.prelude.total).times(whole) + partial

    @property
    def role_costs(self) -> dict[str, CostInterval]:
        """Expected cost of the whole run by role, the shared preparation left out."""
        roles: dict[str, CostInterval] = {}
        whole, rest = divmod(self.plan.sessions, len(self.plan.cells))
        for index, cost in enumerate(self.cell_costs):
            for role, interval in cost.roles.items():
                share = interval.times(whole + (index < rest))
                roles[role] = roles.get(role, CostInterval(0, 0, 0)) + share
        return roles

    @property
    def spec_hash(self) -> str:
        """Content hash of the resolved spec."""
        return content_hash(self.spec.model_dump(mode="json"))

    @property
    def prices_hash(self) -> str:
        """Content hash of every tariff in use."""
        return content_hash(
            {name: [e.target, e.tariff.to_json()] for name, e in self.models.items()}
        )


def estimates_of(prepared: Prepared) -> list[Estimate]:
    """An estimate of a session's cost for each cell, to be learned as sessions finish.

    A cell of a continued plan is one variant at one moment, with one session or a few: what they
    cost is learned over all moments.
    """
    return _estimates(prepared.plan, [cost.total for cost in prepared.cell_costs])


def role_caps_of(prepared: Prepared) -> dict[str, RoleCap]:
    """Role -> its cap, with an estimate of what a session spends on it for each cell."""
    return {
        role: RoleCap(
            from_usd(usd),
            _estimates(prepared.plan, [one.of(role) for one in prepared.cell_costs]),
            prepared.prelude.of(role).high,
        )
        for role, usd in prepared.spec.limits.role_usd.items()
    }


def _estimates(plan: Plan, totals: Sequence[CostInterval]) -> list[Estimate]:
    if plan.continued is None:
        return [CostEstimate(cost.high) for cost in totals]
    lessons = Lessons(plan.round_size)
    return [
        SharedEstimate(cell // plan.variants, cost.middle, cost.high, lessons)
        for cell, cost in enumerate(totals)
    ]
