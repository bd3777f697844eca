"""Nodes of a cluster that fit or do not, come, leave and vanish: a run stays the same."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import matrix
import matrix_actors
from matrix.store.run.run_folder import read_run
from tests.cluster.machines import RAY, Machine, Machines
from tests.cluster.programs import (
    SESSIONS,
    events,
    pids_of_workers,
    project_on,
    slow_spec,
    workers_up,
)
from tests.comparer import compare_tables
from tests.executors.programs import (
    counter_spec,
    entries_of,
    finished,
    undisturbed,
    wait_for,
)
from tests.faults.laws import assert_books

pytestmark = pytest.mark.ray

# --- nodes that do not fit ------------------------------------------------------------------------


def without_matrix(folder: Path) -> dict[str, str]:
    """Variables of a Python that has Ray and no matrix."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Nothing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('matrix', 'matrix_actors'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Nothing())\n"
    )
    return {"PYTHONPATH": str(folder)}


def another_wheel(folder: Path, version: str) -> dict[str, str]:
    """Variables of a Python with a matrix of another version, or another one of the same."""
    for package in (matrix, matrix_actors):
        source = Path(str(package.__file__)).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / source.name, ignore=ignored)
    about = folder / "matrix" / "version.py"
    about.write_text(about.read_text().replace(matrix.__version__, version) + "\n# changed\n")
    return {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        pytest.param(
            "none",
            "has no matrix (ModuleNotFoundError: No module named 'matrix_actors'",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "9.9.9",
            f"has matrix 9.9.9, and {matrix.__version__} is here; install the same wheel",
            marks=pytest.mark.long,
        ),
        (matrix.__version__, f"has other code of matrix {matrix.__version__}"),
    ],
)
def test_a_node_that_does_not_fit_gets_no_session_and_is_told_of(
    tmp_path: Path, cluster: Machines, other: str, words: str
) -> None:
    folder = tmp_path / "python"
    variables = without_matrix(folder) if other == "none" else another_wheel(folder, other)
    cluster.head(3)
    misfit = cluster.add(4, variables=variables)
    project = project_on(cluster, tmp_path)
    project.write(counter_spec())
    done = project.matrix("run", "--run-id", "one")
    assert done.code == 0, done.err
    assert words in " ".join(done.err.split())
    assert not pids_of_workers(project.path("one")) & set(misfit.pids())
    assert workers_up(project.path("one")) == 2, (
        "of three CPUs, one is left to governor and clients"
    )
    told = project.matrix("doctor")
    assert words[:20] in " ".join(told.out.split())


@pytest.mark.long
def test_the_driver_s_own_node_has_to_fit(tmp_path: Path, cluster: Machines) -> None:
    cluster.head(2, **without_matrix(tmp_path / "python"))
    done = project_on(cluster, tmp_path).matrix("run", "--quiet")
    assert done.code == 2
    assert "this machine's own node cannot be used" in done.err
    assert not list(tmp_path.glob("results/*"))


# --- nodes that come and go -----------------------------------------------------------------------


@pytest.mark.long
def test_a_node_that_vanishes_costs_seconds_and_no_session(
    tmp_path: Path, cluster: Machines, whole: Path
) -> None:
    cluster.head(1)
    node = cluster.add(3)
    project = project_on(cluster, tmp_path)
    run_dir = project.path("hurt")
    with project.started("run", "--run-id", "hurt") as process:
        wait_for(lambda: entries_of(run_dir) > 3 * SESSIONS)
        assert pids_of_workers(run_dir) & set(node.pids())
        vanished = datetime.now(UTC)
        node.vanish()
        done = finished(process)
    assert done.code == 0, done.err
    assert compare_tables(run_dir, whole) == []
    assert_books(run_dir)
    assert "is gone" in done.err
    died = events(run_dir, "process.died")
    assert died
    assert {one["node"].partition(" ")[0] for one in died} == {socket.gethostname()}
    assert {one["reason"] for one in died} <= {
        "its node is gone",
        "it cannot be reached any more",
        "it was killed, or crashed",
    }
    assert done.err.count("others play its sessions on") == 1, "one line for one cause"
    assert "another one took its place" not in done.err, "there was no CPU for it"
    assert not events(run_dir, "process.replaced")
    (lost,) = events(run_dir, "node.lost")
    took = datetime.fromisoformat(died[0]["time"]) - vanished
    assert took < timedelta(seconds=30), "of a patience of ours, not of this machine's speed"
    assert lost["node"]


@pytest.mark.long
def test_a_node_that_comes_gets_workers_and_one_that_is_drained_loses_them_without_a_death(
    tmp_path: Path, cluster: Machines
) -> None:
    cluster.head(2)
    project = project_on(cluster, tmp_path)
    # long enough that it goes on until the workers of a new node are up, however slow the machine
    spec = slow_spec(options={"turns": 150, "width": 1})
    (tmp_path / "undisturbed").mkdir()
    whole = undisturbed(
        tmp_path / "undisturbed", spec | {"simulation": spec["simulation"] | {"time": "virtual"}}
    )
    project.write(spec)
    run_dir = project.path("grown")
    with project.started("run", "--run-id", "grown") as process:
        wait_for(lambda: entries_of(run_dir) > SESSIONS)
        node = cluster.add(2)
        wait_for(lambda: bool(pids_of_workers(run_dir) & set(node.pids("SessionWorker"))))
        drain(cluster, node)
        done = finished(process)
    assert done.code == 0, done.err
    assert events(run_dir, "node.joined")
    assert events(run_dir, "node.leaving")
    assert not events(run_dir, "node.lost"), "it was drained, and nothing lost with it"
    assert not events(run_dir, "process.died")
    assert compare_tables(run_dir, whole) == []
    assert_books(run_dir)


