"""From moments of sessions, and what is to be other in them, to a run that could start.

Each moment is joined with every variant; what differs from the parent is checked by the same code
as a run spec, and everything else stays what the parent had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from matrix.engine.continuation.changes import ContinuationRequest
from matrix.engine.continuation.changing import Changed, change_moment, check_names, fork_moment
from matrix.engine.continuation.folders_kept import carry_folders, check_folders
from matrix.engine.continuation.inheritance import Forked, LentAnswers, inherited
from matrix.engine.prepare.catalogue import stand_ins_of, with_default_limits
from matrix.engine.prepare.check_caps import check_caps
from matrix.engine.prepare.estimate import (
    CostInterval,
    dearest_call,
    run_time,
    session_cost,
    work_of,
)
from matrix.engine.prepare.judges import measuring_roles, read_judges
from matrix.engine.prepare.keys import ENV_NAME
from matrix.engine.prepare.parameters import CellParameters, check_parameters, expecting
from matrix.engine.prepare.prepare_run import resolve_models
from matrix.engine.prepare.prepared import CellCost, Prepared
from matrix.engine.prepare.registry import load_kind
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import KEPT_KIND, Kind, RoleProfile
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.overrides import Override
from matrix.model.documents.yaml_documents import Document, check, overlay
from matrix.model.entries import Entry
from matrix.model.errors import BadInput, Mistake
from matrix.model.moments.checkpoint import Checkpoint
from matrix.model.plan import Cell, Continued, Origin, Plan
from matrix.model.records import JSON
from matrix.model.seeds import content_hash
from matrix.model.spec.judges import JUDGES
from matrix.model.spec.run_spec import RunSpec


@dataclass(frozen=True, slots=True)
class Continuation:
    """A run of continuations that can start, and what its journal begins with."""

    prepared: Prepared
    moments: tuple[Checkpoint, ...]
    forks: tuple[Forked, ...]
    requested: ContinuationRequest

    def entries(self, run_dir: Path, at: float) -> Iterator[list[Entry]]:
        """What its sessions have from their parents, for the journal of the run in ``run_dir``.

        In batches; what working folders are made of is in the run's blobs before the first one.
        ``at`` is UTC seconds.
        """
        carry_folders(self.moments, run_dir)
        lent = _lent(self.prepared.kind, self.prepared.spec, self.requested)
        yield from inherited(self.prepared.plan, self.moments, self.forks, at, lent)


def _lent(kind: Kind, spec: RunSpec, requested: ContinuationRequest) -> LentAnswers | None:
    """Which answers of their ends sessions have at hand; ``None`` where they are played on."""
    if not requested.again:
        return None
    judgements = requested.own_records and spec.cache
    return LentAnswers(measuring_roles(kind), judgements, frozenset(spec.agents))


def continue_from(
    moments: Sequence[Checkpoint],
    requested: ContinuationRequest,
    *,
    project: Path,
    overrides: Sequence[Override] = (),
    allow_outside: bool = True,
) -> Continuation:
    """Check everything, and plan every variant of every moment, ``requested.times`` times each.

    Args:
        moments: Where to go on from, of sessions of one kind; from a journal or from a file.
        requested: What is to be other, and how often each is played.
        project: Folder whose own packs come first, for what changes.
        overrides: Limits that go over the parent's spec, lowest first.
        allow_outside: Whether files that are not of the project may be read.

    Raises:
        BadInput: Every mistake; nothing was started.
    """
    if not moments:
        raise BadInput([Mistake(requested.flag, None, "", "there is no moment to go on from")])
    mistakes = Mistakes(_document(moments, requested, overrides))
    spec = mistakes.collect(lambda: check(mistakes.document, RunSpec))
    kind = load_kind(moments[0].plan.kind, kept=moments[0].texts.get(KEPT_KIND))
    requested = check_names(kind, moments, requested, mistakes)
    _check_versions(kind, moments, mistakes)
    check_folders(kind, moments, mistakes)
    library = FolderLibrary(project, outside=allow_outside)
    changed, forks = list[Changed](), list[Forked]()
    judges = None
    if spec is not None and requested.judges is not None:
        spec, judges = read_judges(
            spec,
            kind,
            library,
            mistakes,
            beside=requested.opponents is not None,
            scored=requested.scored,
        )
    for moment in moments:
        for variant in requested.variants:
            made = change_moment(kind, moment, variant, requested, library, mistakes, judges)
            if made is None:
                continue
            forked = fork_moment(kind, moment, made, requested, mistakes)
            if forked is not None:
                changed.append(made)
                forks.append(forked)
    if spec is None:
        raise BadInput(mistakes.found)
    models = resolve_models(spec, [one.binding for one in changed], mistakes)
    mistakes.stop_if_any()
    of_models = {name: entry.params for name, entry in models.items()}
    params = [CellParameters(one.plan.params) for one in changed]
    bindings = [
        expecting(one.binding, of, of_models) for one, of in zip(changed, params, strict=True)
    ]
    check_parameters(zip(params, bindings, strict=True), models, mistakes)
    mistakes.stop_if_any()
    changed = [replace(one, binding=b) for one, b in zip(changed, bindings, strict=True)]
    prepared = _assemble(kind, spec, moments, changed, models, requested, project)
    check_caps(prepared, bindings, mistakes)
    mistakes.stop_if_any()
    return Continuation(prepared, tuple(moments), tuple(forks), requested)


def _document(
    moments: Sequence[Checkpoint], requested: ContinuationRequest, overrides: Sequence[Override]
) -> Document:
    """The parent's spec as this run has it, with what is said on the command line over it."""
    first = moments[0]
    spec = dict(first.spec)
    # moments are not launched in rounds, so they are all played and looked at once
    before = spec.get("compare")
    own = before if isinstance(before, Mapping) else {}
    compared = {**own, "factor": requested.compared, "engine": "fixed"}
    layers: list[Override] = [
        (("name",), f"{str(spec.get('name', 'run'))[:50]}-{requested.word}", ""),
        (("scenarios",), list(dict.fromkeys(moment.plan.scenario for moment in moments)), ""),
        *([] if requested.again else [(("factors",), {}, "")]),
        (("compare",), compared, ""),
        (("stop",), "never", ""),
        (("per_cell",), None, ""),
        (("sessions",), len(moments) * len(requested.variants) * requested.times, ""),
        *(
            (("factors", name), list(levels), f"{requested.flag} {name}")
            for name, levels in requested.levels.items()
            if not requested.again
        ),
        *(
            [((JUDGES,), list(requested.judges), "--rubric")]
            if requested.judges is not None
            else []
        ),
        *overrides,
    ]
    base = Document(f"run {first.run_id}", spec, {}, {})
    document = overlay(base, layers)
    origins = {path: origin for path, origin in document.origins.items() if origin}
    return replace(document, origins=origins)


