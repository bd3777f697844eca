"""Runs that are played on a cluster, and what their logs say of its processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cluster.machines import Machines
from tests.executors.programs import Project, counter_spec

SESSIONS = 24


def slow_spec(**changes: Any) -> dict[str, Any]:
    """Sessions that last some twenty seconds, all at the same time."""
    slow = {"time": "real", "latency": {"first_token_s": 1.0, "tokens_per_s": 1e6, "jitter": 0}}
    options = {"turns": 20, "width": 1}
    return counter_spec(per_cell=SESSIONS // 2, options=options, simulation=slow) | changes


def project_on(cluster: Machines, folder: Path, **variables: str) -> Project:
    environment = cluster.environment_of("head", MATRIX_RAY_ADDRESS=cluster.address, **variables)
    project = Project(folder, environment)
    project.write(slow_spec())
    return project


def events(run_dir: Path, *names: str) -> list[dict[str, Any]]:
    """Lines of a run's log, of these events if any are named."""
    path = run_dir / "log.jsonl"
    lines = path.read_text().splitlines() if path.is_file() else []
    found = [json.loads(line) for line in lines]
    return [one for one in found if not names or one["event"] in names]


def workers_up(run_dir: Path) -> int:
    return sum(one["process"].startswith("worker") for one in events(run_dir, "process.started"))


def pids_of_workers(run_dir: Path) -> set[int]:
    started = events(run_dir, "process.started")
    return {one["pid"] for one in started if one["process"].startswith("worker")}
