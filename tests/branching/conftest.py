"""One small run of each kind, played once: parents to go on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import matrix
from matrix.api import Run

COUNTER = {
    "name": "count",
    "kind": "counter",
    "scenarios": ["one"],
    "factors": {"step": [1, 2]},
    "options": {"turns": 6, "width": 2, "shared_start": True},
    "per_cell": 3,
    "limits": {"cost_usd": 10},
}
PLAY = {
    "name": "play",
    "kind": "playtest",
    "scenarios": ["house-too-many"],
    "factors": {"prompt": ["baseline", "pulse-aware"]},
    "options": {"group": ["joker", "curious", "optimizer"]},
    "per_cell": 1,
    "limits": {"cost_usd": 150, "turns": 6},
}


def played(folder: Path, spec: dict[str, Any]) -> Run:
    """A run of this spec in a project of its own."""
    (folder / "matrix.yaml").write_text(yaml.safe_dump(spec))
    return matrix.run(
        folder / "matrix.yaml", results=folder / "results", run_id="parent", executor="in-process"
    )


@pytest.fixture(scope="session")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return played(tmp_path_factory.mktemp("counter"), COUNTER)


@pytest.fixture(scope="session")
def play(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return played(tmp_path_factory.mktemp("play"), PLAY)


@pytest.fixture(params=["counter", "play"])
def parent(request: pytest.FixtureRequest) -> Run:
    """Of either kind; their sessions have six turns."""
    run = request.getfixturevalue(request.param)
    assert isinstance(run, Run)
    return run
