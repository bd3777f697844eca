"""Driving an executor without the program around it: with provider clients, and a look inside.

Run as a script it plays a project's spec on a local Ray with two provider clients and prints what
its processes had loaded: ``driving.py <project folder> <run id>``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from matrix.api import plan as prepare_plan
from matrix.engine.continuation.folders_kept import keep_initial_folders
from matrix.engine.executors.executor import Executor, News, load_executor
from matrix.engine.prepare.plan_file import write_plan
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run.driver import Driver
from matrix.engine.run.progress import Progress, RunEnd, Silent
from matrix.engine.wire.messages import Picture
from matrix.engine.wire.setup import RunSetup
from matrix.model.entries import Looked
from matrix.model.money import from_usd
from matrix.model.plan import Plan
from matrix.model.records import SessionPlan
from matrix.store.run.run_folder import (
    PlanSummary,
    RunFile,
    Versions,
    create_run,
    marked,
    write_run,
)

LIBRARIES = ("tiktoken", "tokenizers")
"""Shared libraries that betray litellm in a process's memory map. (Arrow is in every process of
Ray: Ray itself imports it wherever it is installed.)"""


class WithClients:
    """An executor whose simulated models live in processes of their own."""

    def __init__(self, inner: Executor, clients: int) -> None:
        self.inner, self._clients = inner, clients

    async def start(self, setup: RunSetup) -> None:
        await self.inner.start(replace(setup, clients={"sim": self._clients}))

    def open(self, plans: Sequence[SessionPlan]) -> None:
        self.inner.open(plans)

    async def news(self) -> list[News]:
        return await self.inner.news()

    async def picture(self) -> Picture:
        return await self.inner.picture()

    async def record(self, look: Looked) -> None:
        await self.inner.record(look)

    async def drain(self) -> None:
        await self.inner.drain()

    async def finish(self, plan: Plan, reason: str) -> None:
        await self.inner.finish(plan, reason)

    async def stop(self, *, at_once: bool = False) -> None:
        await self.inner.stop(at_once=at_once)


class LookingInside(Silent):
    """Notes at every tick which libraries the processes of a run have loaded."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.loaded: dict[str, set[str]] = {}

    def progress(self, progress: Progress) -> None:
        for name, pid in getattr(self._executor, "pids", {}).items():
            text = Path(f"/proc/{pid}/maps").read_text()
            self.loaded.setdefault(name, set()).update(lib for lib in LIBRARIES if lib in text)


def prepared_in(folder: Path) -> Prepared:
    return prepare_plan(folder / "matrix.yaml", overrides=())


def run_folder(prepared: Prepared, folder: Path, run_id: str) -> Path:
    """A run's folder with what its publisher reads of it, and what it can be resumed from."""
    plan = prepared.plan
    file = RunFile(
        run_id=run_id,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        name=prepared.spec.name,
        kind=prepared.kind.name,
        spec=prepared.spec.model_dump(mode="json"),
        spec_hash=prepared.spec_hash,
        prices_hash=prepared.prices_hash,
        versions=Versions(matrix="0", python="0", kind=1, state=1),
        git_commit=None,
        status="running",
        plan=PlanSummary(
            sessions=plan.sessions,
            cells=len(plan.cells),
            rounds=plan.rounds,
            scenarios=tuple(dict.fromkeys(cell.scenario for cell in plan.cells)),
            factors=dict(prepared.factors),
            compared=prepared.compare_factor,
            metric="score",
            score_range=None,
        ),
        simulated=True,
        cap_nano=from_usd(prepared.spec.limits.cost_usd),
    )
    run_dir = create_run(folder / "results", file)
    keep_initial_folders(prepared.kind, prepared.folders, run_dir)
    write_plan(run_dir, prepared)
    write_run(run_dir, marked(run_dir, file))
    return run_dir


async def drive(
    folder: Path, run_id: str, executor: Executor, listener: Silent | None = None
) -> RunEnd:
    """Play the project's spec to its end."""
    prepared = prepared_in(folder)
    run_dir = run_folder(prepared, folder, run_id)
    return await Driver(prepared, run_id, run_dir, executor, listener or Silent()).run()


def main(folder: str, run_id: str) -> None:
    inner = load_executor("ray")
    inside = LookingInside(inner)
    end = asyncio.run(drive(Path(folder), run_id, WithClients(inner, 2), inside))
    loaded = {name: sorted(found) for name, found in inside.loaded.items()}
    print(json.dumps({"status": end.status, "loaded": loaded}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
