"""From what the user wrote to what can be run: everything is checked before anything starts.

Mistakes are collected over the whole input (spec, options, simulation, factors, packs, models,
limits) and reported at once.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from matrix.engine.catalogue import SIMULATED, UnknownModel, resolve_model
from matrix.engine.estimate import Interval, dearest_call, session_cost, total
from matrix.engine.registry import kinds, load_kind
from matrix.engine.setup import GroupLimits, ModelEntry
from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.protocol import Binding, Kind, ScenarioPack
from matrix.model.documents import Document, PathKey, check, overlay, parse_document
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.money import from_usd, show_usd
from matrix.model.overrides import Override
from matrix.model.plan import Cell, Plan, combinations
from matrix.model.records import JSON
from matrix.model.seeds import content_hash
from matrix.model.spec import RunSpec, level_name
from matrix.providers.simulated.settings import SimulationSettings

T = TypeVar("T")

SPEC_NAME = "matrix.yaml"
DEFAULT_ROUNDS = 10
"""Rounds when a spec says neither sessions nor per_cell: the fewest that a verdict needs."""


@dataclass(frozen=True, slots=True)
class CellCost:
    """Expected cost of one session of a cell, by role."""

    roles: Mapping[str, Interval]

    @property
    def total(self) -> Interval:
        return total(self.roles)


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
        prelude_cost: Expected cost of one round's shared preparation.
        factors: Factor -> levels, as text.
        compare_factor: The factor that the verdict is about, if there is one.
        titles: Scenario -> title.
    """

    spec: RunSpec
    source: str
    kind: Kind
    plan: Plan
    resources: Mapping[str, JSON]
    models: Mapping[str, ModelEntry]
    groups: Mapping[str, GroupLimits]
    cell_costs: tuple[CellCost, ...]
    prelude_cost: Interval
    preludes_per_round: int
    factors: Mapping[str, tuple[str, ...]]
    compare_factor: str | None
    titles: Mapping[str, str]

    @property
    def simulated(self) -> bool:
        """Whether every model of the run is simulated."""
        return all(entry.provider == SIMULATED for entry in self.models.values())

    @property
    def clients(self) -> dict[str, int]:
        """Provider -> processes of its own; simulated models are embedded in the workers."""
        needed = {entry.provider for entry in self.models.values()} - {SIMULATED}
        return dict.fromkeys(sorted(needed), self.spec.providers.processes)

    @property
    def round_cost(self) -> Interval:
        """Expected cost of one whole round, shared preparation included."""
        cells = sum((cost.total for cost in self.cell_costs), start=Interval(0, 0, 0))
        return cells + self.prelude_cost

    @property
    def estimate(self) -> Interval:
        """Expected cost of the whole run."""
        whole, rest = divmod(self.plan.sessions, len(self.plan.cells))
        partial = sum((c.total for c in self.cell_costs[:rest]), start=Interval(0, 0, 0))
        if rest:
            partial = partial + self.prelude_cost
        return self.round_cost.times(whole) + partial

    @property
    def role_costs(self) -> dict[str, Interval]:
        """Expected cost of the whole run by role, the shared preparation left out."""
        roles: dict[str, Interval] = {}
        whole, rest = divmod(self.plan.sessions, len(self.plan.cells))
        for index, cost in enumerate(self.cell_costs):
            for role, interval in cost.roles.items():
                share = interval.times(whole + (index < rest))
                roles[role] = roles.get(role, Interval(0, 0, 0)) + share
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


def find_spec(path: Path | None, folder: Path) -> Path:
    """The spec to use: the given one, ``matrix.yaml`` in ``folder``, or the built-in one.

    Raises:
        BadInput: The given file does not exist.
    """
    if path is None:
        own = folder / SPEC_NAME
        return own if own.is_file() else shipped_root() / "scenarios" / "runs" / "builtin.yaml"
    if path.is_dir():
        path = path / SPEC_NAME
    if not path.is_file():
        raise BadInput([Mistake(str(path), None, "", "no such file; `matrix init` makes one")])
    return path


