"""A run over several nodes of Ray, of which one is taken away without a word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from matrix.engine.executors.node_folder import NodeFolder
from matrix.store.blobs.blobs import BlobStore
from matrix.store.blobs.restoring import restore_tree
from tests.comparer import compare_tables
from tests.executors import clustered
from tests.executors.clustered import GATE
from tests.executors.conftest import References
from tests.executors.programs import LONGEST_WAIT_S, SPECS, Project
from tests.faults.counting import Chaos
from tests.faults.laws import assert_books, trees
from tests.faults.test_folder_kills import scribe_project, scribe_spec

ROOT = Path(clustered.__file__).parents[2]


def lose_a_node(project: Project, turns: int, *killed: str) -> dict[str, Any]:
    """Play on three nodes, kill some processes, take a node away after so many turns; what was
    seen."""
    command = [sys.executable, "-m", "tests.executors.clustered"]
    (project.folder / "nodes").mkdir()
    path = project.environment.get("PYTHONPATH", "")
    done = subprocess.run(
        [*command, str(project.folder), "hurt", str(turns), *killed],
        cwd=ROOT,
        env={
            **os.environ,
            **project.environment,
            "PYTHONPATH": f"{ROOT}:{ROOT / 'actors'}:{path}",
            # Ray's sockets would have too long a path in there
            "TMPDIR": str(project.folder / "nodes"),
            "RAY_TMPDIR": tempfile.gettempdir(),
        },
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert said["status"] == "complete"
    assert said["removed"], "no node was removed while the run was going on"
    return said


@pytest.mark.ray
@pytest.mark.long
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
def test_sessions_with_working_folders_go_from_node_to_node_and_leave_the_same_folders(
    tmp_path: Path, chaos: Chaos
) -> None:
    """Also when the process that takes their files dies on the way, once and again."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "hurt").mkdir()
    spec = scribe_spec() | {"per_cell": 6}
    reference, project = scribe_project(tmp_path / "whole"), scribe_project(tmp_path / "hurt")
    for each in (reference, project):
        each.write(spec)
    done = reference.matrix("run", "--executor", "in-process", "--run-id", "whole", "--quiet")
    assert done.code == 0, done.err
    places, gate = tmp_path / "places", project.folder / GATE
    more = {"SCRIBE_PLACES": str(places), "SCRIBE_GATE": str(gate)}
    hurt = Project(project.folder, {**project.environment, **more})
    said = lose_a_node(hurt, 24, "blobs", "blobs")  # two turns of each of twelve sessions
    assert said["elsewhere"] > 0, "nobody worked on the node that was removed"
    assert said["incarnations"]["blobs"] == 3
    chaos.hurt("node", "removed")
    run_dir, whole = hurt.path("hurt"), reference.path("whole")
    assert set(hurt.tables("hurt").frame("sessions").outcome) == {"completed"}
    assert trees(run_dir) == trees(whole)
    assert compare_tables(run_dir, whole) == []
    assert_books(run_dir)
    assert_apart(said, run_dir, [line.split() for line in places.read_text().splitlines()])
    for number, tree in enumerate(sorted(set(trees(run_dir).values()) - {""})):
        restore_tree(tmp_path / "trees" / str(number), tree, BlobStore(run_dir), 0)
    chaos.checked(run_dir)


def assert_apart(said: dict[str, Any], run_dir: Path, told: Sequence[Sequence[str]]) -> None:
    """Sessions worked in the run's folder on the journal's node and only there."""
    played = {(said["hosts"][pid], Path(path)) for pid, path in told}
    nodes = run_dir.parents[1] / "nodes"
    assert {said["home"], said["removed"]} <= {node for node, _ in played}
    for node, path in played:
        assert path.is_relative_to(run_dir) is (node == said["home"])
        assert path.is_relative_to(nodes) is (node != said["home"])
    folders = {path.parents[2] for _, path in played}
    assert len(folders) == len({node for node, _ in played}), "nodes share no folder"
    NodeFolder.open("another", run_dir, nodes).close()  # as the next run on that machine would
    left = [path for path in nodes.glob("*/*") if not path.parent.name.startswith("pymp-")]
    assert left == [], "but for what Ray's dashboard keeps there"
