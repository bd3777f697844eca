"""SIGKILL at any moment, then ``matrix resume``: the run comes to the end it would have come to."""

from __future__ import annotations

import fcntl
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.executors.programs import Project, entries_of, wait_for
from tests.faults.counting import Chaos
from tests.faults.laws import assert_kept, assert_whole, entries_in

SHORT = [(1, 2), (2, 2)]
"""Seed of the moments, and how often the run is killed."""

LONG = [(seed, 1 + seed % 4) for seed in range(10, 40)]


def kill_at(process: subprocess.Popen[str], run_dir: Path, entries: int) -> bool:
    """Kill a program once its journal has that many entries; whether it was still alive."""
    wait_for(lambda: entries_of(run_dir) >= entries or process.poll() is not None)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    return alive


@pytest.mark.parametrize(
    ("seed", "kills"),
    [*SHORT, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)],
)
def test_killed_at_random_moments_a_run_comes_to_the_same_tables(
    project: Project, undisturbed: Path, length: int, chaos: Chaos, seed: int, kills: int
) -> None:
    run_dir, rng = project.path("hurt"), random.Random(seed)
    moments = sorted(rng.randrange(1, length) for _ in range(kills))
    command = ["run", "--in-process", "--run-id", "hurt", "--quiet"]
    for moment in moments:
        with project.started(*command) as process:
            assert kill_at(process, run_dir, moment), "it should have been alive at this moment"
        chaos.hurt("driver", "SIGKILL")
        command = ["resume", "hurt", "--in-process", "--quiet"]
    before = entries_in(run_dir)
    done = project.matrix(*command)
    assert done.code == 0, done.err
    chaos.resumed()
    assert len(entries_in(run_dir)) > len(before)
    assert_kept(run_dir, before)
    chaos.whole(run_dir, undisturbed)


def test_killed_while_the_tables_are_finished_a_run_comes_to_the_same_tables(
    project: Project, undisturbed: Path, length: int, chaos: Chaos
) -> None:
    run_dir = project.path("hurt")
    with project.started("run", "--in-process", "--run-id", "hurt", "--quiet") as process:
        kill_at(process, run_dir, length)
    chaos.hurt("driver", "SIGKILL")
    done = project.matrix("resume", "hurt", "--in-process", "--quiet")
    assert done.code == 0, done.err
    chaos.resumed()
    chaos.whole(run_dir, undisturbed)


def test_a_run_that_is_whole_is_resumed_without_doing_anything(
    project: Project, undisturbed: Path
) -> None:
    shutil.copytree(undisturbed, project.path("calm"))
    before = entries_of(project.path("calm"))
    again = project.matrix("resume", "calm", "--in-process", "--quiet")
    assert again.code == 0, again.err
    assert entries_of(project.path("calm")) == before
    assert_whole(project.path("calm"), undisturbed)


@pytest.mark.ray
def test_killed_with_its_driver_a_ray_run_lets_go_and_goes_on_in_one_process(
    project: Project, undisturbed: Path, length: int, chaos: Chaos
) -> None:
    run_dir = project.path("hurt")
    with project.started("run", "--run-id", "hurt", "--quiet") as process:
        assert kill_at(process, run_dir, length // 3)
        # its actors notice on their own, and the governor lets go of the journal
        wait_for(lambda: not is_locked(run_dir))
    chaos.hurt("driver", "SIGKILL")
    done = project.matrix("resume", "hurt", "--in-process", "--quiet")
    assert done.code == 0, done.err
    chaos.resumed()
    chaos.whole(run_dir, undisturbed)


def is_locked(run_dir: Path) -> bool:
    """Whether somebody holds the journal's lock."""
    with (run_dir / "journal.lock").open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