def drain(cluster: Machines, machine: Machine) -> None:
    """As whoever manages the machines does it."""
    environment = cluster.environment_of("head") | {"RAY_AUTH_MODE": "token"}
    listing = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False, logging_level='ERROR'); "
    listing += "print([n['NodeID'] for n in ray.nodes() if n['Alive'] and "
    listing += "'node:__internal_head__' not in n['Resources']][0])"
    found = subprocess.run(
        [sys.executable, "-c", listing, cluster.address],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    reason = ("--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "spot")
    node = ("--node-id", found.stdout.split()[-1], "--deadline-remaining-seconds", "600")
    subprocess.run(
        [*RAY, "drain-node", "--address", cluster.address, *node, *reason],
        env=environment,
        check=True,
        capture_output=True,
    )


@pytest.mark.long
def test_a_head_that_dies_ends_the_run_soon_with_the_line_that_goes_on(
    tmp_path: Path, cluster: Machines, whole: Path
) -> None:
    head = cluster.head(3)
    project = project_on(cluster, tmp_path)
    run_dir = project.path("hurt")
    with project.started("run", "--run-id", "hurt") as process:
        wait_for(lambda: entries_of(run_dir) > 3 * SESSIONS)
        head.vanish()
        done = finished(process)
    assert done.code == 4, done.err
    assert "`matrix resume hurt`" in done.err
    assert "Traceback" not in done.err
    assert read_run(run_dir).status == "incomplete"
    again = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert again.code == 0, again.err
    assert compare_tables(run_dir, whole) == []
    assert_books(run_dir)


# --- others on the same cluster -------------------------------------------------------------------


@pytest.mark.long
def test_a_busy_cluster_is_waited_for(tmp_path: Path, cluster: Machines) -> None:
    cluster.head(1)
    cluster.add(1)
    gate, taken = tmp_path / "gate", tmp_path / "taken"
    hog = (
        "import ray, sys, time, pathlib\n"
        "ray.init(sys.argv[1], log_to_driver=False, logging_level='ERROR')\n"
        "@ray.remote(num_cpus=1)\n"
        "def hold():\n"
        "    while not pathlib.Path(sys_gate).exists(): time.sleep(0.1)\n"
        "sys_gate = sys.argv[2]\n"
        "held = [hold.remote() for _ in range(2)]\n"
        "while ray.available_resources().get('CPU', 0): time.sleep(0.1)\n"
        "pathlib.Path(sys.argv[3]).touch()\n"
        "ray.get(held)\n"
    )
    environment = cluster.environment_of("head") | {"RAY_AUTH_MODE": "token"}
    command = [sys.executable, "-c", hog, cluster.address, str(gate), str(taken)]
    with subprocess.Popen(command, env=environment) as busy:
        wait_for(taken.exists)
        project = project_on(cluster, tmp_path)
        project.write(counter_spec())
        with project.started("run", "--run-id", "patient") as process:
            wait_for(lambda: bool(events(project.path("patient"), "workers.waiting")))
            gate.touch()
            done = finished(process)
        busy.wait()
    assert done.code == 0, done.err
    assert "waiting for CPUs" in done.err
    assert "others use 2 of their CPUs" in done.err


@pytest.mark.long
def test_a_run_that_waits_for_cpus_is_interrupted_at_once(
    tmp_path: Path, cluster: Machines
) -> None:
    """On a head without CPUs, until an autoscaler brings a node; here there is none."""
    import signal

    cluster.head(0)
    project = project_on(cluster, tmp_path)
    with project.started("run", "--run-id", "stopped") as process:
        wait_for(lambda: bool(events(project.path("stopped"), "workers.waiting")))
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code == 4, done.err
    assert "matrix resume stopped" in done.err + done.out
    node = cluster.add(2)
    again = project.matrix("resume", "stopped", "--quiet")
    assert again.code == 0, again.err
    assert pids_of_workers(project.path("stopped")) or node.pids()


@pytest.mark.long
def test_two_runs_share_a_cluster(tmp_path: Path, cluster: Machines, whole: Path) -> None:
    cluster.head(1)
    cluster.add(3)
    project = project_on(cluster, tmp_path)
    with (
        project.started("run", "--run-id", "one", "--workers", "1", "--quiet") as first,
        project.started("run", "--run-id", "two", "--workers", "2", "--quiet") as second,
    ):
        for process in (first, second):
            done = finished(process)
            assert done.code == 0, done.err
    for name, count in (("one", 1), ("two", 2)):
        assert compare_tables(project.path(name), whole) == []
        assert workers_up(project.path(name)) == count
