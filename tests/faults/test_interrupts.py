"""Asked to end once (Ctrl-C, SIGTERM, SIGHUP) a run ends in order, twice at once.

A live run cannot be resumed, and one whose driver is dead does not pass for alive.
"""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import read_run
from tests.executors.programs import (
    LONGEST_WAIT_S,
    PROGRAM,
    Done,
    Project,
    counter_spec,
    entries_of,
    finished,
    hang_up,
    processes_of,
    wait_for,
)
from tests.faults.laws import assert_books, assert_whole

RUN = ("run", "--executor", "in-process", "--run-id", "hurt", "--quiet")


RAY, LONG = pytest.mark.ray, pytest.mark.long
IN_PROCESS, ON_RAY = ["--executor", "in-process"], ["--executor", "ray"]


def to_group(run: subprocess.Popen[str], number: signal.Signals) -> None:
    """As a terminal does: every process of the run that stayed in its group gets it."""
    os.killpg(run.pid, number)


def to_itself(run: subprocess.Popen[str], number: signal.Signals) -> None:
    """As ``kill`` does."""
    run.send_signal(number)


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "number", "send"),
    [
        (IN_PROCESS, signal.SIGINT, to_group),
        (IN_PROCESS, signal.SIGTERM, to_itself),
        (IN_PROCESS, signal.SIGHUP, to_group),
        pytest.param(ON_RAY, signal.SIGINT, to_group, marks=[RAY, LONG]),
        pytest.param(ON_RAY, signal.SIGTERM, to_group, marks=RAY),
        pytest.param(ON_RAY, signal.SIGTERM, to_itself, marks=[RAY, LONG]),
        pytest.param(ON_RAY, signal.SIGHUP, to_group, marks=[RAY, LONG]),
        pytest.param(ON_RAY, signal.SIGHUP, to_itself, marks=[RAY, LONG]),
    ],
)
def test_a_run_that_is_asked_to_end_leaves_tables_that_add_up_and_can_be_gone_on_with(
    project: Project,
    undisturbed: Path,
    length: int,
    where: list[str],
    number: signal.Signals,
    send: Callable[[subprocess.Popen[str], signal.Signals], None],
) -> None:
    run_dir = project.path("hurt")
    with project.started("run", "--run-id", "hurt", "--quiet", *where) as run:
        wait_for(lambda: entries_of(run_dir) >= length // 2)
        send(run, number)
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
    again = project.matrix("resume", "last", "--executor", "in-process", "--quiet")
    assert again.code == 0, again.err
    assert_whole(run_dir, undisturbed)


def interrupted_twice(project: Project, number: signal.Signals) -> Done:
    """How a run ends whose models take an hour to answer, when it is asked to end twice."""
    endless = {"time": "real", "latency": {"first_token_s": 3600.0}}
    project.write(counter_spec(simulation=endless))
    with project.started("run", "--executor", "in-process", "--run-id", "hurt") as process:
        wait_for(lambda: entries_of(project.path("hurt")) >= 20)
        process.send_signal(number)
        assert process.stderr is not None
        for line in process.stderr:
            if "nothing new is started" in line:
                break
        assert process.poll() is None
        process.send_signal(number)
        return finished(process)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_twice_it_does_not_wait_for_calls_in_flight_and_names_the_remedy(
    project: Project, number: signal.Signals
) -> None:
    done = interrupted_twice(project, number)
    assert done.code == 4
    assert "matrix resume" in done.err
    run = read_run(project.path("hurt"))
    assert (run.status, run.end_reason) == ("incomplete", "interrupted")


BUSY = """\
import os
import matrix

@matrix.scenario(simulated={"agent": "four"})
async def sums(ctx):
    said = await ctx.ask("agent", "2+2?")
    open(BEGUN, "w").close()
    while not os.path.exists(GATE):
        pass
    ctx.score("length", len(said.text))
"""


def until_said(process: subprocess.Popen[str], said: str) -> None:
    """Read on until a program says this."""
    assert process.stderr is not None
    assert any(said in line for line in process.stderr), f"it never said {said!r}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "number", "first"),
    [
        (IN_PROCESS, signal.SIGINT, "asked once more, the process ends at once"),
        (IN_PROCESS, signal.SIGTERM, "asked once more, the process ends at once"),
        pytest.param(ON_RAY, signal.SIGINT, "nothing new is started", marks=[RAY, LONG]),
    ],
)
def test_asked_twice_it_ends_at_once_also_while_its_kind_lets_nothing_else_run(
    tmp_path: Path, where: list[str], number: signal.Signals, first: str
) -> None:
    """In its own process the first cannot be heard, which is told; what was paid for is kept."""
    project = Project(tmp_path)
    names = {name: str(tmp_path / name) for name in ("BEGUN", "GATE")}
    values = [f"{name} = {path!r}\n" for name, path in names.items()]
    (tmp_path / "sums.py").write_text("".join([*values, BUSY]))
    run = ("run", "sums.py", *where, "--run-id", "hurt", "--sessions", "1")
    with project.started(*run) as process:
        wait_for((tmp_path / "BEGUN").exists)
        process.send_signal(number)
        until_said(process, first)
        assert process.poll() is None
        process.send_signal(number)
        done = finished(process)
    assert done.code == 4, done.err
    assert "error: stopped at once; `matrix resume hurt` goes on from the last turns" in done.err
    assert "incomplete (interrupted" in project.matrix("list").out
    (tmp_path / "GATE").touch()
    again = project.matrix("resume", "hurt", *IN_PROCESS, "--quiet")
    assert again.code == 0, again.err
    assert list(project.tables("hurt").frame("sessions").score) == [4.0]
    assert int(project.tables("hurt").frame("calls").answered.sum()) == 1


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)]
)
def test_asked_to_end_while_ray_starts_it_ends_in_order_without_having_played(
    project: Project, number: signal.Signals
) -> None:
    with project.started("run", "--executor", "ray", "--run-id", "hurt") as process:
        wait_for(lambda: bool(processes_of(process.pid, "/gcs/gcs_server")))
        process.send_signal(number)
        done = finished(process)
        wait_for(lambda: not processes_of(process.pid))
    assert done.code == 4, done.err
    run = read_run(project.path("hurt"))
    assert (run.status, run.end_reason) == ("incomplete", "interrupted")
    sessions = RunTables(project.path("hurt")).frame("sessions")
    assert set(sessions.outcome) == {"censored"}
    assert len(sessions) == run.plan.sessions


