"""Processes of a run on Ray are killed, stopped and starved of disk while it goes on.

Who dies is replaced, who was stopped goes on, and nobody notices; a full disk ends the run, and it
is resumed without a loss.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.comparer import compare_tables
from tests.executors import hurting
from tests.executors.conftest import SharedRay
from tests.executors.programs import (
    LONGEST_WAIT_S,
    SLOW,
    Project,
    counter_spec,
    entries_of,
    undisturbed,
    wait_for,
)
from tests.faults.counting import Chaos
from tests.faults.laws import assert_books, assert_kept, entries_in

pytestmark = pytest.mark.ray

PLACES = ("governor", "worker-0", "worker-1", "client-sim-0", "client-sim-1", "publisher")
TURNS = 2 * 20 * 20
"""Turns of the whole run: two variants, twenty rounds, twenty turns."""

ROOT = Path(hurting.__file__).parents[2]


def spec() -> dict[str, Any]:
    slow = SLOW | {"latency": {"first_token_s": 0.03, "tokens_per_s": 1e6, "jitter": 0}}
    return counter_spec(per_cell=20, simulation=slow)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, undisturbed."""
    return undisturbed(tmp_path_factory.mktemp("whole"), spec())


def play(
    project: Project,
    shared_ray: SharedRay,
    chaos: Chaos,
    wounds: Sequence[hurting.Wound],
    *more: str,
    stop_driver_s: float = 0.0,
) -> dict[str, Any]:
    """Play the run with these wounds; what the program said of it.

    With ``stop_driver_s``, the driver itself is stopped for so long in the middle.
    """
    project.write(spec())
    command = [sys.executable, "-m", "tests.executors.hurting", str(project.folder), "hurt"]
    with subprocess.Popen(
        [*command, json.dumps(wounds), *more],
        cwd=ROOT,
        env=os.environ | shared_ray.environment | {"PYTHONPATH": f"{ROOT}:{ROOT / 'actors'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if stop_driver_s:
            wait_for(lambda: entries_of(project.path("hurt")) >= TURNS)
            process.send_signal(signal.SIGSTOP)
            chaos.hurt("driver", "SIGSTOP")
            Timer(stop_driver_s, process.send_signal, [signal.SIGCONT]).start()
        out, err = process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode == 0, err
    said: dict[str, Any] = json.loads(out.splitlines()[-1])
    said["hurt"] = [hurting.Wound(*wound) for wound in said["hurt"]]
    for wound in said["hurt"]:
        chaos.hurt(wound.place, wound.how)
    return said


def survived(
    project: Project, shared_ray: SharedRay, chaos: Chaos, wounds: Sequence[hurting.Wound]
) -> dict[str, Any]:
    """Play the run with these wounds to its end; what the program said of it."""
    said = play(project, shared_ray, chaos, wounds)
    assert said["hurt"] == wounds
    assert (said["status"], said["reason"]) == ("complete", "done")
    return said


def go_on(project: Project, chaos: Chaos, whole: Path) -> None:
    """Resume the run, which does nothing if it came to its end: then everything must hold."""
    run_dir = project.path("hurt")
    before = entries_in(run_dir)
    done = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    chaos.resumed()
    assert_kept(run_dir, before)
    chaos.whole(run_dir, whole)


def assert_unhurt(project: Project, whole: Path) -> None:
    """The tables are whole before anybody resumes."""
    assert compare_tables(project.path("hurt"), whole) == []
    assert_books(project.path("hurt"))


def wounds_of(seed: int, count: int) -> list[hurting.Wound]:
    """Random wounds: half are kills, half are stops of two seconds."""
    draw = random.Random(seed)
    moments = sorted(draw.randrange(1, TURNS - 100) for _ in range(count))
    return [
        hurting.Wound(
            turns, draw.choice(PLACES), *draw.choice([("SIGKILL", 0.0), ("SIGSTOP", 2.0)])
        )
        for turns in moments
    ]


def test_each_kind_of_process_is_replaced_and_the_run_goes_on(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos
) -> None:
    project = Project(tmp_path)
    wounds = [
        hurting.Wound(60 + 90 * number, place, "SIGKILL")
        for number, place in enumerate(("worker-0", "client-sim-1", "publisher", "governor"))
    ]
    said = survived(project, shared_ray, chaos, wounds)
    log = map(json.loads, (project.path("hurt") / "log.jsonl").read_text().splitlines())
    told = [line["dead"] for line in log if line["event"] == "process.died"]
    for wound in wounds:
        assert wound.place in told, (wound, told)
        assert said["incarnations"][wound.place] > 1
    assert_unhurt(project, whole)
    go_on(project, chaos, whole)


@pytest.mark.long
def test_a_client_that_dies_while_an_heir_that_needs_it_comes_up_is_no_end_of_anything(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos
) -> None:
    project = Project(tmp_path)
    wounds = [hurting.Wound(60, place, "SIGKILL") for place in ("worker-0", "client-sim-0")]
    survived(project, shared_ray, chaos, wounds)
    assert_unhurt(project, whole)
    go_on(project, chaos, whole)


@pytest.mark.long
def test_processes_that_are_stopped_for_a_while_go_on_and_nobody_takes_them_for_dead(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos
) -> None:
    project = Project(tmp_path)
    wounds = [
        hurting.Wound(60 + 90 * number, place, "SIGSTOP", 1.0)
        for number, place in enumerate(("worker-0", "client-sim-1", "publisher", "governor"))
    ]
    said = survived(project, shared_ray, chaos, wounds)
    assert set(said["incarnations"].values()) == {1}, "somebody was replaced who was alive"
    assert_unhurt(project, whole)
    go_on(project, chaos, whole)


@pytest.mark.long
def test_a_governor_that_hangs_is_taken_for_dead_and_made_so(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos
) -> None:
    project = Project(tmp_path)
    said = play(project, shared_ray, chaos, [hurting.Wound(100, "governor", "SIGSTOP")], "30")
    assert said["status"] == "complete"
    assert said["incarnations"]["governor"] == 2
    assert_unhurt(project, whole)
    go_on(project, chaos, whole)


@pytest.mark.long
def test_a_driver_that_was_stopped_takes_nobody_for_dead(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos
) -> None:
    project = Project(tmp_path)
    said = play(project, shared_ray, chaos, [], "30", stop_driver_s=40.0)
    assert said["status"] == "complete"
    assert set(said["incarnations"].values()) == {1}, "a living process was taken for dead"
    assert_unhurt(project, whole)


@pytest.mark.long
@pytest.mark.parametrize("place", ["governor", "publisher"])
def test_a_disk_that_fills_up_while_processes_are_replaced_ends_the_run_and_loses_nothing(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos, place: str
) -> None:
    project = Project(tmp_path)
    wounds = [
        hurting.Wound(150, "worker-0", "SIGKILL"),
        hurting.Wound(150, "client-sim-0", "SIGKILL"),
        hurting.Wound(150, place, hurting.FULL),
    ]
    said = play(project, shared_ray, chaos, wounds)
    assert said["hurt"] == wounds
    assert (said["status"], said["code"]) == ("failed", 4)
    assert "free some space" in said["reason"]
    go_on(project, chaos, whole)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_hurt_again_and_again_the_run_comes_to_the_same_tables(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos, seed: int
) -> None:
    project = Project(tmp_path)
    wounds = wounds_of(seed, 12)
    said = play(project, shared_ray, chaos, wounds)
    # who is dead already cannot be killed, and the run may end before its successor is there
    assert len(said["hurt"]) >= len(wounds) // 2
    assert said["status"] == "complete"
    assert_unhurt(project, whole)
    go_on(project, chaos, whole)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 106))
def test_hurt_with_a_disk_that_fills_up_the_run_is_resumed_to_the_same_tables(
    tmp_path: Path, shared_ray: SharedRay, whole: Path, chaos: Chaos, seed: int
) -> None:
    project, draw = Project(tmp_path), random.Random(seed)
    place = draw.choice(["governor", "publisher"])
    full = hurting.Wound(draw.randrange(200, TURNS - 200), place, hurting.FULL)
    others = [w for w in wounds_of(seed, 6) if w.place != place]
    said = play(project, shared_ray, chaos, sorted([*others, full]))
    assert full in said["hurt"]
    assert said["status"] == "failed"
    assert "free some space" in said["reason"]
    go_on(project, chaos, whole)
