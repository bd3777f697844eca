"""A command in a sandbox: what it sees, what it does not, and how it reaches its models."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from matrix.agents.playing import play
from matrix.agents.sandbox import HOME
from matrix.agents.turns import Turn, WorkingTime
from matrix.engine.session.workspace import Scratch
from matrix.model.errors import AgentFailed, AgentMissing, AgentTimedOut
from matrix.model.spec.agents import AgentSpec
from tests.agents.programs import METERED, project_of, spec_of
from tests.cli.program import run_program
from tests.faults.laws import assert_books

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None
    or subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]).returncode != 0,
    reason="needs bubblewrap (make system-deps), and a machine on which it may be used",
)

PROBE = """
import json, os, pathlib, socket, sys
asked = json.load(sys.stdin)
found = {"folder": os.getcwd(), "home": os.listdir(os.environ["HOME"]), "uid": os.getuid(),
         "processes": sum(name.isdecimal() for name in os.listdir("/proc")), "network": []}
def readable(path):
    try:
        pathlib.Path(path).read_bytes()
        return True
    except OSError:
        return False
def writable(path):
    try:
        pathlib.Path(path).write_text("x")
        return True
    except OSError:
        return False
os.symlink(asked["secret"], "link")
found["read"] = [p for p in [*asked["read"], "link"] if readable(p)]
found["listed"] = sorted(os.listdir(asked["project"]))
found["written"] = [p for p in asked["write"] if writable(p)]
writable(asked["secret"])  # its /tmp is its own, so this may well work, and means nothing outside
for port in asked["ports"]:
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
        found["network"].append(port)
    except OSError:
        pass
