"""From moments of sessions, and what is to be other in them, to a run that could start.

Each moment is joined with every variant; what differs from the parent is checked by the same code
as a run spec, and everything else stays what the parent had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matrix.engine.catalogue import with_default_limits
from matrix.engine.changing import Changed, change_moment, check_names, fork_moment
from matrix.engine.check_caps import check_caps
from matrix.engine.estimate import NOTHING, Interval, run_time, session_cost, work_of
from matrix.engine.folders_kept import carry_folders, check_folders
from matrix.engine.inheritance import Forked, inherited
from matrix.engine.keys import ENV_NAME
from matrix.engine.mistakes import Mistakes
from matrix.engine.prepare import resolve_models
from matrix.engine.prepared import CellCost, Prepared
from matrix.engine.registry import load_kind
from matrix.engine.setup import GroupLimits, ModelEntry
from matrix.engine.wanted import Wanted
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import Kind
from matrix.model.checkpoint import Checkpoint
from matrix.model.documents import Document, check, overlay
from matrix.model.entries import Entry
from matrix.model.errors import BadInput, Mistake
from matrix.model.overrides import Override
from matrix.model.plan import Cell, Continued, Origin, Plan
from matrix.model.records import JSON
from matrix.model.seeds import content_hash
from matrix.model.spec import RunSpec


@dataclass(frozen=True, slots=True)
class Continuation:
    """A run of continuations that can start, and what its journal begins with."""

    prepared: Prepared
    moments: tuple[Checkpoint, ...]
    forks: tuple[Forked, ...]
    wanted: Wanted

    def entries(self, run_dir: Path, at: float) -> Iterator[list[Entry]]:
        """What its sessions have from their parents, for the journal of the run in ``run_dir``.

        In batches; what working folders are made of is in the run's blobs before the first one.
        ``at`` is UTC seconds.
        """
        carry_folders(self.moments, run_dir)
        yield from inherited(self.prepared.plan, self.moments, self.forks, at)


def continue_from(
    moments: Sequence[Checkpoint],
    wanted: Wanted,
    *,
    project: Path,
    overrides: Sequence[Override] = (),
) -> Continuation:
    """Check everything, and plan every variant of every moment, ``wanted.times`` times each.

    Args:
        moments: Where to go on from, of sessions of one kind; from a journal or from a file.
        wanted: What is to be other, and how often each is played.
        project: Folder whose own packs come first, for what changes.
        overrides: Limits that go over the parent's spec, lowest first.

    Raises:
        BadInput: Every mistake; nothing was started.
    """
    if not moments:
        raise BadInput([Mistake(wanted.flag, None, "", "there is no moment to go on from")])
    mistakes = Mistakes(_document(moments, wanted, overrides))
    spec = mistakes.collect(lambda: check(mistakes.document, RunSpec))
    kind = load_kind(moments[0].plan.kind)
    wanted = check_names(kind, moments, wanted, mistakes)
    _check_versions(kind, moments, mistakes)
    check_folders(kind, moments, mistakes)
    library, changed, forks = FolderLibrary(project), list[Changed](), list[Forked]()
    for moment in moments:
        for variant in wanted.variants:
            made = change_moment(kind, moment, variant, wanted, library, mistakes)
            if made is None:
                continue
            forked = fork_moment(kind, moment, made, wanted, mistakes)
            if forked is not None:
                changed.append(made)
                forks.append(forked)
    if spec is None:
        raise BadInput(mistakes.found)
    bindings = [one.binding for one in changed]
    models = resolve_models(spec, bindings, mistakes)
    mistakes.stop_if_any()
    prepared = _assemble(kind, spec, moments, changed, models, wanted, project)
    check_caps(prepared, bindings, mistakes)
    mistakes.stop_if_any()
    return Continuation(prepared, tuple(moments), tuple(forks), wanted)


def _document(
    moments: Sequence[Checkpoint], wanted: Wanted, overrides: Sequence[Override]
) -> Document:
    """The parent's spec as this run has it, with what is said on the command line over it."""
    first = moments[0]
    spec = dict(first.spec)
    # moments are not launched in rounds, so they are all played and looked at once
    compared = {**(spec.get("compare") or {}), "factor": wanted.compared, "engine": "fixed"}
    layers: list[Override] = [
        (("name",), f"{str(spec.get('name', 'run'))[:50]}-{wanted.word}", ""),
        (("scenarios",), list(dict.fromkeys(moment.plan.scenario for moment in moments)), ""),
        (("factors",), {}, ""),
        (("compare",), compared, ""),
        (("stop",), "never", ""),
        (("per_cell",), None, ""),
        (("sessions",), len(moments) * len(wanted.variants) * wanted.times, ""),
        *(
            (("factors", name), list(levels), f"{wanted.flag} {name}")
            for name, levels in wanted.levels.items()
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
    wanted: Wanted,
    project: Path,
) -> Prepared:
    tariffs = {name: entry.tariff for name, entry in models.items()}
    plan = _plan(spec, moments, changed, wanted)
    groups = with_default_limits(
        {name: GroupLimits(**limits.model_dump()) for name, limits in spec.groups.items()}, models
    )
    shares = [_left(moment) for moment in moments for _ in wanted.variants]
    costs = [
        CellCost({role: _part(cost, share) for role, cost in whole.items()})
        for one, share in zip(changed, shares, strict=True)
        for whole in [session_cost(one.binding.profile, tariffs)]
    ]
    work = [(wanted.times, work_of(one.binding.profile, models)) for one in changed]
    return Prepared(
        spec=spec,
        source=f"run {moments[0].run_id}",
        kind=kind,
        plan=plan,
        resources=_resources(changed),
        models=models,
        groups=groups,
        cell_costs=tuple(costs),
        prelude_cost=NOTHING,
        preludes_per_round=0,
        factors=_factors(plan.cells, wanted),
        compare_factor=wanted.compared,
        titles={cell.scenario: cell.scenario for cell in plan.cells},
        time=run_time(work, spec.limits.open_sessions, groups),
        env_file=project.resolve() / ENV_NAME,
    )


def _plan(
    spec: RunSpec, moments: Sequence[Checkpoint], changed: Sequence[Changed], wanted: Wanted
) -> Plan:
    origins = tuple(
        Origin(m.run_id, m.plan.session_id, m.turn, m.plan.seed, m.plan.prelude_id) for m in moments
    )
    return Plan(
        tuple(_cell(one) for one in changed),
        len(changed) * wanted.times,
        spec.seed,
        spec.limits.turns,
        spec.limits.session_minutes * 60.0,
        Continued(origins, wanted.times, wanted.own_seed),
    )


def _cell(one: Changed) -> Cell:
    hashes = {name: content_hash(value) for name, value in one.texts.items()}
    plan = one.plan
    return Cell(
        plan.scenario, plan.kind, plan.levels, plan.options, plan.roles, hashes, None, plan.changed
    )


def _resources(changed: Sequence[Changed]) -> dict[str, JSON]:
    return {content_hash(value): value for one in changed for value in one.texts.values()}


def _factors(cells: Sequence[Cell], wanted: Wanted) -> dict[str, tuple[str, ...]]:
    """What was changed, with its levels in order; then the parents' own factors, as far as seen."""
    seen: dict[str, dict[str, None]] = {
        name: dict.fromkeys(levels) for name, levels in wanted.levels.items()
    }
    for cell in cells:
        for name, level in cell.levels.items():
            seen.setdefault(name, {})[level] = None
    return {name: tuple(levels) for name, levels in seen.items()}


def _left(moment: Checkpoint) -> float:
    """Upper estimate of the share of a session's cost that is still to come.

    What a turn costs grows about linearly with the log, so the cost so far with its square; few
    sessions use all their turns, so more of it is behind them than this says.
    """
    return 1.0 - min(1.0, moment.turn / moment.plan.max_turns) ** 2 * (1 - FINISH_SHARE)


FINISH_SHARE = 0.05
"""Part of a session's cost that comes after its last turn, about: the judge."""


def _part(cost: Interval, share: float) -> Interval:
    return Interval(*(round(amount * share) for amount in (cost.low, cost.middle, cost.high)))
