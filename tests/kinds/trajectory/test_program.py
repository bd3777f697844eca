"""The program of an agent that is named by a relative path is found wherever sessions run it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.executors.programs import Project
from tests.kinds.trajectory.folders import project, scenario

PROGRAM = f"""#!{sys.executable}
import json, pathlib, sys
pathlib.Path("seen.md").write_text(sys.stdin.read())
print(json.dumps({{"result": "done", "total_cost_usd": 0.02}}))
"""
INPUTS = {"turn-01-a.md": "x"}
SEEN = {"turns": [{"turn": 1, "structural": [{"file_modified": "seen.md"}]}]}
CLAUDE: dict[str, Any] = {"agent": "claude", "scenarios": "scenarios"}
PLAYED = ("--executor", "in-process", "--run-id", "it")


def made_with(folder: Path, adapter: dict[str, Any], program: str) -> Project:
    """A project with one scenario, and the program."""
    made = project(folder, adapter)
    scenario(folder, "01", INPUTS, SEEN)
    path = folder / program
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("there", [".", "elsewhere"])
@pytest.mark.parametrize("variable", [True, False])
def test_a_path_that_is_given_is_from_where_one_stands(
    tmp_path: Path, there: str, variable: bool
) -> None:
    made_with(tmp_path, CLAUDE, f"{there}/fclaude")
    said = {"MATRIX_CLAUDE_BIN": "./fclaude"} if variable else {}
    flags = () if variable else ("--claude-bin", "./fclaude")
    done = Project(tmp_path / there, said).matrix(
        "run", str(tmp_path / "scenarios"), *flags, *PLAYED
    )
    assert done.code == 0, done


@pytest.mark.slow
def test_a_path_to_nothing_is_told_with_where_it_was_looked_for(tmp_path: Path) -> None:
    made = made_with(tmp_path, CLAUDE, "fclaude")
    done = made.matrix("run", "scenarios", "--claude-bin", "./claud", *PLAYED)
    assert done.code == 2, done
    assert f"found '{tmp_path}/claud', which is no program here" in done.err


@pytest.mark.slow
def test_a_run_that_is_resumed_from_elsewhere_finds_it_again(tmp_path: Path) -> None:
    made = made_with(tmp_path, {**CLAUDE, "claude": {"max_usd": 0.05}}, "fclaude")
    flags = ("--claude-bin", "./fclaude", "--runs", "3", "--max-cost", "0.06")
    assert made.matrix("run", "scenarios", *flags, *PLAYED).code == 4
    (tmp_path / "elsewhere").mkdir()
    again = ("resume", str(made.path("it")), "--max-cost", "5", "--executor", "in-process")
    done = Project(tmp_path / "elsewhere").matrix(*again)
    assert done.code == 0, done
    assert "3 completed" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("program", ["./bin/fclaude", "bin/fclaude"])
def test_a_path_in_the_adapter_is_beside_it_as_its_folders_are(
    tmp_path: Path, program: str
) -> None:
    made_with(tmp_path, {**CLAUDE, "claude": {"command": [program, "-p"]}}, "bin/fclaude")
    (tmp_path / "elsewhere").mkdir()
    done = Project(tmp_path / "elsewhere").matrix("run", str(tmp_path / "scenarios"), *PLAYED)
    assert done.code == 0, done


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["validate", "run"])
def test_another_agents_path_is_from_the_sessions_folder_and_told_if_not_there(
    tmp_path: Path, verb: str
) -> None:
    own = {"command": ["./fclaude"], "max_usd": 0.05, "sandbox": "none"}
    adapter = {**CLAUDE, "agent": "own", "agents": {"own": own}}
    made = made_with(tmp_path, adapter, "fclaude")
    done = made.matrix(verb, "scenarios", *(PLAYED if verb == "run" else ()))
    assert done.code == 2, done
    told = "found './fclaude', which is looked for in the session's folder and not there; "
    assert f"agents.own.command: {told}write {{project}}/fclaude, or its whole path" in done.err


@pytest.mark.slow
def test_a_program_that_sessions_begin_with_is_found_there(tmp_path: Path) -> None:
    own = {"command": ["./fclaude"], "max_usd": 0.05, "sandbox": "none"}
    adapter = {**CLAUDE, "agent": "own", "agents": {"own": own}, "scaffold": "start"}
    made = made_with(tmp_path, adapter, "start/fclaude")
    done = made.matrix("run", "scenarios", *PLAYED)
    assert done.code == 0, done


SAYS_WHO = f"""#!{sys.executable}
import json, pathlib, sys
pathlib.Path("seen.md").write_text(" ".join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]))
print(json.dumps({{"result": "done", "total_cost_usd": 0.02}}))
"""


def with_both(folder: Path, claude: dict[str, Any], **adapter: Any) -> Project:
    """A project whose adapter has a command of its own, and another program beside it."""
    made = made_with(folder, {**CLAUDE, "claude": {"max_usd": 0.05, **claude}, **adapter}, "mine")
    for name in ("mine", "other"):
        (folder / name).write_text(SAYS_WHO)
        (folder / name).chmod(0o755)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("variables", [True, False])
def test_what_is_given_goes_over_a_command_of_the_adapter(tmp_path: Path, variables: bool) -> None:
    made = with_both(tmp_path, {"command": ["./mine", "-p", "--model", "sonnet"]})
    said = {"MATRIX_CLAUDE_BIN": "./other", "MATRIX_TURN_MODEL": "opus"} if variables else {}
    flags = () if variables else ("--claude-bin", "./other", "--turn-model", "opus")
    done = Project(made.folder, said).matrix("run", "scenarios", *flags, "--keep-workdir", *PLAYED)
    assert done.code == 0, done
    seen = next(tmp_path.glob("results/it/workdirs/*/seen.md"))
    assert seen.read_text() == "other -p --model opus"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "flags", "told"),
    [
        ({}, ("--turn-model", "opus"), "--turn-model: names a model, and the command of claude"),
        (
            {"agent": "ours"},
            ("--turn-model", "opus"),
            "agent: ours is an agent of the adapter; say its model under agents.ours",
        ),
        (
            {"agent": "ours"},
            ("--claude-bin", "./other"),
            "--claude-bin: is the program of the agent claude, which does not play: agent: ours",
        ),
    ],
)
def test_what_nobody_takes_is_a_mistake(
    tmp_path: Path, adapter: dict[str, Any], flags: tuple[str, ...], told: str
) -> None:
    agents = {"ours": {"command": ["./mine"], "max_usd": 0.05}} if adapter else {}
    made = with_both(tmp_path, {"command": ["./mine"]}, agents=agents, **adapter)
    done = made.matrix("run", "scenarios", *flags, *PLAYED)
    assert done.code == 2, done
    assert told in " ".join(done.err.split())
    assert not (tmp_path / "results").exists()