print(json.dumps({"found": found}))
"""


@pytest.fixture
def turn_of(tmp_path: Path) -> Callable[..., Any]:
    """``await turn_of(agent, prompt)`` plays a turn in a folder of its own; gives its words."""
    place = tmp_path / "run" / "folders" / "it"
    place.mkdir(parents=True)
    project = tmp_path / "project"
    project.mkdir()
    scratch = Scratch(place, ThreadPoolExecutor(1))

    async def played(fields: Mapping[str, Any], prompt: str = "", timeout_s: float = 60.0) -> str:
        agent = AgentSpec.model_validate({"free": True, **fields})
        turn = Turn("it", "role", "s1", 1, 7, prompt, (), scratch.path, {}, timeout_s)
        worked = WorkingTime(time.monotonic)
        found = await play(
            agent, turn, scratch, worked, project=project, variables=dict(os.environ)
        )
        return found.told.text

    return played


async def test_it_sees_its_folder_and_the_system_and_nothing_of_anybody_else(
    tmp_path: Path, turn_of: Callable[..., Any]
) -> None:
    project = tmp_path / "project"
    (project / "probe.py").write_text(PROBE)
    (project / "corpus").mkdir()
    (project / "corpus" / "text").write_text("read me")
    secret = project / ".env"
    secret.write_text("KEY=1")
    other = tmp_path / "run" / "folders" / "other"
    other.mkdir()
    (other / "answer").write_text("42")
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = {
            "secret": str(secret),
            "project": str(project),
            "read": [
                "/usr/bin/env",
                str(project / "probe.py"),
                str(project / "corpus" / "text"),
                *map(str, (secret, other / "answer", Path.home() / ".profile")),
                "/etc/shadow",
                "/etc/passwd",
                f"/proc/{os.getpid()}/environ",
                f"/proc/1/{'root'}/etc/shadow",
                "../other/answer",
            ],
            "write": [
                "mine",
                "/tmp/mine",
                f"{HOME}/mine",
                "/mine",
                "/usr/mine",
                str(project / "corpus" / "text"),
            ],
            "ports": [server.getsockname()[1], 22],
        }
        agent = {
            "command": ["python3", "{project}/probe.py"],
            "reads": ["{project}/corpus"],
        }
        found = json.loads(await turn_of(agent, json.dumps(asked)))["found"]
    assert found["folder"] == "/session"
    assert found["home"] == []
    assert found["uid"] == 1000
    assert found["processes"] <= 3, "bubblewrap, the shell and itself"
    assert found["read"] == asked["read"][:3]
    assert found["listed"] == ["corpus", "probe.py"], "what it may read of the project"
    assert found["written"] == asked["write"][:3]
    assert found["network"] == []
    assert secret.read_text() == "KEY=1"
    folder = tmp_path / "run" / "folders" / "it" / "files"
    assert sorted(path.name for path in folder.iterdir()) == ["link", "mine"]


async def test_its_home_is_empty_each_turn_unless_it_is_kept(
    turn_of: Callable[..., Any],
) -> None:
    agent = {"command": ["sh", "-c", 'echo . >> "$HOME/turns"; wc -l < "$HOME/turns"']}
    kept = {**agent, "home": "keep"}
    assert [(await turn_of(kept)).strip() for _ in range(2)] == ["1", "2"]
    assert (await turn_of({**kept, "sandbox": "none"})).strip() == "3", "the same home"


async def test_with_an_open_network_it_reaches_this_machine(turn_of: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told = f"import socket; socket.create_connection(('127.0.0.1', {port})); print('there')"
        agent = {"command": ["python3", "-c", told]}
        assert (await turn_of({**agent, "network": "open"})).strip() == "there"
        with pytest.raises(AgentFailed, match="Connection refused"):
            await turn_of(agent)


@pytest.mark.slow
async def test_what_it_starts_ends_with_it_also_outside_its_group(
    tmp_path: Path, turn_of: Callable[..., Any]
) -> None:
    stays = f"{STAYS} while ! test -e begun; do :; done; echo done"
    await turn_of({"command": ["sh", "-c", stays]})
    later = tmp_path / "run" / "folders" / "it" / "files" / "later"
    written = later.read_text() if later.exists() else ""
    assert not still_running()
    assert (later.read_text() if later.exists() else "") == written
    with pytest.raises(AgentTimedOut):
        await turn_of({"command": ["sh", "-c", f"{STAYS} wait"]}, timeout_s=0.5)
    assert not still_running()


STAYS = "setsid sh -c 'echo begun > begun; while :; do date >> later; done' &"


def still_running() -> bool:
    """Whether that loop is among the processes of this machine."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if b"date >> later" in (path / "cmdline").read_bytes():
                return True
    return False


async def test_a_program_that_goes_away_is_missing_and_no_failure(
    turn_of: Callable[..., Any],
) -> None:
    with pytest.raises(AgentMissing, match="'no-such-program' cannot be run"):
        await turn_of({"command": ["no-such-program"]})


