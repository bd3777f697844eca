"""One of Ray's own processes is killed: the run ends at once, says how to go on, and can."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from matrix.store.run.run_folder import read_run
from tests.executors.programs import (
    Project,
    counter_spec,
    entries_of,
    finished,
    processes_of,
    undisturbed,
    wait_for,
)
from tests.faults.counting import Chaos
from tests.faults.laws import is_locked

pytestmark = pytest.mark.ray

RAYS_OWN = {
    "raylet": "/raylet/raylet",
    "gcs": "/gcs/gcs_server",
    "dashboard-agent": "ray::DashboardAgent",
    "runtime-env-agent": "ray::RuntimeEnvAgent",
}
"""Process of Ray -> a part of its command line. The raylet ends itself when an agent is gone."""

CALLS = 200
"""Calls that are out together, all the time: a hundred sessions with two each."""

SHORT = [(1, "raylet")]
"""Seed of the moment, and who is killed."""

LONG = [(2, "gcs")] + [(seed, list(RAYS_OWN)[seed % len(RAYS_OWN)]) for seed in range(10, 20)]


def many_at_once() -> dict[str, Any]:
    slow = {"time": "real", "latency": {"first_token_s": 0.5, "tokens_per_s": 1e6, "jitter": 0}}
    options = {"turns": 16, "width": 2}
    return counter_spec(per_cell=CALLS // 4, options=options, simulation=slow)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, undisturbed."""
    return undisturbed(tmp_path_factory.mktemp("whole"), many_at_once())


@pytest.mark.parametrize(
    ("seed", "victim"),
    [*SHORT, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)],
)
def test_a_run_whose_ray_dies_ends_at_once_and_is_resumed_without_a_loss(
    tmp_path: Path, whole: Path, chaos: Chaos, seed: int, victim: str
) -> None:
    project, draw = Project(tmp_path), random.Random(seed)
    project.write(many_at_once())
    run_dir = project.path("hurt")
    # early, because what is left to play has to take longer than noticing does
    moment = draw.randrange(CALLS, entries_of(whole) // 4)
    with project.started("run", "--executor", "ray", "--run-id", "hurt", "--quiet") as process:
        wait_for(lambda: entries_of(run_dir) >= moment)
        (pid,) = processes_of(process.pid, RAYS_OWN[victim])
        os.kill(pid, signal.SIGKILL)
        interrupted = draw.random() < 0.5
        if interrupted:
            process.send_signal(signal.SIGINT)  # it must not wait for who is dead
        done = finished(process)
        assert done.code == 4, done.err
        if not interrupted:  # else it may have drained before it noticed
            assert "Ray has died" in done.err
            assert "`matrix resume hurt`" in done.err
        assert "Traceback" not in done.err
        assert read_run(run_dir).status == "incomplete"
        wait_for(lambda: not processes_of(process.pid))
    chaos.hurt(victim, "SIGKILL")
    assert not is_locked(run_dir)
    again = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert again.code == 0, again.err
    chaos.resumed()
    chaos.whole(run_dir, whole)
