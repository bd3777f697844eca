"""``plan.json``: a prepared run on disk, so that a resumed run is the same run.

Packs, prompts and prices may change after a run was started; what was prepared then is what is
resumed now. Texts are not in it: they are in the journal, by content hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from matrix.admission.tariffs import Tariff
from matrix.engine.prepare.estimate import CostInterval, TimeInterval
from matrix.engine.prepare.keys import ENV_NAME
from matrix.engine.prepare.prepared import CellCost, Prepared
from matrix.engine.prepare.registry import load_kind
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.model.errors import StoreError
from matrix.model.files import read_plain
from matrix.model.plan import Cell, Continued, Origin, Plan
from matrix.model.records import JSON
from matrix.model.spec.aliases import StandIns, simulated_roles
from matrix.model.spec.run_spec import RunSpec
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.run.disk import Disk
from matrix.store.run.made_here import PLAN_NAME


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
        "stand_ins": {role: list(levels) for role, levels in prepared.stand_ins.items()},
    }
    temporary, disk = run_dir / f".{PLAN_NAME}.tmp", Disk()
    disk.write(temporary, lambda handle: handle.write(orjson.dumps(document)))
    disk.rename(temporary, run_dir / PLAN_NAME)
    disk.sync_folder(run_dir)


def read_plan(run_dir: Path) -> Prepared:
    """The prepared run of an existing folder; its texts come from the journal.

    Raises:
        StoreError: There is no readable plan.
    """
    try:
        found: dict[str, Any] = orjson.loads(read_plain(run_dir / PLAN_NAME))
    except (OSError, orjson.JSONDecodeError) as error:
        raise StoreError(f"{run_dir / PLAN_NAME} cannot be read ({error}); not resumable") from None
    spec = RunSpec.model_validate(found["spec"])
    return Prepared(
        spec=spec,
        source=found["source"],
        kind=load_kind(found["kind"]),
        plan=Plan(
            cells=tuple(Cell(**cell) for cell in found["cells"]),
            sessions=found["sessions"],
            seed=spec.seed,
            max_turns=spec.limits.turns,
            max_session_s=spec.limits.session_minutes * 60.0,
            continued=_continued(found.get("continued")),
        ),
        resources=_resources(run_dir),
        models={name: _entry(*fields) for name, fields in found["models"].items()},
        groups={name: GroupLimits(*limits) for name, limits in found["groups"].items()},
        cell_costs=tuple(_cost(cost) for cost in found["cell_costs"]),
        prelude=_cost(found["prelude"] if "prelude" in found else {"": found["prelude_cost"]}),
        preludes_per_round=found["preludes_per_round"],
        factors={name: tuple(levels) for name, levels in found["factors"].items()},
        compare_factor=found["compare_factor"],
        scenarios=found.get("scenarios", {}),
        time=TimeInterval(*found.get("time", (0.0, 0.0, 0.0))),
        env_file=Path(found.get("env_file", run_dir / ENV_NAME)),
        call_cost=found.get("call_cost", 0),
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
    price = Tariff.from_json(tariff)
    return ModelEntry(
        provider, target, price, group, api_base, api_key_env, params or {}, tuple(asks)
    )


def read_tariffs(run_dir: Path) -> dict[str, Tariff]:
    """Model -> the prices that a run was held to; none of a folder without a readable plan."""
    try:
        models = orjson.loads(read_plain(run_dir / PLAN_NAME))["models"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return {name: Tariff.from_json(fields[2]) for name, fields in models.items()}


def _stand_ins(found: dict[str, Any]) -> StandIns:
    """What a plan says of simulated models, or the names of its roles if it is older than that."""
    if "stand_ins" in found:
        return {role: tuple(levels) for role, levels in found["stand_ins"].items()}
    levels: dict[str, dict[str, None]] = {}
    for cell in found["cells"]:
        for role in simulated_roles(cell["roles"], None):
            levels.setdefault(role, {})[cell["roles"][role]] = None
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
