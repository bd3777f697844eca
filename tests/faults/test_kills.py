"""SIGKILL at any moment, then ``matrix resume``: the run comes to the end it would have come to."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from matrix.model.money import to_usd
from tests.books import fold_money
from tests.executors.programs import Project, entries_of, grown_to, kill_at, wait_for
from tests.faults.conftest import slow_counter
from tests.faults.counting import Chaos
from tests.faults.laws import (
    assert_agree,
    assert_books,
    assert_kept,
    assert_whole,
    entries_in,
    is_locked,
)

SHORT = [(1, 2)]
"""Seed of the moments, and how often the run is killed."""

LONG = [(2, 2), *((seed, 1 + seed % 4) for seed in range(10, 34))]


@pytest.mark.parametrize(
    ("seed", "kills"),
    [*SHORT, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)],
)
def test_killed_at_random_moments_a_run_comes_to_the_same_tables(
    project: Project, undisturbed: Path, length: int, chaos: Chaos, seed: int, kills: int
) -> None:
    run_dir, rng = project.path("hurt"), random.Random(seed)
    moments = sorted(rng.randrange(1, length) for _ in range(kills))
    command = ["run", "--executor", "in-process", "--run-id", "hurt", "--quiet"]
    for moment in moments:
        with project.started(*command) as process:
            assert kill_at(process, grown_to(run_dir, moment)), "it should have been alive"
        chaos.hurt("driver", "SIGKILL")
        command = ["resume", "hurt", "--executor", "in-process", "--quiet"]
    before = entries_in(run_dir)
    done = project.matrix(*command)
    assert done.code == 0, done.err
    chaos.resumed()
    assert len(entries_in(run_dir)) > len(before)
    assert_kept(run_dir, before)
    chaos.whole(run_dir, undisturbed)


@pytest.mark.parametrize(
    ("seed", "kills"),
    [(1, 2), *(pytest.param(seed, 2, marks=pytest.mark.long) for seed in range(10, 18))],
)
def test_where_the_cap_binds_it_holds_and_what_came_to_its_end_is_the_same(
    project: Project, undisturbed: Path, length: int, chaos: Chaos, seed: int, kills: int
) -> None:
    run_dir, draw = project.path("hurt"), random.Random(seed)
    spent = fold_money(entries_in(undisturbed)).history.settled
    cap = to_usd(spent * 2 // 3)
    # few at a time, because what is out when a process is killed is presumed
    limits = {"cost_usd": cap, "open_sessions": 4, "turns": 60}
    project.write(slow_counter(limits=limits, at_cap="spend-all"))
    command = ["run", "--executor", "in-process", "--run-id", "hurt", "--quiet"]
    for moment in sorted(draw.randrange(1, length // 2) for _ in range(kills)):
        with project.started(*command) as process:
            assert kill_at(process, grown_to(run_dir, moment)), "it should have been alive"
        chaos.hurt("driver", "SIGKILL")
        command = ["resume", "hurt", "--executor", "in-process", "--quiet"]
    before = entries_in(run_dir)
    done = project.matrix(*command)
    assert done.code == 4, done.err
    chaos.resumed()
    assert_kept(run_dir, before)
    assert_books(run_dir)
    assert assert_agree(run_dir, undisturbed) > 0, "no session came to its end"
    chaos.checked(run_dir)


def test_killed_while_the_tables_are_finished_a_run_comes_to_the_same_tables(
    project: Project, undisturbed: Path, length: int, chaos: Chaos
) -> None:
    run_dir = project.path("hurt")
    with project.started(
        "run", "--executor", "in-process", "--run-id", "hurt", "--quiet"
    ) as process:
        kill_at(process, grown_to(run_dir, length))
    chaos.hurt("driver", "SIGKILL")
    done = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    chaos.resumed()
    chaos.whole(run_dir, undisturbed)


def test_a_run_that_is_whole_is_resumed_without_doing_anything(
    project: Project, undisturbed: Path
) -> None:
    shutil.copytree(undisturbed, project.path("calm"))
    before = entries_of(project.path("calm"))
    again = project.matrix("resume", "calm", "--executor", "in-process", "--quiet")
    assert again.code == 0, again.err
    assert entries_of(project.path("calm")) == before
    assert_whole(project.path("calm"), undisturbed)


@pytest.mark.ray
def test_killed_with_its_driver_a_ray_run_lets_go_and_goes_on_in_one_process(
    project: Project, undisturbed: Path, length: int, chaos: Chaos
) -> None:
    run_dir = project.path("hurt")
    with project.started("run", "--executor", "ray", "--run-id", "hurt", "--quiet") as process:
        assert kill_at(process, grown_to(run_dir, length // 3))
        # its actors notice on their own, and the governor lets go of the journal
        wait_for(lambda: not is_locked(run_dir))
    chaos.hurt("driver", "SIGKILL")
    done = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    chaos.resumed()
    chaos.whole(run_dir, undisturbed)
