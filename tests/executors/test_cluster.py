"""A run over several nodes of Ray, of which one is taken away without a word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from matrix.store.comparer import compare_tables
from tests.executors import clustered
from tests.executors.conftest import References
from tests.executors.programs import PATIENCE_S, SPECS, Project
from tests.faults.counting import Chaos
from tests.faults.laws import assert_books
from tests.faults.test_folder_kills import scribe_project

ROOT = Path(clustered.__file__).parents[2]


def lose_a_node(project: Project, turns: int) -> dict[str, Any]:
    """Play on three nodes and take one away after so many turns; what was seen."""
    command = [sys.executable, "-m", "tests.executors.clustered"]
    path = project.environment.get("PYTHONPATH", "")
    done = subprocess.run(
        [*command, str(project.folder), "hurt", str(turns)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'actors'}:{path}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert said["status"] == "complete"
    assert said["removed"], "no node was removed while the run was going on"
    return said


@pytest.mark.ray
def test_a_node_that_disappears_takes_no_session_with_it(
    tmp_path: Path, reference: References, chaos: Chaos
) -> None:
    project = Project(tmp_path)
    project.write(SPECS["slow counter"])
    said = lose_a_node(project, 60)
    assert said["elsewhere"] > 0, "nobody worked on the node that was removed"
    chaos.hurt("node", "removed")
    assert compare_tables(project.path("hurt"), reference["slow counter"]) == []
    assert_books(project.path("hurt"))
    chaos.checked(project.path("hurt"))


@pytest.mark.ray
@pytest.mark.long
def test_sessions_with_working_folders_are_played_where_the_folders_are(tmp_path: Path) -> None:
    project = scribe_project(tmp_path)
    said = lose_a_node(project, 4)
    assert said["elsewhere"] == 0, "no session was played on a node without its folder"
    sessions = project.tables("hurt").frame("sessions")
    assert set(sessions.outcome) == {"completed"}
    assert_books(project.path("hurt"))
