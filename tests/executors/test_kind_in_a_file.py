"""A kind in one file on every executor: its code goes with the run; nobody imports its folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.comparer import compare_tables
from tests.executors import hurting
from tests.executors.conftest import SharedRay
from tests.executors.programs import (
    LONGEST_WAIT_S,
    SLOW,
    Done,
    Project,
    entries_of,
    grown_to,
    kill_at,
)

EXECUTORS = ["in-process", pytest.param("ray", marks=pytest.mark.ray)]
ROOT = Path(hurting.__file__).parents[2]
CHAT = Path(__file__).parents[1] / "kinds" / "function" / "chat.py"
SPEC: Mapping[str, Any] = {
    "name": "chat",
    "kind": "./talks/chat.py:chat",
    "factors": {"mood": ["calm", "angry"], "each": [1, 100]},
    "per_cell": 3,
    "limits": {"cost_usd": 1},
    "simulation": SLOW,
}


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def with_chat(project: Project) -> Project:
    (project.folder / "talks").mkdir(exist_ok=True)
    shutil.copyfile(CHAT, project.folder / "talks" / "chat.py")
    project.write(SPEC)
    return project


@pytest.fixture
def project(executor: str, tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    environment = request.getfixturevalue("shared_ray").environment if executor == "ray" else {}
    return with_chat(Project(tmp_path, environment))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happens to."""
    project = with_chat(Project(tmp_path_factory.mktemp("whole")))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "whole", "--quiet")
    assert done.code == 0, done.err
    return project.path("whole")


def where(executor: str) -> list[str]:
    return ["--executor", "in-process"] if executor == "in-process" else ["--workers", "2"]


def run(project: Project, executor: str, *arguments: str) -> Done:
    return project.matrix("run", "--quiet", "--run-id", "it", *where(executor), *arguments)


@pytest.mark.long
@pytest.mark.slow
def test_it_comes_to_the_same_tables(project: Project, executor: str, whole: Path) -> None:
    done = run(project, executor)
    assert done.code == 0, done.err
    assert compare_tables(project.path("it"), whole) == []
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"completed"}
    assert set(sessions.scenario) == {"wifi", "bill"}


