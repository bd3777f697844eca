"""Where keys are, and where runs are written: on the driver's machine, and nowhere else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix.engine.run.surroundings import network_disk, require_lasting, require_own_disk
from matrix.model.errors import BadInput
from matrix.model.money import from_usd
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer
from matrix.store.run.run_folder import read_run
from tests.cluster.machines import Machines, machines
from tests.cluster.programs import events, pids_of_workers
from tests.executors.billing import bill, served_spec
from tests.executors.programs import Project, counter_spec, entries_of, finished, wait_for
from tests.faults.laws import assert_books

KEY = "sk-only-on-the-drivers-machine-7e1f"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Machines]:
    """A head without keys, and a node."""
    with machines() as made:
        made.head(1)
        made.add(2)
        yield made


def spec_with_key(url: str, **changes: Any) -> Any:
    spec = served_spec(url, **changes)
    spec["models"]["narrator-x"]["api_key_env"] = "NARRATOR_KEY"
    return spec


@pytest.mark.ray
@pytest.mark.long
async def test_a_key_of_the_drivers_machine_is_enough_and_goes_nowhere(
    tmp_path: Path, cluster: Machines
) -> None:
    variables = {"MATRIX_RAY_ADDRESS": cluster.address, "NARRATOR_KEY": KEY}
    project = Project(tmp_path, cluster.environment_of("head", **variables))
    async with SimServer(ServeOptions()) as server:
        project.write(spec_with_key(server.url, per_cell=2, options={"turns": 3}))
        done = await asyncio.to_thread(project.matrix, "run", "--run-id", "one", "--quiet")
        assert done.code == 0, done.err
        project.write(
            spec_with_key(server.url, per_cell=2, options={"turns": 3})
            | {"providers": {"spread": True}}
        )
        refused = await asyncio.to_thread(project.matrix, "run", "--run-id", "two", "--quiet")
    assert set(project.tables("one").frame("sessions").outcome) == {"completed"}
    assert_books(project.path("one"))
    assert refused.code == 2
    assert "has no NARRATOR_KEY; set it there" in refused.err
    assert not project.path("two").exists()
    for folder in (tmp_path, cluster.folder):
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.ray
@pytest.mark.long
def test_a_worker_that_cannot_see_the_runs_folder_has_its_lines_in_the_log_all_the_same(
    tmp_path: Path, cluster: Machines
) -> None:
    """Its node has an empty folder in the place of that one, as another machine has."""
    hidden = tmp_path / "project"
    hidden.mkdir()
    with machines() as apart:
        apart.head(1)
        apart.add(2, hides=hidden)
        variables = {"MATRIX_RAY_ADDRESS": apart.address}
        project = Project(hidden, apart.environment_of("head", **variables))
        project.write(counter_spec())
        done = project.matrix("run", "--run-id", "one", "--quiet")
        assert done.code == 0, done.err
    assert len(pids_of_workers(project.path("one"))) == 3, "two of them on that node"


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/export /shared nfs4 rw,vers=4.2 0 0
/dev/vdb /shared/scratch xfs rw 0 0
me@host: /media/my\\040disk fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/data/results", None),
        ("/shared/results", "nfs4"),
        ("/shared/scratch/results", None),
        ("/sharedness/results", None),
        ("/media/my disk/results", "fuse.sshfs"),
    ],
)
def test_a_disk_of_the_network_is_told_from_one_of_this_machine(
    folder: str, kind: str | None
) -> None:
    assert network_disk(Path(folder), MOUNTS) == kind


def test_runs_are_not_written_to_a_disk_of_the_network() -> None:
    with pytest.raises(BadInput, match=r"nfs4.*; choose a folder on a disk of this machine"):
        require_own_disk(Path("/shared/results"), MOUNTS)
    require_own_disk(Path("/data/results"), MOUNTS)
    require_own_disk(Path(os.devnull).parent / "shm" / "results")


def test_runs_are_not_begun_in_what_ray_removes_with_a_job() -> None:
    copy = Path("/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_0a1b")
    with pytest.raises(BadInput, match=r"^results.*Ray removes that; give a path outside it"):
        require_lasting(copy / "results")
    require_lasting(Path("/srv/ray_pkg/results"))


@pytest.mark.ray
@pytest.mark.long
async def test_a_cap_that_binds_is_kept_by_the_providers_own_count_while_a_node_dies(
    tmp_path: Path,
) -> None:
    cap = 0.02
    with machines() as cluster:
        cluster.head(2)
        node = cluster.add(3)
        project = Project(tmp_path, cluster.environment_of("head"))
        async with SimServer(ServeOptions()) as server:
            project.write(
                served_spec(
                    server.url,
                    per_cell=60,
                    options={"turns": 12, "width": 2},
                    limits={"cost_usd": cap},
                    at_cap="spend-all",
                )
            )
            run_dir = project.path("hurt")
            with project.started("run", "--run-id", "hurt", "--address", "auto") as process:
                await asyncio.to_thread(wait_for, lambda: entries_of(run_dir) > 300)
                await asyncio.to_thread(node.vanish)
                done = await asyncio.to_thread(finished, process)
            charged = bill(await server.stats())
    assert done.code in (0, 1, 4), done.err
    assert read_run(run_dir).end_reason == "cap"
    assert charged <= from_usd(cap)
    assert_books(run_dir)
    assert events(run_dir, "process.died")
