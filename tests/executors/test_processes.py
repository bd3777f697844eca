"""The processes of a run: where providers live, what each loads, and what remains of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from matrix.engine.executors.inprocess import InProcessExecutor
from tests.comparer import compare_tables
from tests.executors import driving
from tests.executors.conftest import References
from tests.executors.programs import (
    LONGEST_WAIT_S,
    SPECS,
    Project,
    processes_of,
    wait_for,
)

ROOT = Path(driving.__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.slow
async def test_providers_in_a_process_of_their_own_give_the_same_tables(
    project: Project, reference: References
) -> None:
    project.write(SPECS["counter"])
    executor = driving.WithClients(InProcessExecutor(), 1)
    end = await driving.drive(project.folder, "it", executor)
    assert (end.status, end.reason) == ("complete", "done")
    assert compare_tables(project.path("it"), reference["counter"]) == []


@pytest.mark.long
@pytest.mark.ray
def test_a_ray_of_its_own_gives_the_same_tables_loads_little_and_is_gone_afterwards(
    project: Project, reference: References
) -> None:
    project.write(SPECS["counter"])
    with subprocess.Popen(
        [sys.executable, driving.__file__, str(project.folder), "it"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        out, _ = process.communicate(timeout=LONGEST_WAIT_S)
    said = json.loads(out)
    assert (process.returncode, said["status"]) == (0, "complete")
    assert compare_tables(project.path("it"), reference["counter"]) == []
    loaded = said["loaded"]
    workers = {name for name in loaded if name.startswith("worker-")}
    assert set(loaded) == {"governor", "publisher", "client-sim-0", "client-sim-1", *workers}
    assert len(workers) == os.cpu_count()
    assert not any(loaded.values()), "somebody has loaded litellm"
    wait_for(lambda: not processes_of(process.pid))


@pytest.mark.slow
def test_what_a_session_worker_imports_holds_neither_litellm_nor_arrow() -> None:
    code = (
        "import sys\n"
        "from matrix.engine.prepare.registry import kinds\n"
        "from matrix.engine.session.worker import SessionWorker\n"
        "from matrix.engine.calls.hosting import build_host\n"
        "from matrix.engine.wire.setup import RunSetup\n"
        "setup = RunSetup('r', '.', 'counter', 1, {}, {}, {}, {}, 1, {})\n"
        "build_host(['sim'], setup, print)\n"
        "for kind in kinds().values():\n"
        "    kind.load()\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_WAIT_S,
    )
    loaded = set(done.stdout.split())
    assert "matrix" in loaded
    assert not loaded & {"litellm", "pyarrow", "ray", "pandas", "scipy"}


@pytest.mark.ray
@pytest.mark.long
def test_ray_keeps_no_record_of_every_actor_call(project: Project) -> None:
    project.write(SPECS["counter"])
    done = subprocess.run(
        [sys.executable, "-m", "tests.executors.calling", str(project.folder), "8000"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'actors'}"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONGEST_WAIT_S,
        check=True,
        start_new_session=True,
    )
    # with Ray's usual settings it is 3.3 kB, and every call of a session takes several
    assert float(done.stdout.splitlines()[-1]) < 1000
