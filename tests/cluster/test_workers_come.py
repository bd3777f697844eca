"""Workers that are slow to come up, or whose node dies before they do."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cluster.machines import Machine, Machines
from tests.cluster.programs import events, pids_of_workers, project_on
from tests.comparer import compare_tables
from tests.executors.programs import Project, counter_spec, finished, undisturbed, wait_for
from tests.faults.laws import assert_books

pytestmark = pytest.mark.ray


@pytest.fixture
def held(tmp_path: Path, cluster: Machines) -> tuple[Machine, Project]:
    """A node beside the driver's, which a run's only worker has to go to first."""
    cluster.head(1)
    node = cluster.add(1)
    project = project_on(cluster, tmp_path)
    project.write(counter_spec())
    return node, project


def raylet_of(node: Machine) -> int:
    (pid,) = node.pids("/raylet/raylet")
    return pid


@pytest.mark.long
def test_a_node_that_dies_before_its_worker_is_up_costs_no_run(
    tmp_path: Path, held: tuple[Machine, Project]
) -> None:
    node, project = held
    run_dir = project.path("hurt")
    with project.started("run", "--run-id", "hurt", "--workers", "1") as process:
        wait_for(lambda: bool(events(run_dir, "run.started")))
        os.kill(raylet_of(node), signal.SIGSTOP)  # its worker cannot come up
        wait_for(lambda: any(one["process"] == "governor" for one in events(run_dir)))
        node.vanish()
        done = finished(process)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert "never retrieved" not in done.err
    assert pids_of_workers(run_dir), "one came up where there was another CPU"
    assert events(run_dir, "process.died", "node.lost")
    (tmp_path / "whole").mkdir()
    assert compare_tables(run_dir, undisturbed(tmp_path / "whole", counter_spec())) == []
    assert_books(run_dir)


def test_workers_that_are_slow_wait_for_nobody_s_cpu(held: tuple[Machine, Project]) -> None:
    node, project = held
    run_dir = project.path("slow")
    with project.started("run", "--run-id", "slow", "--workers", "1") as process:
        wait_for(lambda: bool(events(run_dir, "run.started")))
        os.kill(raylet_of(node), signal.SIGSTOP)
        wait_for(lambda: bool(events(run_dir, "workers.waiting")))
        os.kill(raylet_of(node), signal.SIGCONT)
        done = finished(process)
    assert done.code == 0, done.err
    assert "1 of 1 worker is still starting" in done.err
    assert "others use" not in done.err