def _check_versions(kind: Kind, moments: Sequence[Checkpoint], mistakes: Mistakes) -> None:
    now = (kind.version, kind.state_version)
    for found in dict.fromkeys(moment.versions for moment in moments):
        if found != now:
            mistakes.add(
                [
                    Mistake(
                        "checkpoint",
                        None,
                        "",
                        f"was made by version {found[0]} of the {kind.name} kind with state "
                        f"version {found[1]}; this one has {now[0]} and {now[1]}, and cannot go on "
                        "from it; use the matrix that made it",
                    )
                ]
            )


def _assemble(
    kind: Kind,
    spec: RunSpec,
    moments: Sequence[Checkpoint],
    changed: Sequence[Changed],
    models: dict[str, ModelEntry],
    requested: ContinuationRequest,
    project: Path,
) -> Prepared:
    tariffs = {name: entry.tariff for name, entry in models.items()}
    plan = _plan(spec, moments, changed, requested)
    groups = with_default_limits(
        {name: GroupLimits(**limits.model_dump()) for name, limits in spec.groups.items()}, models
    )
    judges, lent = _judges_at_end(kind), _lent(kind, spec, requested)
    asked = [
        (one, moment, _still_asked(kind, one, moment, requested, lent))
        for one, moment in zip(changed, _each(moments, requested), strict=True)
    ]
    costs = [
        CellCost(
            {
                role: cost if requested.asked or role in judges else _part(cost, left)
                for role, cost in session_cost(profile, tariffs).items()
            }
        )
        for one, moment, profile in asked
        for left in [_left(moment, one.binding.turns)]
    ]
    work = [(requested.times, work_of(profile, models)) for _, _, profile in asked]
    return Prepared(
        spec=spec,
        source=f"run {moments[0].run_id}",
        kind=kind,
        plan=plan,
        resources=_resources(changed),
        models=models,
        groups=groups,
        cell_costs=tuple(costs),
        prelude=CellCost({}),
        preludes_per_round=0,
        factors=_factors(plan.cells, requested),
        compare_factor=requested.compared,
        scenarios={},
        time=run_time(work, spec.limits.open_sessions, groups),
        env_file=project.resolve() / ENV_NAME,
        stand_ins=stand_ins_of([(one.plan.roles, one.binding.profile) for one in changed], models),
        call_cost=dearest_call([use for one in changed for use in one.binding.profile], tariffs),
    )


