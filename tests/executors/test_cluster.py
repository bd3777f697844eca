"""A run over several nodes of Ray, of which one is taken away without a word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from matrix.store.comparer import compare_tables
from tests.executors import clustered
from tests.executors.conftest import References
from tests.executors.programs import PATIENCE_S, SPECS, Project
from tests.faults.counting import Chaos
from tests.faults.laws import assert_books

ROOT = Path(clustered.__file__).parents[2]


@pytest.mark.ray
def test_a_node_that_disappears_takes_no_session_with_it(
    tmp_path: Path, reference: References, chaos: Chaos
) -> None:
    project = Project(tmp_path)
    project.write(SPECS["slow counter"])
    command = [sys.executable, "-m", "tests.executors.clustered", str(project.folder), "hurt"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'actors'}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["status"] == "complete"
    assert said["removed"], "no node was removed while the run was going on"
    assert said["elsewhere"] > 0, "nobody worked on the node that was removed"
    chaos.hurt("node", "removed")
    assert compare_tables(project.path("hurt"), reference["slow counter"]) == []
    assert_books(project.path("hurt"))
    chaos.checked(project.path("hurt"))
