"""``plan.json``: a prepared run on disk, so that a resumed run is the same run.

Packs, prompts and prices may change after a run was started; what was prepared then is what is
resumed now. Texts are not in it: they are in the journal, by content hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from matrix.admission.tariffs import Tariff
from matrix.engine.prepare.estimate import CostInterval, TimeInterval
from matrix.engine.prepare.keys import ENV_NAME
from matrix.engine.prepare.prepared import CellCost, Prepared
from matrix.engine.prepare.registry import load_kind
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.kinds.protocol import KEPT_KIND, Kind
from matrix.model.errors import StoreError
from matrix.model.files import read_plain
from matrix.model.lines import in_line, is_plain_name
from matrix.model.plan import Cell, Continued, Origin, Plan
from matrix.model.records import JSON
from matrix.model.spec.aliases import StandIns, simulated_roles
from matrix.model.spec.run_spec import RunSpec
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.run.disk import Disk
from matrix.store.run.made_here import PLAN_NAME, is_made_here
from matrix.store.run.run_folder import RUN_FILE, read_run, require_played

_ENTRY: Final = TypeAdapter(ModelEntry)
_SHOWN: Final = 300


def write_plan(run_dir: Path, prepared: Prepared) -> None:
    """Write ``plan.json`` into a run's folder, whole or not at all."""
    plan = prepared.plan
    document = {
        "spec": prepared.spec.model_dump(mode="json"),
        "source": prepared.source,
        "kind": prepared.kind.name,
        "cells": [asdict(cell) for cell in plan.cells],
        "sessions": plan.sessions,
        "continued": _continued_out(plan.continued),
        "models": {
            name: [
                entry.provider,
                entry.target,
                entry.tariff.to_json(),
                entry.group,
                entry.api_base,
                entry.api_key_env,
                dict(entry.params),
                entry.asks,
            ]
            for name, entry in prepared.models.items()
        },
        "groups": {name: list(limits) for name, limits in prepared.groups.items()},
        "cell_costs": [_roles_out(cost) for cost in prepared.cell_costs],
        "prelude": _roles_out(prepared.prelude),
        "preludes_per_round": prepared.preludes_per_round,
        "factors": {name: list(levels) for name, levels in prepared.factors.items()},
        "compare_factor": prepared.compare_factor,
        "scenarios": {name: dict(row) for name, row in prepared.scenarios.items()},
        "time": list(prepared.time),
        "env_file": str(prepared.env_file),
        "call_cost": prepared.call_cost,
        "calls_each": prepared.calls_each,
        "stand_ins": {role: list(levels) for role, levels in prepared.stand_ins.items()},
    }
    _write(run_dir, document)


def _write(run_dir: Path, document: Mapping[str, Any]) -> None:
    temporary, disk = run_dir / f".{PLAN_NAME}.tmp", Disk()
    disk.write(temporary, lambda handle: handle.write(orjson.dumps(document)))
    disk.rename(temporary, run_dir / PLAN_NAME)
    disk.sync_folder(run_dir)


_Nano = Annotated[int, Field(ge=0, le=10**18)]
_Costs = dict[str, tuple[_Nano, _Nano, _Nano]]
_MOST_SESSIONS: Final = 10_000_000
"""What a run spec may ask for at most."""


