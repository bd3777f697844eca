"""The wall clock jumps by days, to and fro, while a run plays, is killed and resumed: it only shows
in the records of when things happened."""

from __future__ import annotations

import os
import random
import signal
from itertools import pairwise
from pathlib import Path

import pytest

from matrix.model.entries import Settled
from tests.executors.programs import Project, entries_of, wait_for
from tests.faults.conftest import slow_counter
from tests.faults.counting import Chaos
from tests.faults.laws import assert_kept, entries_in, is_locked
from tests.waiting import LONGEST_WAIT_S

WALL_CLOCK = Path(__file__).parent / "wall_clock"
DAY_S = 86_400.0


@pytest.fixture
def jumping(tmp_path: Path) -> Project:
    """A project whose programs see a wall clock that jumps."""
    path = os.pathsep.join([str(WALL_CLOCK), os.environ.get("PYTHONPATH", "")])
    project = Project(tmp_path, {"PYTHONPATH": path})
    project.write(slow_counter())
    return project


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "where"),
    [
        (1, ["--executor", "in-process"]),
        *(
            pytest.param(seed, ["--executor", "in-process"], marks=pytest.mark.long)
            for seed in range(10, 16)
        ),
        pytest.param(20, ["--executor", "ray"], marks=[pytest.mark.long, pytest.mark.ray]),
        pytest.param(21, ["--executor", "ray"], marks=[pytest.mark.long, pytest.mark.ray]),
    ],
)
def test_a_wall_clock_that_jumps_changes_nothing_but_times(
    jumping: Project, undisturbed: Path, length: int, chaos: Chaos, seed: int, where: list[str]
) -> None:
    run_dir, draw = jumping.path("hurt"), random.Random(seed)
    with jumping.started("run", *where, "--run-id", "hurt", "--quiet") as process:
        moment = draw.randrange(length // 4, length - 20)
        wait_for(lambda: entries_of(run_dir) >= moment or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        process.wait(LONGEST_WAIT_S)
    chaos.hurt("driver", "SIGKILL")
    chaos.hurt("clock", "jumps")
    wait_for(lambda: not is_locked(run_dir))  # actors notice on their own that their driver is gone
    before = entries_in(run_dir)
    at = [entry.at for entry in before if isinstance(entry, Settled)]
    assert max(abs(b - a) for a, b in pairwise(at)) > DAY_S, "no clock has jumped"
    done = jumping.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    chaos.resumed()
    assert_kept(run_dir, before)
    chaos.whole(run_dir, undisturbed)
