"""The head of a cluster dies while the driver is on another machine, whose own Ray lives on.

Ray then ends the driver's process itself, with exit code 1 and words of its own, a minute after the
death; whoever waits for Ray comes too late.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from matrix.store.run.run_folder import read_run
from tests.cluster.machines import Machine, Machines, namespaces_allowed
from tests.cluster.programs import SESSIONS, events, pids_of_workers, slow_spec
from tests.comparer import compare_tables
from tests.executors.programs import Done, Project, entries_of, finished, wait_for
from tests.faults.laws import assert_books

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(
        not namespaces_allowed(), reason="this system lets nobody have a namespace, or enter one"
    ),
]

HEADS_OWN = ("/gcs/gcs_server", "/raylet/raylet")


def on_another_machine(cluster: Machines, folder: Path) -> tuple[Machine, Project]:
    """A head of one CPU, and a project whose programs are on another node."""
    head, mine = cluster.head(1), cluster.add(1, apart=True)
    environment = cluster.environment_of(mine.name, MATRIX_RAY_ADDRESS=cluster.address)
    project = Project(folder, environment, mine.inside(folder))
    project.write(slow_spec())
    return head, project


def killed_once(moment: Callable[[], bool], head: Machine, project: Project) -> Done:
    """How a run ends whose head is killed at this moment."""
    with project.started("run", "--run-id", "hurt") as process:
        wait_for(lambda: moment() or process.poll() is not None)
        assert process.poll() is None, finished(process).err
        head.lose(*HEADS_OWN)
        return finished(process)


def assert_goes_on(project: Project, done: Done, whole: Path) -> None:
    run_dir = project.path("hurt")
    assert done.code == 4, done.err
    assert "Ray has died under the run (the GCS is gone)" in done.err
    assert "`matrix resume hurt`" in done.err
    assert "Traceback" not in done.err
    assert read_run(run_dir).status == "incomplete"
    repaired = project.matrix("repair", "hurt")
    assert repaired.code == 0, repaired.err
    again = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert again.code == 0, again.err
    assert compare_tables(run_dir, whole) == []
    assert_books(run_dir)


@pytest.mark.long
def test_a_head_that_dies_in_mid_run_with_a_worker_on_it(
    tmp_path: Path, cluster: Machines, whole: Path
) -> None:
    head, project = on_another_machine(cluster, tmp_path)
    run_dir = project.path("hurt")
    on_head = set[int]()

    def both_play() -> bool:
        on_head.update(pids_of_workers(run_dir) & set(head.pids()))
        return bool(on_head) and entries_of(run_dir) > 3 * SESSIONS

    assert_goes_on(project, killed_once(both_play, head, project), whole)
    assert events(run_dir, "process.died"), "its worker's replacement was waited for"
    summary = project.matrix("show", "hurt")
    assert "others went on with the work" in summary.out, "a loss before the resume is told, too"


@pytest.mark.parametrize("who", ["driver", "governor"])
@pytest.mark.long
def test_a_head_that_dies_while_the_run_is_set_up(
    tmp_path: Path, cluster: Machines, whole: Path, who: str
) -> None:
    """When it is about to be joined, and when processes are coming up."""
    head, project = on_another_machine(cluster, tmp_path)
    run_dir = project.path("hurt")

    def is_up() -> bool:
        return any(one["process"] == who for one in events(run_dir, "process.started"))

    assert_goes_on(project, killed_once(is_up, head, project), whole)
