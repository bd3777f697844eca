"""A run that somebody has made, and a copy of it as it was sent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.executors.programs import Project, counter_spec


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of a run called ``it``."""
    project = Project(tmp_path_factory.mktemp("played"))
    project.write(counter_spec(options={"turns": 1}, per_cell=2))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done.err
    return project.folder


@pytest.fixture
def sent(played: Path, tmp_path: Path) -> Project:
    """The same in a project of its own."""
    shutil.copytree(played, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")
