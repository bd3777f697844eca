"""Processes of a run on Ray are killed while it goes on: they are replaced, and nobody notices."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from matrix.store.comparer import compare_tables
from tests.executors import hurting
from tests.executors.conftest import SharedRay
from tests.executors.programs import PATIENCE_S, SLOW, Project, counter_spec
from tests.faults.laws import assert_books

pytestmark = pytest.mark.ray

PLACES = ("governor", "worker-0", "worker-1", "client-sim-0", "client-sim-1", "publisher")
TURNS = 2 * 20 * 20
"""Turns of the whole run: two variants, twenty rounds, twenty turns."""

ROOT = Path(hurting.__file__).parents[2]


def spec() -> dict[str, Any]:
    slow = SLOW | {"latency": {"first_token_s": 0.03, "tokens_per_s": 1e6, "jitter": 0}}
    return counter_spec(per_cell=20, simulation=slow)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, undisturbed."""
    project = Project(tmp_path_factory.mktemp("whole"))
    project.write(spec())
    done = project.matrix("run", "--in-process", "--run-id", "whole", "--quiet")
    assert done.code == 0, done.err
    return project.path("whole")


def play(
    project: Project, shared_ray: SharedRay, wounds: Sequence[hurting.Wound], *more: str
) -> dict[str, Any]:
    """Play the run with these wounds; what the program said of it."""
    project.write(spec())
    command = [sys.executable, "-m", "tests.executors.hurting", str(project.folder), "hurt"]
    done = subprocess.run(
        [*command, json.dumps(wounds), *more],
        cwd=ROOT,
        env=os.environ | shared_ray.environment | {"PYTHONPATH": f"{ROOT}:{ROOT / 'actors'}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def assert_unhurt(project: Project, whole: Path) -> None:
    assert compare_tables(project.path("hurt"), whole) == []
    assert_books(project.path("hurt"))


def wounds_of(seed: int, count: int) -> list[hurting.Wound]:
    draw = random.Random(seed)
    moments = sorted(draw.randrange(1, TURNS - 100) for _ in range(count))
    return [hurting.Wound(turns, draw.choice(PLACES), "SIGKILL") for turns in moments]


def test_each_kind_of_process_is_replaced_and_the_run_goes_on(
    tmp_path: Path, shared_ray: SharedRay, whole: Path
) -> None:
    project = Project(tmp_path)
    wounds = [
        hurting.Wound(60 + 90 * number, place, "SIGKILL")
        for number, place in enumerate(("worker-0", "client-sim-1", "publisher", "governor"))
    ]
    said = play(project, shared_ray, wounds)
    assert said["hurt"] == [wound.place for wound in wounds]
    assert (said["status"], said["reason"]) == ("complete", "done")
    assert_unhurt(project, whole)


def test_a_governor_that_hangs_is_taken_for_dead_and_made_so(
    tmp_path: Path, shared_ray: SharedRay, whole: Path
) -> None:
    project = Project(tmp_path)
    said = play(project, shared_ray, [hurting.Wound(100, "governor", "SIGSTOP")], "5")
    assert said["status"] == "complete"
    assert_unhurt(project, whole)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_killed_again_and_again_the_run_comes_to_the_same_tables(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, seed: int
) -> None:
    project = Project(tmp_path)
    wounds = wounds_of(seed, 10)
    said = play(project, shared_ray, wounds)
    # who is dead already cannot be killed, and the run may end before its heir is there
    assert len(said["hurt"]) >= len(wounds) // 2
    assert said["status"] == "complete"
    assert_unhurt(project, whole)
