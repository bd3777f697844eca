"""From what the user wrote to what can be run: everything is checked before anything starts.

Mistakes are collected over the whole input (spec, options, simulation, factors, packs, models,
limits) and reported at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from matrix.admission.tariffs import Rates, Tariff
from matrix.engine.prepare.catalogue import (
    UnknownModel,
    agent_entry,
    resolve_model,
    stand_ins_of,
    with_default_limits,
)
from matrix.engine.prepare.cells import Cells, bind_cells
from matrix.engine.prepare.check_caps import check_caps
from matrix.engine.prepare.check_comparison import check_comparison
from matrix.engine.prepare.estimate import (
    TYPICAL_STEPS,
    TimeInterval,
    dearest_call,
    run_time,
    session_cost,
    work_of,
)
from matrix.engine.prepare.keys import ENV_NAME, handed, sendings
from matrix.engine.prepare.parameters import check_parameters
from matrix.engine.prepare.prepared import CellCost, Prepared
from matrix.engine.prepare.registry import ask_kind
from matrix.engine.prepare.spec_files import SpecFile, load_spec
from matrix.engine.prepare.spec_parts import SpecParts, read_parts, unreadable_models
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import Binding, ChecksPlans, ScenarioPack
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.overrides import Override
from matrix.model.documents.yaml_documents import PathKey
from matrix.model.errors import BadInput, did_you_mean
from matrix.model.plan import Plan
from matrix.model.seeds import content_hash
from matrix.model.spec.aliases import BUILT_IN, SIMULATED_PREFIX
from matrix.model.spec.judges import JUDGES
from matrix.model.spec.run_spec import RunSpec

DEFAULT_ROUNDS = 10
"""Rounds when a spec says neither sessions nor per_cell: the fewest that a verdict needs."""


def prepare(
    file: SpecFile,
    overrides: Sequence[Override] = (),
    *,
    given: Mapping[str, str | bool] | None = None,
    packs: Mapping[str, ScenarioPack] | None = None,
    allow_outside: bool = False,
) -> Prepared:
    """Check everything and expand the plan.

    Args:
        file: The run spec, and the folder whose own packs come first.
        overrides: What goes over it, lowest first.
        given: Flag -> value of options that kinds bring for their own files.
        packs: Scenarios that are in no file, by name.
        allow_outside: Whether files that are not of the project may be read.

    Raises:
        BadInput: Every mistake in spec, packs and archetypes.
    """
    project = file.project
    loaded = load_spec(file, overrides, given=given, allow_outside=allow_outside)
    mistakes = Mistakes(loaded.document)
    library = FolderLibrary(project, packs={**loaded.packs, **(packs or {})}, outside=allow_outside)
    parts = read_parts(library, mistakes)
    cells = bind_cells(parts, library, mistakes)
    models = resolve_models(parts.spec, cells.bindings, mistakes)
    mistakes.stop_if_any()
    played = zip(cells.params, cells.bindings, strict=True)
    check_parameters(played, models, mistakes)
    mistakes.stop_if_any()
    if not cells.cells:
        raise BadInput([mistakes.at(("scenarios",), "the matrix is empty: no cell to play")])
    source, env_file = mistakes.document.source, project.resolve() / ENV_NAME
    prepared = _assemble(parts, cells, models, source, env_file)
    check_caps(prepared, cells.bindings, mistakes)
    check_comparison(prepared, mistakes)
    notes = mistakes.collect(lambda: _checked_by_kind(parts, prepared.plan))
    mistakes.stop_if_any()
    sent = [*sendings(prepared.models), *handed(prepared.models, prepared.agents)]
    return replace(prepared, notes=(*prepared.notes, *sent, *(notes or ())))


def _checked_by_kind(parts: SpecParts, plan: Plan) -> Sequence[str]:
    """What a kind says of the whole plan, if it looks at that."""
    kind, packs = parts.kind, {pack.name: pack for pack in parts.packs}
    if not isinstance(kind, ChecksPlans):
        return ()
    return ask_kind(kind, "check this plan", lambda: kind.check_plan(plan, packs))


def resolve_models(
    spec: RunSpec, bindings: Iterable[Binding], mistakes: Mistakes
) -> dict[str, ModelEntry]:
    """Every model that cells may ask; names that stand for none are collected as mistakes."""
    models: dict[str, ModelEntry] = {}
    raw = {model: binding.raw for binding in bindings for model in sorted(binding.models)}
    for name in sorted(raw):
        if (agent := spec.agents.get(name)) is not None:
            if name in spec.models or name in BUILT_IN:
                mistakes.fault(("agents", name), "is also the name of a model; give it another")
            models[name] = agent_entry(name, agent)
            raw |= dict.fromkeys(models[name].asks, agent.meter is not None)
    for name in sorted(raw.keys() - models.keys()):
        try:
            models[name] = resolve_model(name, spec.models, raw=raw[name])
        except UnknownModel as error:
            own = name.removeprefix(SIMULATED_PREFIX)
            if not unreadable_models(mistakes, {name, own}):  # said of its entry already
                hint = did_you_mean(name, list(spec.agents))
                mistakes.fault(_where_model(name, models, mistakes), f"{error}{hint}")
    return {name: _with_tools(entry, models) for name, entry in models.items()}


def _with_tools(entry: ModelEntry, models: Mapping[str, ModelEntry]) -> ModelEntry:
    """An agent with tools is expected to cost as much as some requests of its model."""
    behind = models.get(entry.asks[0]) if entry.target == "tools" else None
    if behind is None or entry.tariff.request_fee:
        return entry
    rates = Rates(*(TYPICAL_STEPS * rate for rate in behind.tariff.rates))
    return entry._replace(tariff=Tariff(rates, (), TYPICAL_STEPS * behind.tariff.request_fee))


def _where_model(model: str, found: Mapping[str, ModelEntry], mistakes: Mistakes) -> PathKey:
    for name, entry in found.items():
        if model in entry.asks:
            agent = mistakes.document.value["agents"][name]
            return ("agents", name, "model" if agent.get("model") == model else "meter")
    for section in ("roles", "factors"):
        for name, value in (mistakes.document.value.get(section) or {}).items():
            if value == model:
                return (section, name)
            if isinstance(value, list) and model in value:
                return (section, name, value.index(model))
    for number, judge in enumerate(mistakes.document.value.get(JUDGES) or ()):
        asked = judge.get("model")
        if model == asked:
            return (JUDGES, number, "model")
        if isinstance(asked, list) and model in asked:
            return (JUDGES, number, "model", asked.index(model))
    return ("roles",)


def _assemble(
    parts: SpecParts, found: Cells, models: dict[str, ModelEntry], source: str, env_file: Path
) -> Prepared:
    spec = parts.spec
    tariffs = {name: entry.tariff for name, entry in models.items()}
    preludes = {
        content_hash([cell.scenario, cell.prelude]): binding
        for cell, binding in zip(found.cells, found.bindings, strict=True)
        if cell.prelude is not None
    }
    plan = _plan(spec, found)
    groups = with_default_limits(
        {name: GroupLimits(**limits.model_dump()) for name, limits in spec.groups.items()}, models
    )
    return Prepared(
        spec=spec,
        source=source,
        kind=parts.kind,
        plan=plan,
        resources=found.resources,
        folders=found.folders,
        models=models,
        groups=groups,
        cell_costs=tuple(CellCost(session_cost(b.profile, tariffs)) for b in found.bindings),
        prelude=CellCost(
            session_cost([use for b in preludes.values() for use in b.prelude_profile], tariffs)
        ),
        preludes_per_round=len(preludes),
        factors=parts.factors,
        compare_factor=parts.compare,
        scenarios={pack.name: {"title": pack.title, **pack.fields} for pack in parts.packs},
        time=_time(plan, found, models, spec.limits.open_sessions, groups),
        env_file=env_file,
        stand_ins=stand_ins_of(
            [
                (cell.roles, (*binding.profile, *binding.prelude_profile))
                for cell, binding in zip(found.cells, found.bindings, strict=True)
            ],
            models,
        ),
        call_cost=dearest_call([use for one in found.bindings for use in one.profile], tariffs),
        calls_each=_calls_each(found),
        last_turn=max(one.last_turn or spec.limits.turns for one in found.bindings),
        notes=tuple(note for pack in parts.packs for note in pack.notes),
    )


def _plan(spec: RunSpec, found: Cells) -> Plan:
    return Plan(
        tuple(found.cells),
        spec.sessions or (spec.per_cell or DEFAULT_ROUNDS) * len(found.cells),
        spec.seed,
        spec.limits.turns,
        spec.limits.session_minutes * 60.0,
    )


def _calls_each(found: Cells) -> float:
    """Calls that a session is expected to make, over all cells."""
    calls = [sum(use.calls[1] for use in binding.profile) for binding in found.bindings]
    return sum(calls) / len(calls)


def _time(
    plan: Plan,
    found: Cells,
    models: Mapping[str, ModelEntry],
    open_sessions: int,
    groups: Mapping[str, GroupLimits],
) -> TimeInterval:
    whole, rest = divmod(plan.sessions, len(found.cells))
    sessions = [
        (whole + (index < rest), work_of(binding.profile, models))
        for index, binding in enumerate(found.bindings)
    ]
    return run_time(sessions, open_sessions, groups)