@pytest.mark.long
def test_a_terminal_that_is_closed_ends_a_run_in_order(
    project: Project, undisturbed: Path, length: int
) -> None:
    run_dir = project.path("hurt")
    keeper, terminal = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "run", "--executor", "in-process", "--run-id", "hurt"],
        cwd=project.folder,
        preexec_fn=partial(_in_a_window, terminal),
    )
    os.close(terminal)
    with process:
        wait_for(lambda: read_all(keeper) and entries_of(run_dir) >= length // 2)
        os.close(keeper)
        assert process.wait(LONGEST_WAIT_S) == 4
    run = read_run(run_dir)
    assert (run.status, run.end_reason) == ("incomplete", "interrupted")
    assert_books(run_dir)
    again = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert again.code == 0, again.err
    assert_whole(run_dir, undisturbed)


def _in_a_window(terminal: int) -> None:
    """Make a terminal the session's own, as a window's shell has it."""
    os.login_tty(terminal)
    hang_up(ignored=False)


def read_all(terminal: int) -> bool:
    """Take what was written to a terminal, so that it can be written to."""
    while select.select([terminal], [], [], 0)[0]:
        os.read(terminal, 65536)
    return True


def test_a_run_under_nohup_does_not_end_with_its_terminal(
    project: Project, undisturbed: Path, length: int
) -> None:
    run_dir = project.path("hurt")
    process = project.start(*RUN, nohup=True)
    wait_for(lambda: entries_of(run_dir) >= length // 4)
    process.send_signal(signal.SIGHUP)
    done = finished(process)
    assert done.code == 0, done.err
    assert_whole(run_dir, undisturbed)


def test_a_run_whose_driver_was_killed_is_listed_and_shown_as_interrupted(
    project: Project, length: int
) -> None:
    run_dir = project.path("hurt")
    with project.started(*RUN) as process:
        wait_for(lambda: entries_of(run_dir) >= length // 4)
        process.send_signal(signal.SIGSTOP)  # alive, and it stays so
        assert "running" in project.matrix("list").out
        process.send_signal(signal.SIGKILL)
        process.wait(LONGEST_WAIT_S)
    assert read_run(run_dir).status == "running", "nobody could write that it is not"
    listed = project.matrix("list").out
    assert "incomplete (interrupted: its process is gone)" in listed
    (one,) = json.loads(project.matrix("list", "--json").out)
    assert one["status"] == "incomplete"
    shown = project.matrix("show", "hurt").out
    assert "run hurt (incomplete: interrupted: its process is gone)" in shown
    assert "  matrix resume hurt\n" in shown


def test_a_live_run_is_not_resumed_and_not_disturbed_by_who_tries(
    project: Project, undisturbed: Path, length: int
) -> None:
    run_dir = project.path("hurt")
    with project.started(*RUN) as process:
        wait_for(lambda: entries_of(run_dir) >= length // 4)
        process.send_signal(signal.SIGSTOP)  # alive, but it will not be done too soon
        before = (run_dir / "run.json").read_bytes()
        tried = project.matrix(
            "resume", "hurt", "--executor", "in-process", "--quiet", "--max-cost", "20"
        )
        assert tried.code == 1
        assert "still running" in tried.err
        assert (run_dir / "run.json").read_bytes() == before
        process.send_signal(signal.SIGCONT)
        done = finished(process)
    assert done.code == 0, done.err
    assert_whole(run_dir, undisturbed)
