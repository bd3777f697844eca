"""What is wrong with agents is told at once, and nothing is started."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import Result, run_program

Play = Callable[..., Result]
GOOD: dict[str, Any] = {"command": ["true"], "max_usd": 1, "sandbox": "none"}


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """``play(agents)`` runs a counter whose role is every one of them."""

    def run(
        agents: dict[str, Any], *args: str, levels: list[str] | None = None, **spec: Any
    ) -> Result:
        whole = {
            "kind": "counter",
            "scenarios": ["one"],
            "agents": agents,
            "factors": {"counter": levels or list(agents)},
            "per_cell": 1,
            "limits": {"cost_usd": 99, "turns": 2},
            **spec,
        }
        (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(whole))
        return run_program(tmp_path, "run", "--executor", "in-process", "--run-id", "it", *args)

    return run


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ({}, "found none of command, http, python, tools; give exactly one"),
        ({**GOOD, "python": "a:b"}, "found command and python of command, http, python, tools"),
        (
            {"command": ["true"], "sandbox": "none"},
            "nothing bounds what a turn costs; give max_usd",
        ),
        ({**GOOD, "free": True}, "found max_usd and free; give one of them"),
        ({"command": ["true"], "max_usd": 1}, "costs money, but its sandbox has no network"),
        ({**GOOD, "expected_usd": 2}, "expects 2.0 dollars of a turn, but holds 1.0"),
        ({**GOOD, "comand": ["x"]}, "did you mean 'command'?"),
        ({**GOOD, "command": []}, "command"),
        ({**GOOD, "command": ["{projct}/x"]}, "command has {projct}; what is filled in: project"),
        ({**GOOD, "max_usd": -1}, "max_usd"),
        (
            {"http": {"submit": "http://127.0.0.1:1", "body": {"q": "{promt}"}}, "free": True},
            "http.body has no {prompt}",
        ),
        (
            {
                "http": {"submit": "http://127.0.0.1:1", "body": {"q": "{prompt} {sesion}"}},
                "free": True,
            },
            "http has {sesion}; what is filled in: prompt, session",
        ),
        (
            {
                "http": {
                    "submit": "http://127.0.0.1:1",
                    "id": "id",
                    "poll": "http://127.0.0.1:1/jobs",
                    "done": [],
                },
                "free": True,
            },
            "http.poll has no {id}",
        ),
        (
            {"command": ["python3", "matrix.yaml"], "free": True, "sandbox": "none"},
            "write {project}/matrix.yaml",
        ),
        ({**GOOD, "pass_env": ["sk-abc def"]}, "what was found is not shown"),
        (
            {"command": ["true"], "free": True, "billing": "equivalent", "sandbox": "none"},
            "billing: equivalent is of an agent that says its dollars",
        ),
        (
            {"command": ["true"], "free": True, "home": "own"},
            "home: own is of a command without a sandbox; give sandbox: none",
        ),
        ({"tools": ["read"]}, "tools need the model that uses them: give model"),
        ({"tools": ["delete"], "model": "sim/haiku"}, "found 'delete'; should be 'read', 'write'"),
        ({"tools": [], "model": "sim/haiku"}, "tools is empty; name some of read, write"),
        ({"tools": ["read"], "model": "sim/haiku", "max_usd": 1}, "max_usd does not belong here"),
        ({"tools": ["read"], "model": "sim/haikuu"}, "agents.it.model: unknown simulated model"),
        ({"command": ["true"], "meter": "sim/haiku", "sandbox": "none"}, "needs expected_usd"),
        (
            {"command": ["true"], "meter": "sim/x", "expected_usd": 1, "sandbox": "none"},
            "agents.it.meter: unknown simulated model",
        ),
        ({"http": {"submit": "ftp://x"}, "max_usd": 1}, "starts with http:// or https://"),
        ({"http": {"submit": "http://x", "poll": "http://x/{id}"}, "max_usd": 1}, "need http.id"),
        (
            {"http": {"submit": "http://x", "headers": {"a": "Bearer $TOKEN"}}, "max_usd": 1},
            "http.headers use $TOKEN, which is not in pass_env",
        ),
        ({"http": {"submit": "http://127.0.0.1:1/x"}, "max_usd": 1}, "agents.it.http.submit"),
        ({**GOOD, "command": ["no-such-program"]}, "'no-such-program', which is no program here"),
        ({**GOOD, "command": ["sh", "{project}/no.sh"]}, "/no.sh', which is not there; correct it"),
        ({**GOOD, "pass_env": ["NO_SUCH_VARIABLE"]}, "NO_SUCH_VARIABLE is not set; set it in"),
        ({"python": "nothing", "max_usd": 1}, "names no function; write module:function"),
        ({"python": "no_such_module:f", "max_usd": 1}, "cannot be imported: ModuleNotFoundError"),
        ({"python": "json:loads", "max_usd": 1}, "json:loads is no async function"),
        ({"python": "json:nothing", "max_usd": 1}, "module 'json' has no 'nothing'"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_field(
    tmp_path: Path, play: Play, agent: dict[str, Any], told: str
) -> None:
    result = play({"it": agent})
    assert result.code == 2, result
    assert told in result.stderr
    assert "agents.it" in result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert not (tmp_path / "results" / "it").exists()


def test_an_agent_that_is_misspelt_as_a_level_has_a_near_match(play: Play) -> None:
    result = play({"helpdesk": GOOD}, levels=["helpdsk"])
    assert result.code == 2
    assert "factors.counter[0]: unknown model 'helpdsk'" in result.stderr
    assert "did you mean 'helpdesk'?" in result.stderr


def test_a_name_is_a_models_or_an_agents(play: Play) -> None:
    result = play({"opus-4.5": GOOD})
    assert (result.code, "is also the name of a model" in result.stderr) == (2, True)


def test_parameters_of_models_mean_nothing_to_an_agent(play: Play) -> None:
    result = play({"it": GOOD}, params={"counter": {"temperature": 0}})
    assert result.code == 2
    assert (
        "params.counter.temperature: model it (role counter) takes no 'temperature'"
        in result.stderr
    )


def test_a_metered_agent_needs_one_key_and_is_told_so_once(play: Play) -> None:
    agent = {"command": ["true"], "meter": "anthropic", "expected_usd": 0.1, "sandbox": "none"}
    result = play({"it": agent})
    assert result.code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "set ANTHROPIC_API_KEY in the environment" in result.stderr


def test_a_cap_below_one_turn_is_refused(play: Play) -> None:
    result = play({"it": {**GOOD, "max_usd": 500, "expected_usd": 0.01}})
    assert result.code == 2, result
    assert "$500.00" in result.stderr


PROJECTS: dict[str, dict[str, Any]] = {
    "/gone.sh', which is no program; write the file": {**GOOD, "command": ["{project}/gone.sh"]},
    "/no.sh', which is not there; correct it": {**GOOD, "command": ["sh", "{project}/no.sh"]},
    "cannot be imported: ModuleNotFoundError": {"python": "no_such_module:f", "max_usd": 1},
    "a home that is kept is in the session's folder": {**GOOD, "home": "keep"},
}
MACHINES: dict[str, dict[str, Any]] = {
    "'no-such-program', which is no program here": {**GOOD, "command": ["no-such-program"]},
    "NO_SUCH_VARIABLE is not set": {**GOOD, "pass_env": ["NO_SUCH_VARIABLE"]},
}


@pytest.mark.slow
def test_validate_finds_what_the_project_lacks_and_doctor_what_the_machine_lacks(
    tmp_path: Path, play: Play
) -> None:
    agents = {f"a{n}": one for n, one in enumerate([*PROJECTS.values(), *MACHINES.values()])}
    assert play(json.loads(json.dumps({**agents, "fine": GOOD}))).code == 2  # no YAML aliases
    said = run_program(tmp_path, "validate")
    assert (said.code, len(said.stderr.splitlines())) == (2, len(PROJECTS)), said.stderr
    for told in PROJECTS:
        assert told in said.stderr
    found = run_program(tmp_path, "doctor", "--executor", "in-process", "--json")
    assert found.code == 2
    rows = [row for row in json.loads(found.stdout)["findings"] if row["what"].startswith("agent ")]
    missing = {row["what"]: row["found"] for row in rows if row["state"] == "missing"}
    assert missing.keys() == {f"agent {name}" for name in agents}
    for name, told in zip(agents, [*PROJECTS, *MACHINES], strict=True):
        assert told.partition(";")[0] in missing[f"agent {name}"]
    assert [row["what"] for row in rows if row["state"] == "ok"] == ["agent fine"]


@pytest.mark.slow
def test_a_variable_that_is_not_set_here_is_a_note_before_the_run_is_refused(
    tmp_path: Path, play: Play
) -> None:
    assert play({"it": {**GOOD, "pass_env": ["NO_SUCH_VARIABLE"]}}).code == 2
    note = "NO_SUCH_VARIABLE is not set here, and a run is refused without it (pass_env of agent it"
    for command in (("validate",), ("plan",), ("run", "--dry-run")):
        said = run_program(tmp_path, *command)
        assert said.code == 0, said
        assert note in " ".join(said.stdout.split()), said
    (tmp_path / ".env").write_text("NO_SUCH_VARIABLE=x\n")
    assert "is not set" not in run_program(tmp_path, "validate").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "value", "warned"),
    [
        ("MODE", "demote", True),
        ("AGENT_MODEL", "anthropic/claude-sonnet-4.5", True),
        ("MODE", "fast", False),
        ("MODE", "hK3-9xQz77LpW", False),
        ("MY_TOKEN", "letmein", False),
    ],
)
def test_a_setting_that_would_be_cut_out_as_a_secret_is_told_before_the_start(
    tmp_path: Path, play: Play, variable: str, value: str, warned: bool
) -> None:
    (tmp_path / ".env").write_text(f"{variable}={value}\n")
    play({"it": {**GOOD, "pass_env": [variable]}})
    said = " ".join(run_program(tmp_path, "validate").stdout.split())
    assert (f"the value of {variable} (pass_env of agent it) is taken for a secret" in said) is (
        warned
    )
    assert value not in said


def test_a_name_that_the_kind_does_not_tell_is_told(play: Play) -> None:
    body = {"q": "{prompt} {task_type}"}
    agent = {"http": {"submit": "http://127.0.0.1:1", "body": body}, "free": True}
    assert "found {task_type}, which counter does not tell" in play({"it": agent}).stderr