async def test_a_sandbox_that_cannot_be_made_is_missing_and_no_failure(
    tmp_path: Path, turn_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentMissing, match="'bwrap' cannot be run"):
        await turn_of({"command": ["true"]})
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    with pytest.raises(AgentMissing, match="its sandbox cannot be made: bwrap: No permissions"):
        await turn_of({"command": ["true"]})


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("executor", ["in-process", pytest.param("ray", marks=pytest.mark.ray)])
def test_its_requests_come_through_the_only_port_that_it_reaches(
    tmp_path: Path, executor: str
) -> None:
    agent = {
        "command": ["python3", "{project}/metered.py"],
        "meter": "sim/haiku",
        "expected_usd": 0.001,
    }
    project = project_of(tmp_path, spec_of({"boxed": agent}))
    done = project.matrix("run", "--executor", executor, "--run-id", "it")
    assert done.code == 0, done.err
    assert_books(project.path("it"))
    calls = project.tables("it").frame("calls")
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"completed"}
    assert METERED.count("urlopen") == 1
    assert set(calls.agent) == {"boxed"}
    assert (calls.disposition == "settled").all()
    assert len(calls) == 2 * 2 * 2 * len(sessions), "two requests of two asks of two turns"


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ({"reads": ["gone"]}, "agents.it.reads: found '{folder}/gone', which is not there"),
        ({"reads": ["."]}, "holds the project, with its .env and its runs; name the folders"),
        ({"reads": ["{home}"]}, "agents.it: reads has {home}; what is filled in: project"),
        ({"command": ["{project}/../beside/agent"]}, None),
        ({"command": ["{folder}-beside/agent"]}, "which does not show '{folder}-beside/agent'"),
        ({"home": "keep"}, "agents.it.home: a home that is kept is in the session's folder"),
        (
            {"sandbox": "none", "network": "open"},
            "network belongs to a sandbox, and sandbox is none",
        ),
        ({"sandbox": "docker"}, "agents.it.sandbox: found 'docker'"),
    ],
)
def test_what_it_cannot_do_in_its_sandbox_is_told_before_the_start(
    tmp_path: Path, agent: dict[str, Any], told: str | None
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for beside in (tmp_path / "beside", tmp_path / "project-beside"):
        beside.mkdir()
        (beside / "agent").write_text("#!/bin/sh\necho 7\n")
        (beside / "agent").chmod(0o755)
    command = [part.replace("{folder}", str(folder)) for part in agent.get("command", ["true"])]
    spec = {
        "kind": "counter",
        "scenarios": ["one"],
        "agents": {"it": {"free": True, **agent, "command": command}},
        "factors": {"counter": ["it"]},
        "per_cell": 1,
        "limits": {"cost_usd": 9, "turns": 2},
    }
    (folder / "matrix.yaml").write_text(json.dumps(spec))
    result = run_program(folder, "run", "--executor", "in-process", "--run-id", "it")
    if told is None:
        assert result.code == 0, result
        return
    assert result.code == 2, result
    assert told.replace("{folder}", str(folder)) in result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert not (folder / "results" / "it").exists()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["0", "400", "111"])
def test_an_agent_that_shuts_its_own_folder_works_on_in_it(tmp_path: Path, mode: str) -> None:
    """Where its next turn begins is ours to see to, and no trouble of the machine's."""
    says = f"cat > /dev/null; echo x >> notes; chmod {mode} .; echo 7"
    agent = {"command": ["sh", "-c", says], "free": True}
    project = project_of(tmp_path, spec_of({"shut": agent}))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"completed"}


@pytest.mark.slow
@pytest.mark.parametrize("left", ["echo x > $PWD/.home", "ln -s /nowhere $PWD/.home"])
def test_a_kept_home_that_is_none_any_more_is_the_agents_failure_and_costs_nothing(
    tmp_path: Path, left: str
) -> None:
    says = """echo '{"text": "7", "cost": 0.001}'"""
    agent = {
        "command": ["sh", "-c", f"cat > /dev/null; rm -rf $PWD/.home; {left}; {says}"],
        "answer": {"cost_usd": "cost", "text": "text"},
        "home": "keep",
        "network": "open",
        "max_usd": 0.01,
    }
    project = project_of(tmp_path, spec_of({"homeless": agent}))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"failed"}, done
    assert sessions.end_reason.str.contains("has left its kept home").all()
    calls = project.tables("it").frame("calls")
    assert set(calls.cost_nano) == {1_000_000, 0}
    assert not (calls.disposition == "presumed").any()


def test_without_bubblewrap_nothing_is_started_and_the_remedy_is_named(tmp_path: Path) -> None:
    for name in ("true", "sh"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    spec = {
        "kind": "counter",
        "scenarios": ["one"],
        "agents": {"it": {"command": ["true"], "free": True}},
        "factors": {"counter": ["it"]},
        "per_cell": 1,
        "limits": {"cost_usd": 9, "turns": 2},
    }
    (tmp_path / "matrix.yaml").write_text(json.dumps(spec))
    path = str(tmp_path / "bin")
    result = run_program(
        tmp_path, "run", "--executor", "in-process", "--run-id", "it", variables={"PATH": path}
    )
    assert result.code == 2, result
    assert "apt-get install bubblewrap" in result.stderr
