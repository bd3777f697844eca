"""What is told of a stranger's spec before it runs: where keys and words would go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.executors.programs import Project, counter_spec, play_spec

KEY = "ghp-canary-of-this-user-4711"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, environment={"GITHUB_TOKEN": KEY})


AGENTS: list[tuple[dict[str, Any], str]] = [
    (
        {
            "http": {"submit": "https://there.example/v1?x=1", "headers": {"a": "$GITHUB_TOKEN"}},
            "pass_env": ["GITHUB_TOKEN"],
            "max_usd": 0.01,
        },
        "sends its work, and may send the variable GITHUB_TOKEN, to https://there.example",
    ),
    (
        {"http": {"submit": "https://a.example/", "poll": "https://b.example/{id}", "id": "id"},
         "max_usd": 0.01},
        "sends its work to https://a.example and https://b.example (agent it)",
    ),
    (
        {"command": ["sh", "-c", "true"], "sandbox": "none", "free": True,
         "pass_env": ["GITHUB_TOKEN", "HOME"]},
        "gives the variables GITHUB_TOKEN, HOME to 'sh -c true' (agent it)",
    ),
]  # fmt: skip


@pytest.mark.parametrize("command", ["plan", "validate"])
@pytest.mark.parametrize(("agent", "told"), AGENTS)
def test_what_agents_are_given_and_where_their_work_goes_is_told(
    project: Project, agent: dict[str, Any], told: str, command: str
) -> None:
    project.write(counter_spec(agents={"it": agent}, roles={"counter": "it"}))
    done = project.matrix(command)
    assert done.code == 0, done
    assert told in " ".join((done.out + done.err).split()), done
    assert KEY not in done.out + done.err


@pytest.mark.slow
def test_other_machines_that_are_asked_without_a_key_are_told(project: Project) -> None:
    model = {"target": "openai/it", "price": {"input": 1, "output": 1}}
    for base, told in (("http://169.254.169.254/v1", True), ("http://127.0.0.1:9/v1", False)):
        models = {"it": {**model, "api_base": base}}
        project.write(counter_spec(models=models, roles={"counter": "it"}))
        done = project.matrix("plan")
        assert done.code == 0, done
        said = "sends what it is asked to http://169.254.169.254 (it)" in done.out + done.err
        assert said is told, done


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("command", ["validate", "doctor", "plan"])
def test_what_agents_are_given_and_shown_is_told(project: Project, command: str) -> None:
    (project.folder / "mine").mkdir()
    passed = {"pass_env": ["AWS_SECRET_ACCESS_KEY"], "reads": ["mine"], "network": "open"}
    agents = {"it": {"command": ["work", "x"], "max_usd": 0.01, **passed}}
    project.write(counter_spec(agents=agents, roles={"counter": "it"}))
    done = project.matrix(command)
    said = " ".join((done.out + done.err).split())
    assert "gives the variable AWS_SECRET_ACCESS_KEY to 'work x' (agent it)" in said, done
    assert "shows mine to 'work x' (agent it)" in said, done


@pytest.mark.slow
@pytest.mark.parametrize("command", ["validate", "doctor", "plan"])
def test_no_code_of_an_agent_runs_before_the_run(project: Project, command: str) -> None:
    ran = project.folder / "ran"
    code = f"open({str(ran)!r}, 'w')\nasync def reply(turn): ..."
    (project.folder / "theirs.py").write_text(code)
    agents = {"it": {"python": "theirs:reply", "max_usd": 0.01}}
    project.write(counter_spec(agents=agents, roles={"counter": "it"}))
    assert project.matrix(command).code == 0
    assert not ran.exists()


FUNCTIONS = [
    ("async def reply(turn): ...", ""),
    ("if True:\n    async def reply(turn): ...", ""),
    ("from json import loads as reply", ""),
    ("from json import *", ""),
    ("def __getattr__(name): ...", ""),
    ("reply = other = 3", ""),
    ("@wrapped\ndef reply(turn): ...", ""),
    ("def reply(turn): ...", "theirs:reply is no async function"),
    ("def other(turn):\n    async def reply(turn): ...", "module 'theirs' has no 'reply'"),
    ("async def reply(turn: ...", "cannot be imported: SyntaxError"),
    ("x = '\0'", "cannot be imported: "),
]


@pytest.mark.parametrize(("code", "told"), FUNCTIONS)
def test_a_function_is_found_by_reading(project: Project, code: str, told: str) -> None:
    (project.folder / "theirs.py").write_text(code)
    agents = {"it": {"python": "theirs:reply", "max_usd": 0.01}}
    project.write(counter_spec(agents=agents, roles={"counter": "it"}))
    done = project.matrix("validate")
    assert (done.code, told in done.err) == (2 if told else 0, True), done


@pytest.mark.parametrize("place", ["prompt", "spec"])
def test_a_text_that_holds_a_key_is_neither_sent_nor_kept(project: Project, place: str) -> None:
    prompts = project.folder / "scenarios" / "playtest" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "mine.md").write_text(f"Tell a story. Key: {KEY if place == 'prompt' else ''}")
    said = {"params": {"narrator": {"stop": [KEY]}}} if place == "spec" else {}
    project.write(play_spec(factors={}, options={"prompt": "mine"}, **said))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 2, done
    assert "holds the value of GITHUB_TOKEN: it would be sent to models" in done.err
    assert KEY not in done.err
    assert not project.path("it").exists()