def load_spec(path: Path, overrides: Iterable[Override] = ()) -> Document:
    """Read a run spec and put overrides over it.

    Raises:
        BadInput: It cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput([Mistake(str(path), None, "", f"cannot be read: {error}")]) from None
    return overlay(parse_document(text, path.name), overrides)


def prepare(path: Path, overrides: Sequence[Override] = (), *, project: Path) -> Prepared:
    """Check everything and expand the plan.

    Args:
        path: The run spec.
        overrides: What goes over it, lowest first.
        project: Folder whose own packs come first.

    Raises:
        BadInput: Every mistake in spec, packs and archetypes.
    """
    document = load_spec(path, overrides)
    return _Preparation(document, FolderLibrary(project)).result()


class _Preparation:
    """Collects mistakes while it works its way through one spec."""

    def __init__(self, document: Document, library: FolderLibrary) -> None:
        self._document, self._library = document, library
        self._mistakes: list[Mistake] = []

    def result(self) -> Prepared:
        spec = self._spec()
        kind = self._kind(spec)
        sound = self._options_are_sound(kind)
        self._collect(lambda: check(self._document, SimulationSettings, ("simulation",)))
        roles = self._roles(spec, kind)
        factors = self._factors(spec, kind)
        compare = self._compare_factor(spec, factors)
        packs = self._packs(spec, kind)
        if not sound:  # every cell would only repeat those mistakes
            self._stop_if_mistaken()
        cells, bindings, resources = self._cells(spec, kind, roles, factors, packs)
        models = self._models(spec, bindings)
        self._stop_if_mistaken()
        prepared = self._assemble(
            spec, kind, cells, bindings, resources, models, factors, compare, packs
        )
        self._check_cap(prepared, bindings)
        self._stop_if_mistaken()
        return prepared

    def _spec(self) -> RunSpec:
        """The spec; with mistakes in it, what is left without the parts that have them."""
        try:
            return check(self._document, RunSpec)
        except BadInput as error:
            self._mistakes += error.mistakes
            broken = {_top(mistake.path) for mistake in error.mistakes}
            value = self._document.value
            if not isinstance(value, dict) or not broken <= value.keys():
                raise
        sound = {key: item for key, item in value.items() if key not in broken}
        self._document = replace(self._document, value=sound)
        try:
            return check(self._document, RunSpec)
        except BadInput:
            raise BadInput(self._mistakes) from None

    def _options_are_sound(self, kind: Kind) -> bool:
        options = self._collect(lambda: check(self._document, kind.options_model, ("options",)))
        return options is not None

    # --- parts of the spec ------------------------------------------------------------------------

    def _kind(self, spec: RunSpec) -> Kind:
        try:
            return load_kind(spec.kind)
        except KeyError:
            known = sorted(kinds())
            hint = did_you_mean(spec.kind, known)
            self._fault(("kind",), f"found {spec.kind!r}; known: {', '.join(known)}{hint}")
            raise BadInput(self._mistakes) from None

    def _roles(self, spec: RunSpec, kind: Kind) -> dict[str, str]:
        known = [role.name for role in kind.roles]
        roles = {role.name: role.default_model for role in kind.roles}
        if "all" in spec.roles:
            roles = dict.fromkeys(known, spec.roles["all"])
        for role, model in spec.roles.items():
            if role == "all":
                continue
            if role not in known:
                self._fault(
                    ("roles", role),
                    f"unknown role; the {kind.name} kind has: {', '.join(known)}, or 'all'"
                    + did_you_mean(role, known),
                )
            roles[role] = model
        return roles

    def _factors(self, spec: RunSpec, kind: Kind) -> dict[str, tuple[str, ...]]:
        allowed = [role.name for role in kind.roles] + list(kind.options_model.model_fields)
        factors: dict[str, tuple[str, ...]] = {}
        for name, levels in spec.factors.items():
            if name not in allowed:
                self._fault(
                    ("factors", name),
                    f"unknown factor; a factor is a role or an option of the {kind.name} kind: "
                    + ", ".join(allowed)
                    + did_you_mean(name, allowed),
                )
                continue
            if not levels:
                self._fault(("factors", name), "has no levels, so the matrix is empty")
            factors[name] = tuple(level_name(level) for level in levels)
        return factors

    def _compare_factor(self, spec: RunSpec, factors: Mapping[str, tuple[str, ...]]) -> str | None:
        chosen = spec.compare.factor
        if chosen is not None and chosen not in factors:
            self._fault(
                ("compare", "factor"),
                f"found {chosen!r}; the factors are: {', '.join(factors) or 'none'}"
                + did_you_mean(chosen, list(factors)),
            )
        if chosen is not None:
            return chosen
        return next((name for name, levels in factors.items() if len(levels) > 1), None)

    def _packs(self, spec: RunSpec, kind: Kind) -> list[ScenarioPack]:
        known = self._library.scenarios(kind.name)
        names: list[str] = []
        for index, pattern in enumerate(spec.scenarios):
            found = fnmatch.filter(known, pattern)
            if not found:
                self._fault(
                    ("scenarios", index),
                    f"no {kind.name} scenario matches {pattern!r}; there are: "
                    f"{', '.join(known) or 'none'}{did_you_mean(pattern, known)}",
                )
            names += [name for name in found if name not in names]
        packs = []
        for name in names:
            folder = self._library.folder(kind.name, name)
            if folder is not None:
                pack = self._collect(partial(kind.read_pack, folder, name))
                packs += [pack] if pack is not None else []
        return packs

    # --- the matrix -------------------------------------------------------------------------------

    def _cells(
        self,
        spec: RunSpec,
        kind: Kind,
        roles: Mapping[str, str],
        factors: Mapping[str, tuple[str, ...]],
        packs: Sequence[ScenarioPack],
    ) -> tuple[list[Cell], list[Binding], dict[str, JSON]]:
        cells: list[Cell] = []
        bindings: list[Binding] = []
        resources: dict[str, JSON] = {}
        for pack in packs:
            for levels in combinations(factors):
                values = {
                    name: spec.factors[name][factors[name].index(level)]
                    for name, level in levels.items()
                }
                bound = self._bind(spec, kind, roles, pack, values)
                if bound is None:
                    continue
                options, cell_roles, binding = bound
                hashes = {name: content_hash(v) for name, v in binding.resources.items()}
                resources.update({hashes[n]: v for n, v in binding.resources.items()})
                cells.append(
                    Cell(
                        pack.name,
                        kind.name,
                        levels,
                        options.model_dump(mode="json"),
                        cell_roles,
                        hashes,
                        binding.prelude,
                    )
                )
                bindings.append(binding)
        return cells, bindings, resources

    def _bind(
        self,
        spec: RunSpec,
        kind: Kind,
        roles: Mapping[str, str],
        pack: ScenarioPack,
        values: Mapping[str, Any],
    ) -> tuple[BaseModel, dict[str, str], Binding] | None:
        cell_roles = dict(roles)
        options = dict(spec.options)
        for name, value in values.items():
            if name in cell_roles:
                cell_roles[name] = str(value)
            else:
                options[name] = value
        document = Document(
            self._document.source,
            {"options": options},
            {
                **self._document.lines,
                **{
                    ("options", name): line
                    for name in values
                    if (line := self._document.lines.get(("factors", name)))
                },
            },
            self._document.origins,
        )
        checked = self._collect(lambda: check(document, kind.options_model, ("options",)))
        if checked is None:
            return None
        try:
            binding = kind.bind(pack, checked, cell_roles, self._library, spec.limits.turns)
        except BadInput as error:
            self._add(self._in_the_spec(mistake, values) for mistake in error.mistakes)
            return None
        return checked, cell_roles, binding

    def _in_the_spec(self, mistake: Mistake, values: Mapping[str, Any]) -> Mistake:
        """A mistake that a kind found in an option or role, placed where the spec says it."""
        if mistake.line is not None or not mistake.path.startswith(("options.", "roles.")):
            return mistake
        section, _, rest = mistake.path.partition(".")
        name, _, index = rest.rstrip("]").partition("[")
        path: PathKey = (section, name, int(index)) if index else (section, name)
        if name in values:
            levels = self._document.value["factors"][name]
            path = ("factors", name, levels.index(values[name]))
        return self._at(path, mistake.message)

    def _models(self, spec: RunSpec, bindings: Iterable[Binding]) -> dict[str, ModelEntry]:
        models: dict[str, ModelEntry] = {}
        for name in sorted({model for binding in bindings for model in binding.models}):
            try:
                models[name] = resolve_model(name, spec.models)
            except UnknownModel as error:
                self._mistakes.append(self._at(self._where_model(name), str(error)))
        return models

    def _where_model(self, model: str) -> PathKey:
        for section in ("roles", "factors"):
            for name, value in (self._document.value.get(section) or {}).items():
                if value == model:
                    return (section, name)
                if isinstance(value, list) and model in value:
                    return (section, name, value.index(model))
        return ("roles",)

    def _assemble(
        self,
        spec: RunSpec,
        kind: Kind,
        cells: list[Cell],
        bindings: list[Binding],
        resources: dict[str, JSON],
        models: dict[str, ModelEntry],
        factors: dict[str, tuple[str, ...]],
        compare: str | None,
        packs: list[ScenarioPack],
    ) -> Prepared:
        if not cells:
            raise BadInput([self._at(("scenarios",), "the matrix is empty: no cell to play")])
        tariffs = {name: entry.tariff for name, entry in models.items()}
        sessions = spec.sessions or (spec.per_cell or DEFAULT_ROUNDS) * len(cells)
        preludes = {
            content_hash([cell.scenario, cell.prelude]): binding
            for cell, binding in zip(cells, bindings, strict=True)
            if cell.prelude is not None
        }
        return Prepared(
            spec=spec,
            source=self._document.source,
            kind=kind,
            plan=Plan(
                tuple(cells),
                sessions,
                spec.seed,
                spec.limits.turns,
                spec.limits.session_minutes * 60.0,
            ),
            resources=resources,
            models=models,
            groups={
                name: GroupLimits(limits.rpm, limits.tpm, limits.concurrency)
                for name, limits in spec.groups.items()
            },
            cell_costs=tuple(CellCost(session_cost(b.profile, tariffs)) for b in bindings),
            prelude_cost=sum(
                (total(session_cost(b.prelude_profile, tariffs)) for b in preludes.values()),
                start=Interval(0, 0, 0),
            ),
            preludes_per_round=len(preludes),
            factors=factors,
            compare_factor=compare,
            titles={pack.name: pack.title for pack in packs},
        )

    def _check_cap(self, prepared: Prepared, bindings: Sequence[Binding]) -> None:
        cap = from_usd(prepared.spec.limits.cost_usd)
        tariffs = {name: entry.tariff for name, entry in prepared.models.items()}
        call = max(dearest_call(binding.profile, tariffs) for binding in bindings)
        path: PathKey = ("limits", "cost_usd")
        whole_round = prepared.round_cost.high
        if cap < call:
            self._fault(
                path,
                f"a cap of {show_usd(cap)} is too small for a single call, which may cost "
                f"{show_usd(call)}",
            )
        elif prepared.spec.at_cap == "whole-rounds" and cap < whole_round:
            self._fault(
                path,
                f"a cap of {show_usd(cap)} is too small for one round of {len(bindings)} sessions, "
                f"which may cost {show_usd(whole_round)}; raise it, make the matrix smaller, or "
                "use `at_cap: spend-all`",
            )

    # --- mistakes ---------------------------------------------------------------------------------

    def _at(self, path: PathKey, message: str) -> Mistake:
        return self._document.mistake(path, message)

    def _fault(self, path: PathKey, message: str) -> None:
        self._mistakes.append(self._at(path, message))

    def _collect(self, part: Callable[[], T]) -> T | None:
        try:
            return part()
        except BadInput as error:
            self._add(error.mistakes)
            return None

    def _add(self, mistakes: Iterable[Mistake]) -> None:
        self._mistakes += [m for m in mistakes if m not in self._mistakes]

    def _stop_if_mistaken(self) -> None:
        if self._mistakes:
            raise BadInput(self._mistakes)


def _top(path: str) -> str:
    """``limits.turns`` -> ``limits``."""
    return path.partition(".")[0].partition("[")[0]
