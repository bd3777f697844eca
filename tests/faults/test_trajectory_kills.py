"""SIGKILL at any moment of an agent's weeks: the same folders and assertions come out."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.programs import pids_of_workers
from tests.executors.programs import (
    SLOW,
    Project,
    entries_of,
    grown_to,
    kill_at,
    undisturbed,
    wait_for,
)
from tests.faults.counting import Chaos
from tests.faults.laws import assert_kept, entries_in, trees
from tests.waiting import LONGEST_WAIT_S

LONG = [(seed, 1 + seed % 4) for seed in range(12)]
"""Seed of the moments, and how often the run is killed."""


def spec() -> dict[str, Any]:
    """Two shipped scenarios, twice each, whose simulated agent and judge take their time."""
    return {
        "name": "weeks",
        "kind": "trajectory",
        "scenarios": ["02-a-belief-loses-its-ground", "05-the-sweep"],
        "per_cell": 2,
        "options": {"scaffold": "notebook"},
        "simulation": SLOW | {"latency": {"first_token_s": 0.1, "tokens_per_s": 1e6, "jitter": 0}},
        "limits": {"cost_usd": 20, "turns": 10},
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an undisturbed run."""
    return undisturbed(tmp_path_factory.mktemp("whole"), spec())


def assert_same_weeks(project: Project, chaos: Chaos, whole: Path) -> None:
    """The tables are those of the undisturbed run, and so is every folder after every turn."""
    chaos.whole(project.path("hurt"), whole)
    assert trees(project.path("hurt")) == trees(whole)


@pytest.mark.long
def test_undisturbed_every_turn_leaves_a_folder(whole: Path) -> None:
    kept = trees(whole)
    sessions = {key.session_id for key in kept}
    assert len(sessions) == 4
    for one in sessions:
        mine = [tree for key, tree in kept.items() if key.session_id == one]
        assert len(set(mine)) > len(mine) / 2, "the agent writes in most turns"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kills"), [(3, 3), *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)]
)
def test_killed_at_random_moments_a_run_leaves_the_same_weeks(
    tmp_path: Path, whole: Path, chaos: Chaos, seed: int, kills: int
) -> None:
    project, rng = Project(tmp_path), random.Random(seed)
    project.write(spec())
    run_dir = project.path("hurt")
    command: Sequence[str] = ("run", "--executor", "in-process", "--run-id", "hurt", "--quiet")
    for moment in sorted(rng.sample(range(1, entries_of(whole) - 20), kills)):
        with project.started(*command) as process:
            assert kill_at(process, grown_to(run_dir, moment)), "it should have been alive"
        chaos.hurt("driver", "SIGKILL")
        command = ("resume", "hurt", "--executor", "in-process", "--quiet")
    kept = entries_in(run_dir)
    done = project.matrix(*command)
    assert done.code == 0, done.err
    chaos.resumed()
    assert_kept(run_dir, kept)
    assert_same_weeks(project, chaos, whole)


@pytest.mark.ray
@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 6))
def test_workers_that_are_killed_hand_the_folders_on(
    tmp_path: Path, whole: Path, chaos: Chaos, seed: int
) -> None:
    project, rng = Project(tmp_path), random.Random(seed)
    project.write(spec())
    run_dir = project.path("hurt")
    moments = sorted(rng.sample(range(1, entries_of(whole) // 2), 2))
    with project.started("run", "--workers", "2", "--run-id", "hurt", "--quiet") as process:
        dead = set[int]()
        for moment in moments:
            wait_for(grown_to(run_dir, moment))
            wait_for(lambda: bool(pids_of_workers(run_dir) - dead))
            pid = rng.choice(sorted(pids_of_workers(run_dir) - dead))
            os.kill(pid, signal.SIGKILL)
            dead.add(pid)
            chaos.hurt("worker", "SIGKILL")
        out, err = process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode == 0, out + err
    assert_same_weeks(project, chaos, whole)