def _plan(
    spec: RunSpec,
    moments: Sequence[Checkpoint],
    changed: Sequence[Changed],
    requested: ContinuationRequest,
) -> Plan:
    origins = tuple(
        Origin(
            m.run_id,
            m.plan.session_id,
            m.turn,
            m.plan.seed,
            m.plan.prelude_id,
            m.plan.round if requested.again else -1,
        )
        for m in moments
    )
    return Plan(
        tuple(_cell(one) for one in changed),
        len(changed) * requested.times,
        spec.seed,
        spec.limits.turns,
        spec.limits.session_minutes * 60.0,
        Continued(origins, requested.times, requested.own_seed),
    )


def _cell(one: Changed) -> Cell:
    hashes = {name: content_hash(value) for name, value in one.texts.items()}
    plan = one.plan
    return Cell(
        plan.scenario,
        plan.kind,
        plan.levels,
        plan.options,
        plan.roles,
        hashes,
        None,
        plan.changed,
        plan.params,
    )


def _resources(changed: Sequence[Changed]) -> dict[str, JSON]:
    return {content_hash(value): value for one in changed for value in one.texts.values()}


def _factors(cells: Sequence[Cell], requested: ContinuationRequest) -> dict[str, tuple[str, ...]]:
    """What was changed, with its levels in order; then the parents' own factors, as far as seen."""
    seen: dict[str, dict[str, None]] = {
        name: dict.fromkeys(levels) for name, levels in requested.levels.items()
    }
    for cell in cells:
        for name, level in cell.levels.items():
            seen.setdefault(name, {})[level] = None
    # cells come as sessions are ordered, which is no order of levels
    listed = {
        name: {level: at for at, level in enumerate(levels)}
        for name, levels in requested.parents_factors.items()
    }
    return {
        name: tuple(sorted(levels, key=lambda level: listed.get(name, {}).get(level, 0)))
        for name, levels in seen.items()
    }


JUDGE = "judge"
"""What a kind calls the role that is asked at a session's end, if several measure."""


def _still_asked(
    kind: Kind,
    one: Changed,
    moment: Checkpoint,
    requested: ContinuationRequest,
    lent: LentAnswers | None,
) -> tuple[RoleProfile, ...]:
    """Who is asked anything more: only judges where sessions are over, nobody where they failed.

    Of a kind's own judge that stays who it is nothing is expected, where its answers are at hand.
    """
    if lent is None:
        return one.binding.profile
    ended = moment.turns[-1].ended
    if ended is not None and ended[0] == "failed":
        return ()
    judges = _judges_at_end(kind)
    at_hand = set[str]()
    if not requested.missing:
        same = {
            role for role, model in moment.plan.roles.items() if one.plan.roles.get(role) == model
        }
        at_hand = lent.judged(moment) & same - {JUDGES}
    return tuple(
        use._replace(calls=(0.0, 0.0, use.calls[2])) if use.role in at_hand else use
        for use in one.binding.profile
        if use.role in judges
    )


def _judges_at_end(kind: Kind) -> frozenset[str]:
    """Roles that are asked at a session's end, about all of it: of inherited turns, too."""
    judges = measuring_roles(kind)
    return frozenset({JUDGES, JUDGE}) if JUDGE in judges else judges


def _each(moments: Sequence[Checkpoint], requested: ContinuationRequest) -> Iterator[Checkpoint]:
    """The moment of every cell."""
    return (moment for moment in moments for _ in requested.variants)


def _left(moment: Checkpoint, turns: tuple[float, float, float] | None) -> Shares:
    """Low, middle and upper estimate of the share of its turns' cost that is still to come.

    ``turns`` are the turns of a whole session, as its kind expects them. If all turns cost the
    same, the cost so far grows with their number; if all of it is for reading a log that grows,
    with the square. Low and high are for one and the other, the middle for half of each. A session
    that has outlasted what was expected is to have one more turn, unless their number is fixed.
    """
    low, middle, high = turns or (moment.plan.max_turns,) * 3
    at_least = 0.0 if turns is not None and low == high else 1.0

    def behind(whole: float) -> float:
        return min(moment.turn, whole - at_least) / whole if whole > at_least else 0.0

    grown = behind(low), (behind(middle) + behind(middle) ** 2) / 2.0, behind(high) ** 2
    return Shares(*(1.0 - share for share in grown))


class Shares(NamedTuple):
    """Shares of the low, expected and upper cost of a session."""

    low: float
    middle: float
    high: float


def _part(cost: CostInterval, left: Shares) -> CostInterval:
    return CostInterval(
        round(cost.low * left.low),
        round(cost.middle * left.middle),
        round(cost.high * left.high),
    )
