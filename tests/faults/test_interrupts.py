"""Ctrl-C once is an orderly end, twice an immediate one; a live run cannot be resumed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from matrix.store.reader import RunTables
from matrix.store.run_folder import read_run
from tests.executors.programs import (
    Done,
    Project,
    counter_spec,
    entries_of,
    finished,
    wait_for,
)
from tests.faults.laws import assert_books, assert_whole

RUN = ("run", "--in-process", "--run-id", "hurt", "--quiet")


@pytest.mark.parametrize("where", ["--in-process", pytest.param(None, marks=pytest.mark.ray)])
def test_ctrl_c_leaves_readable_tables_that_add_up_and_a_run_to_go_on_with(
    project: Project, undisturbed: Path, length: int, where: str | None
) -> None:
    run_dir = project.path("hurt")
    with project.started("run", "--run-id", "hurt", "--quiet", *([where] if where else [])) as run:
        wait_for(lambda: entries_of(run_dir) >= length // 2)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: every process of the run gets it
        done = finished(run)
    assert done.code == 4, done.err
    assert (read_run(run_dir).status, read_run(run_dir).end_reason) == (
        "incomplete",
        "interrupted",
    )
    assert_books(run_dir)
    sessions = RunTables(run_dir).frame("sessions")
    assert len(sessions) == read_run(run_dir).plan.sessions
    censored = sessions[sessions.outcome == "censored"]
    assert len(censored)
    assert set(censored.error_class) == {"interrupted"}
    again = project.matrix("resume", "last", "--in-process", "--quiet")
    assert again.code == 0, again.err
    assert_whole(run_dir, undisturbed)


def interrupted_twice(project: Project) -> Done:
    """How a run ends whose models take an hour to answer, when Ctrl-C is pressed twice."""
    endless = {"time": "real", "latency": {"first_token_s": 3600.0}}
    project.write(counter_spec(simulation=endless))
    with project.started("run", "--in-process", "--run-id", "hurt") as process:
        wait_for(lambda: entries_of(project.path("hurt")) >= 20)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        for line in process.stderr:
            if "waiting for calls in flight" in line:
                break
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        return finished(process)


def test_ctrl_c_twice_does_not_wait_for_calls_in_flight(project: Project) -> None:
    assert interrupted_twice(project).code != 0
    run = read_run(project.path("hurt"))
    assert (run.status, run.end_reason) == ("incomplete", "interrupted")


def test_ctrl_c_twice_ends_as_incomplete_and_names_the_remedy(project: Project) -> None:
    done = interrupted_twice(project)
    assert done.code == 4
    assert "matrix resume" in done.err


def test_a_live_run_is_not_resumed_and_not_disturbed_by_who_tries(
    project: Project, undisturbed: Path, length: int
) -> None:
    run_dir = project.path("hurt")
    with project.started(*RUN) as process:
        wait_for(lambda: entries_of(run_dir) >= length // 4)
        process.send_signal(signal.SIGSTOP)  # alive, but it will not be done too soon
        before = (run_dir / "run.json").read_bytes()
        tried = project.matrix("resume", "hurt", "--in-process", "--quiet", "--max-cost", "20")
        assert tried.code == 1
        assert "still running" in tried.err
        assert (run_dir / "run.json").read_bytes() == before
        process.send_signal(signal.SIGCONT)
        done = finished(process)
    assert done.code == 0, done.err
    assert_whole(run_dir, undisturbed)