class _PlanFile(BaseModel):
    """What is in ``plan.json``: it may be somebody else's, so all of it is looked at."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    spec: RunSpec
    source: str
    kind: str
    cells: tuple[Cell, ...] = Field(min_length=1)
    sessions: int = Field(ge=1, le=_MOST_SESSIONS)
    continued: list[Any] | None = None
    models: dict[str, Annotated[list[Any], Field(min_length=4, max_length=8)]]
    groups: dict[str, GroupLimits]
    cell_costs: tuple[_Costs, ...]
    prelude: _Costs | None = None
    prelude_cost: tuple[_Nano, _Nano, _Nano] = (0, 0, 0)
    preludes_per_round: int = Field(ge=0, le=_MOST_SESSIONS)
    factors: dict[str, tuple[str, ...]]
    compare_factor: str | None
    scenarios: dict[str, dict[str, Any]] = {}
    time: TimeInterval = TimeInterval(0.0, 0.0, 0.0)
    env_file: str | None = None
    call_cost: _Nano = 0
    calls_each: float = Field(0.0, ge=0.0, le=1e9)
    stand_ins: dict[str, tuple[str, ...]] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if len(self.cell_costs) != len(self.cells):
            raise ValueError(f"{len(self.cells)} cells have {len(self.cell_costs)} costs")
        moments = self.continued[0] if self.continued else None
        count = len(moments) if isinstance(moments, list) and moments else 1
        each = max(1, len(self.cells) // count)  # what goes on from one moment stands together
        for first in range(0, len(self.cells), each):
            own = self.cells[first : first + each]
            if len({cell.id for cell in own}) != len(own):
                raise ValueError("two cells are the same")
        for cell in self.cells:
            if not is_plain_name(cell.scenario):
                raise ValueError(f"{cell.scenario[:80]!r} is no name of a scenario")
            if cell.levels.keys() != self.factors.keys():
                raise ValueError(f"a cell of {cell.scenario!r} has other factors than the plan")
            for name, level in cell.levels.items():
                if level not in self.factors[name]:
                    raise ValueError(f"a cell has the level {level!r}, which {name} has not")
        return self


def read_plan(run_dir: Path) -> Prepared:
    """The prepared run of an existing folder; its texts come from the journal.

    Raises:
        StoreError: There is no readable plan, or what it says cannot be, or the run was imported.
    """
    if (run_dir / RUN_FILE).is_file():
        require_played(run_dir)
    try:
        found = _PlanFile.model_validate_json(read_plain(run_dir / PLAN_NAME))
        resources = _resources(run_dir)
        code = read_run(run_dir).kind_code or found.cells[0].resources.get(KEPT_KIND, "")
        kind = load_kind(found.kind, kept=resources.get(code))
        prepared = _prepared(found, kind, resources, run_dir)
    except OSError as error:
        raise _unreadable(run_dir, str(error.strerror)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _unreadable(run_dir, f"{place}: {first['msg']}" if place else first["msg"]) from None
    except (ValueError, TypeError, LookupError) as error:
        raise _unreadable(run_dir, str(error)) from None
    roles = {role.name for role in kind.roles}
    for cell in found.cells:
        if lost := {*cell.resources.values()} - prepared.resources.keys():
            raise _unreadable(run_dir, f"the text {min(lost)} is not in the journal")
        if cell.kind != kind.name or not roles <= cell.roles.keys():
            raise _unreadable(run_dir, f"a cell of {cell.scenario!r} is none of {kind.name}")
    return prepared


def _unreadable(run_dir: Path, why: str) -> StoreError:
    return StoreError(
        f"{run_dir / PLAN_NAME} cannot be read ({in_line(why)[:_SHOWN]}); not resumable"
    )


def _prepared(
    found: _PlanFile, kind: Kind, resources: Mapping[str, JSON], run_dir: Path
) -> Prepared:
    spec = found.spec
    return Prepared(
        spec=spec,
        source=found.source,
        kind=kind,
        plan=Plan(
            cells=found.cells,
            sessions=found.sessions,
            seed=spec.seed,
            max_turns=spec.limits.turns,
            max_session_s=spec.limits.session_minutes * 60.0,
            continued=_continued(found.continued),
        ),
        resources=resources,
        models={name: _entry(*fields) for name, fields in found.models.items()},
        groups=found.groups,
        cell_costs=tuple(_cost(cost) for cost in found.cell_costs),
        prelude=_cost({"": found.prelude_cost} if found.prelude is None else found.prelude),
        preludes_per_round=found.preludes_per_round,
        factors=found.factors,
        compare_factor=found.compare_factor,
        scenarios=found.scenarios,
        time=found.time,
        env_file=run_dir / ENV_NAME if found.env_file is None else Path(found.env_file),
        call_cost=found.call_cost,
        calls_each=found.calls_each,
        stand_ins=_stand_ins(found),
    )


def _entry(
    provider: str,
    target: str,
    tariff: JSON,
    group: str,
    api_base: str | None = None,
    api_key_env: str | None = None,
    params: JSON = None,
    asks: Sequence[str] = (),
) -> ModelEntry:
    """A model of the plan, looked at by its types.

    Raises:
        ValidationError, ValueError, TypeError: It is none.
    """
    price = Tariff.from_json(tariff)
    fields = (provider, target, price, group, api_base, api_key_env, params or {}, tuple(asks))
    return _ENTRY.validate_python(fields)


def texts_of(run_dir: Path) -> dict[str, dict[str, frozenset[str]]]:
    """Scenario -> name of a text -> its content hashes; nothing where there is no readable plan."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    try:
        cells = orjson.loads(read_plain(run_dir / PLAN_NAME))["cells"]
        for cell in cells:
            own = found.setdefault(str(cell["scenario"]), {})
            for name, key in cell["resources"].items():
                own[name] = own.get(name, frozenset()) | {str(key)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return found


def settle_plan(run_dir: Path, env_file: Path) -> None:
    """Say where the project is of a run that was made elsewhere, and is taken up here.

    Raises:
        StoreError: There is no readable plan, or no room for it.
    """
    try:
        found = orjson.loads(read_plain(run_dir / PLAN_NAME))
        _write(run_dir, {**found, "env_file": str(env_file)})
    except (OSError, ValueError, TypeError) as error:
        raise _unreadable(run_dir, str(error)) from None


def project_of_run(run_dir: Path) -> Path:
    """The folder whose packs the run was planned with, if it was made here, and is still there.

    Else the working directory: what a run from elsewhere says of this machine's folders is nothing
    to go by.
    """
    if not is_made_here(run_dir, read_run(run_dir)):
        return Path.cwd()
    try:
        folder = Path(orjson.loads(read_plain(run_dir / PLAN_NAME))["env_file"]).parent
    except (OSError, ValueError, LookupError, TypeError):
        return Path.cwd()
    return folder if folder.is_dir() else Path.cwd()


def read_tariffs(run_dir: Path) -> dict[str, Tariff]:
    """Model -> the prices that a run was held to; none of a folder without a readable plan."""
    try:
        models = orjson.loads(read_plain(run_dir / PLAN_NAME))["models"]
        return {name: Tariff.from_json(fields[2]) for name, fields in models.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _stand_ins(found: _PlanFile) -> StandIns:
    """What a plan says of simulated models, or the names of its roles if it is older than that."""
    if found.stand_ins is not None:
        return found.stand_ins
    levels: dict[str, dict[str, None]] = {}
    for cell in found.cells:
        for role in simulated_roles(cell.roles, None):
            levels.setdefault(role, {})[cell.roles[role]] = None
    return {role: tuple(names) for role, names in levels.items()}


def _resources(run_dir: Path) -> dict[str, JSON]:
    """The texts; each has to be what it was named for, as the plan knows them by their names."""
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        return reader.resources()


def _continued_out(continued: Continued | None) -> list[Any] | None:
    if continued is None:
        return None
    origins, *rest = continued
    return [[list(origin) for origin in origins], *rest]


def _continued(fields: list[Any] | None) -> Continued | None:
    if fields is None:
        return None
    origins, *rest = fields
    return Continued(tuple(Origin(*origin) for origin in origins), *rest)


def _roles_out(cost: CellCost) -> dict[str, list[int]]:
    return {role: [one.low, one.middle, one.high] for role, one in cost.roles.items()}


def _cost(found: Mapping[str, Any]) -> CellCost:
    return CellCost({role: CostInterval(*amounts) for role, amounts in found.items()})