@pytest.mark.long_on_ray
@pytest.mark.slow
def test_killed_and_resumed_without_its_file_it_plays_on_with_the_code_that_it_began_with(
    project: Project, executor: str, whole: Path
) -> None:
    length = entries_of(whole)
    command = ["run", "--run-id", "it", "--quiet", *where(executor)]
    for part in (4, 2):
        with project.started(*command) as process:
            grown = grown_to(project.path("it"), length - length // part)
            assert kill_at(process, grown), "it should have been alive"
        command = ["resume", "it", "--quiet", *where(executor)]
        (project.folder / "talks" / "chat.py").unlink(missing_ok=True)
    done = project.matrix("resume", "it", *where(executor))
    assert done.code == 0, done.err
    assert "talks/chat.py is not there as it was when the run began" in done.err
    assert compare_tables(project.path("it"), whole) == []


@pytest.mark.long_on_ray
@pytest.mark.slow
def test_a_replay_plays_on_from_a_checkpoint(project: Project, executor: str) -> None:
    assert run(project, executor).code == 0
    sessions = project.tables("it").frame("sessions")
    long = sessions[sessions.turns > 2].iloc[0]
    turn = ["--turn", "1", *where(executor)]
    done = project.matrix("replay", "it", long.session_id, *turn, "--run-id", "again")
    assert done.code == 0, done.err
    again = project.tables("again").frame("sessions").iloc[0]
    assert (again.score, again.turns, again.outcome) == (long.score, long.turns, long.outcome)
    before = project.tables("it").frame("messages")
    after = project.tables("again").frame("messages")
    said = before[(before.session_id == long.session_id) & (before.channel == "table")]
    assert list(after[after.channel == "table"].text) == list(said.text)


BROKEN = """\
import matrix

@matrix.scenario(simulated={"agent": "four"})
async def sums(ctx, extra: int = 0):
    said = await ctx.ask("agent", "2+2?")
    ctx.score("length", len(said.txt) + extra)
"""


def requests_in(project: Project) -> int:
    calls = project.tables("it").frame("calls")
    return int(calls.answered.sum())


@pytest.mark.slow
@pytest.mark.long_on_ray
def test_code_that_fails_in_all_of_the_first_round_is_played_no_further_until_it_is_mended(
    executor: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """No other round is bought, by a resume that finds the same code neither."""
    environment = request.getfixturevalue("shared_ray").environment if executor == "ray" else {}
    project = Project(tmp_path, environment)
    (tmp_path / "sums.py").write_text(BROKEN)
    project.write(
        {"kind": "./sums.py", "factors": {"extra": [0, 1]}, "per_cell": 8}
        | {"limits": {"cost_usd": 1}}
    )
    done = run(project, executor)
    assert done.code == 4, done.err
    told = " ".join(done.err.split())
    assert "all 2 sessions of the first round ended with the same defect of the kind's code" in told
    assert "AttributeError" in told
    assert "(sums.py:6)" in told
    assert "`matrix resume it --redo-errored`" in told
    sessions = project.tables("it").frame("sessions")
    assert sorted(sessions.error_class) == ["KindDefect"] * 2 + ["defect"] * 14
    assert requests_in(project) == 2

    again = project.matrix("resume", "it", "--quiet", *where(executor))
    assert again.code == 4, again.err
    assert requests_in(project) == 2

    (tmp_path / "sums.py").write_text(BROKEN.replace("said.txt", "said.text"))
    mended = project.matrix("resume", "it", "--redo-errored", "--quiet", *where(executor))
    assert mended.code == 0, mended.err
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"completed"}
    assert len(sessions) == 16
    assert sorted(set(sessions.score)) == [4.0, 5.0]
    assert requests_in(project) == 2 + 16


WAITING = """\
import asyncio
import os
import matrix

@matrix.scenario(simulated={"agent": "four"})
async def sums(ctx):
    said = await ctx.ask("agent", "2+2?")
    while not os.path.exists(GATE):
        await asyncio.sleep(9999)
    ctx.score("length", len(said.text))
"""


@pytest.mark.long
@pytest.mark.long_on_ray
@pytest.mark.slow
def test_a_time_limit_ends_sessions_that_wait_in_their_own_code_and_they_go_on_later(
    executor: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    environment = request.getfixturevalue("shared_ray").environment if executor == "ray" else {}
    project = Project(tmp_path, environment)
    (tmp_path / "sums.py").write_text(f"GATE = {str(tmp_path / 'gate')!r}\n{WAITING}")
    project.write(
        {"kind": "./sums.py", "per_cell": 1, "limits": {"cost_usd": 1, "run_minutes": 0.02}}
    )
    done = run(project, executor)
    assert done.code == 4, done.err
    assert "stopping (time limit): nothing new is started" in done.err
    assert "waiting for 1 session in the kind's own code, let go 10 s after the last" in done.err
    (outcome,) = project.tables("it").frame("sessions").error_class
    assert outcome == "time limit"
    (tmp_path / "gate").touch()
    again = project.matrix("resume", "it", "--quiet", "--time-limit", "10", *where(executor))
    assert again.code == 0, again.err
    assert list(project.tables("it").frame("sessions").score) == [4.0]
    assert requests_in(project) == 1


@pytest.mark.long_on_ray
@pytest.mark.ray
def test_workers_and_providers_that_die_are_replaced_with_its_code(
    tmp_path: Path, whole: Path, shared_ray: SharedRay
) -> None:
    """Simulated models are in processes of their own here, and say what the file has for them."""
    project = with_chat(Project(tmp_path, shared_ray.environment))
    wounds = [(10, "worker-0", "SIGKILL"), (30, "client-sim-0", "SIGKILL")]
    command = [sys.executable, "-m", "tests.executors.hurting", str(tmp_path), "hurt"]
    done = subprocess.run(
        [*command, json.dumps(wounds)],
        cwd=ROOT,
        env=os.environ | shared_ray.environment | {"PYTHONPATH": f"{ROOT}:{ROOT / 'actors'}"},
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert (said["status"], said["reason"]) == ("complete", "done")
    assert [one[1] for one in said["hurt"]] == ["worker-0", "client-sim-0"]
    assert compare_tables(project.path("hurt"), whole) == []
