"""One Ray for all programs that want one, and the runs that others are compared with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.executors import ray_host
from tests.executors.programs import SPECS, Project
from tests.faults.counting import chaos

__all__ = ["chaos"]


class SharedRay(NamedTuple):
    """A Ray that outlives the programs that join it.

    Attributes:
        environment: What a program needs to join it.
        session: Operating-system session of all its processes.
    """

    environment: dict[str, str]
    session: int


@pytest.fixture(scope="session")
def shared_ray() -> Iterator[SharedRay]:
    """Started when the first test wants it."""
    process = subprocess.Popen(
        [sys.executable, ray_host.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        host = json.loads(process.stdout.readline())
        yield SharedRay({**host["environment"], "MATRIX_RAY_ADDRESS": host["address"]}, process.pid)


class References:
    """Runs in one process, which every other run of the same spec must equal; made when asked."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._made: dict[str, Path] = {}

    def __getitem__(self, name: str) -> Path:
        """The folder of the run of ``SPECS[name]``."""
        if name not in self._made:
            project = Project(self._folders.mktemp(f"reference-{name}"))
            project.write(SPECS[name])
            done = project.matrix(
                "run", "--executor", "in-process", "--quiet", "--run-id", "reference"
            )
            assert done.code == 0, done.err
            self._made[name] = project.path("reference")
        return self._made[name]


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> References:
    return References(tmp_path_factory)
