"""A run as a submitted job: its driver is on the cluster, and the laptop may be closed."""

from __future__ import annotations

import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from matrix.store.run.run_folder import read_run
from tests.cluster.machines import RAY, TOKEN, machines
from tests.executors.programs import PROGRAM, Project, counter_spec, wait_for
from tests.waiting import LONGEST_WAIT_S


@pytest.mark.ray
@pytest.mark.long
def test_a_submitted_job_joins_its_cluster_and_says_where_its_results_are(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(counter_spec())
    with machines(TOKEN) as cluster:
        port = _port_outside_of_rays_workers()
        board = ("--dashboard-host=127.0.0.1", f"--dashboard-port={port}")
        cluster.head(2, "--include-dashboard=true", *board)
        program = shlex.join(PROGRAM)
        entry = f"cd {tmp_path} && {program} run --run-id job && {program} list"
        submit = ("job", "submit", "--address", f"http://127.0.0.1:{port}")
        environment = cluster.environment_of("head") | {"RAY_AUTH_MODE": "token"}
        tries: list[subprocess.CompletedProcess[str]] = []

        def submitted() -> bool:
            """Whether it was taken: a head's agent of jobs is up some seconds after its start."""
            tries.append(
                subprocess.run(
                    [*RAY, *submit, "--", "sh", "-c", entry],
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=LONGEST_WAIT_S,
                    check=False,
                )
            )
            return "No available agent" not in tries[-1].stderr

        wait_for(submitted)
        done = tries[-1]
    said = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"everything is written to {tmp_path}/results/job on {socket.gethostname()}" in said
    assert read_run(project.path("job")).status == "complete"
    assert (project.path("job") / "sessions").is_dir()


def _port_outside_of_rays_workers() -> int:
    """Ray refuses a port that its workers may be given, which are from 10002 to 19999."""
    for port in range(8266, 9000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError("no port is free")
