"""Runs and files from elsewhere: what they name is a stranger's word until their user says more."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from matrix.api.sessions.labelling import labelling
from matrix.serving.process import SimServer
from matrix.store.journal.journal import JOURNAL_NAME
from matrix.store.shared.answers import ANSWERS_NAME
from tests.executors.billing import served_spec
from tests.executors.programs import Done, Project, counter_spec
from tests.judging.served_judges import ServedJudge, served_judge
from tests.kinds.trajectory import folders

KEY = "sk-this-users-own-key"
SIM = "sim/gpt-4o-mini"
SAYS = "VERDICT: PASS - it does"
AGENT = "import sys, pathlib\npathlib.Path(sys.argv[1]).write_text('ran')\nprint('done')\n"


@pytest.fixture(scope="module")
def judge() -> Iterator[ServedJudge]:
    with served_judge() as found:
        found.says = lambda asked: SAYS
        yield found


def made(folder: Path, url: str, **more: Any) -> Project:
    """A run that its cap cut short: its judge is at an address of its own, and gets a key."""
    (folder / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    model = {
        "target": "openai/served", "api_base": url, "api_key_env": "OPENAI_API_KEY",
        "price": {"input": 3, "output": 15},
    }  # fmt: skip
    project = Project(folder, environment=at_home(folder))
    project.write(
        counter_spec(
            options={"turns": 1},
            factors={},
            per_cell=6,
            models={"served": model},
            judges=[{"rubric": "ends.md", "model": "served"}],
            limits={"cost_usd": 0.0175, "open_sessions": 1},
            **more,
        )
    )
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--quiet", "--yes")
    assert done.code == 4, done
    return project


def at_home(folder: Path, key: str = KEY) -> dict[str, str]:
    """The environment of a user of their own."""
    return {"XDG_STATE_HOME": str(folder / "home"), "OPENAI_API_KEY": key}


def sent(project: Project, to: Path) -> Project:
    """Its run on another user's machine."""
    shutil.copytree(project.folder / "results", to / "results", symlinks=True)
    return Project(to, environment=at_home(to))


def refused(done: Done, *told: str) -> None:
    assert done.code == 2, done
    for one in told:
        assert one in done.err, done
    assert "Traceback" not in done.err


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory, judge: ServedJudge) -> Project:
    return made(tmp_path_factory.mktemp("made"), judge.url)


@pytest.mark.slow
def test_who_made_a_run_takes_it_up_without_a_word(
    cut: Project, judge: ServedJudge, tmp_path: Path
) -> None:
    shutil.copytree(cut.folder, tmp_path / "own")
    own = replace(cut, folder=tmp_path / "own")
    asked = len(judge.asked)
    done = own.matrix("resume", "it", "--max-cost", "1", "--executor", "in-process", "--quiet")
    assert done.code == 0, done
    assert len(judge.asked) > asked


COMMANDS = [
    ("resume", "it"),
    ("replay", "it", "best", "--turn", "0"),
    ("branch", "it", "best", "--turn", "0", "--variants", "step=1,2", "--yes"),
    ("rejudge", "it", "--judge", "served", "--no-cache"),
]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one[0])
def test_a_key_goes_to_a_strangers_address_only_if_that_is_said(
    cut: Project, judge: ServedJudge, tmp_path: Path, command: tuple[str, ...]
) -> None:
    received, asked = sent(cut, tmp_path), len(judge.asked)
    (tmp_path / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    go = (*command, "--executor", "in-process", "--quiet")
    sends = f"sends the key in OPENAI_API_KEY to {judge.url} (served), and comes from elsewhere"
    refused(received.matrix(*go, "--max-cost", "1"), sends, "if that is meant: --trust")
    if command[0] != "branch":  # so many sessions are beyond the run's own cap
        refused(received.matrix(*go), sends, "say what it may cost at most: --max-cost USD")
        refused(received.matrix(*go, "--trust"), "asks served, and comes from elsewhere; say what")
    assert len(judge.asked) == asked
    assert [one.name for one in (tmp_path / "results").iterdir() if one.is_dir()] == ["it"]
    done = received.matrix(*go, "--trust-addresses", "--max-cost", "1")
    assert done.code == 0, done
    assert len(judge.asked) > asked


@pytest.mark.slow
def test_what_a_strangers_judge_said_is_nobodys_judgement_where_it_is_judged_again(
    cut: Project, judge: ServedJudge, tmp_path: Path
) -> None:
    """One's own run is answered by its records; what a received one says could be anybody's."""
    shutil.copytree(cut.folder, tmp_path / "own")
    own, received = replace(cut, folder=tmp_path / "own"), sent(cut, tmp_path)
    (tmp_path / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    go = ("rejudge", "it", "--rubric", "ends.md", "--trust", "--max-cost", "1")
    asked = []
    for project in (own, received):
        before = len(judge.asked)
        done = project.matrix(*go, "--executor", "in-process", "--quiet")
        assert done.code == 0, done
        asked.append(len(judge.asked) - before)
    assert asked[0] == 0 < asked[1]


@pytest.mark.slow
def test_a_run_that_was_taken_up_is_its_users_own_from_then_on(
    cut: Project, tmp_path: Path
) -> None:
    received = sent(cut, tmp_path)
    done = received.matrix(
        "resume", "it", "--trust", "--max-cost", "0.0195", "--executor", "in-process"
    )
    assert done.code == 4, done
    done = received.matrix("resume", "it", "--max-cost", "1", "--executor", "in-process")
    assert done.code == 0, done


def changed_plan(run_dir: Path) -> None:
    path = run_dir / "plan.json"
    path.write_text(path.read_text().replace("openai/served", "openai/serves"))


def changed_spec(run_dir: Path) -> None:
    path = run_dir / "run.json"
    path.write_text(path.read_text().replace("openai/served", "openai/serves"))


def changed_cap(run_dir: Path) -> None:
    value = json.loads((run_dir / "run.json").read_text())
    cap = {"path": ["limits", "cost_usd"], "value": 1e6, "at": "2026-01-01T00:00:00Z"}
    (run_dir / "run.json").write_text(json.dumps(value | {"caps_given": [cap]}))


@pytest.mark.slow
@pytest.mark.parametrize("change", [changed_plan, changed_spec, changed_cap])
def test_a_run_that_somebody_changed_is_no_longer_its_users_own(
    cut: Project, tmp_path: Path, change: Any
) -> None:
    shutil.copytree(cut.folder, tmp_path / "own")
    own = replace(cut, folder=tmp_path / "own")
    change(own.path("it"))
    refused(
        own.matrix("resume", "it", "--max-cost", "1", "--executor", "in-process"), "from elsewhere"
    )


def test_a_text_that_somebody_changed_is_refused(cut: Project, tmp_path: Path) -> None:
    shutil.copytree(cut.folder, tmp_path / "own")
    own = replace(cut, folder=tmp_path / "own")
    with closing(sqlite3.connect(own.path("it") / JOURNAL_NAME)) as db, db:
        db.execute("UPDATE resources SET body = '\"other\"'")
    for command in (("resume", "it"), ("replay", "it", "best", "--turn", "0")):
        done = own.matrix(*command, "--max-cost", "1", "--executor", "in-process")
        assert done.code == 1, done
        assert "is another one" in done.err


@pytest.mark.slow
def test_a_runs_own_file_of_keys_is_not_read_where_it_was_not_made(
    judge: ServedJudge, tmp_path: Path
) -> None:
    """Its plan says where that is: on another machine, that is a file of somebody else's."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    project = made(here, judge.url)
    received = sent(project, there)
    environment = {**received.environment, "OPENAI_API_KEY": ""}
    received = replace(received, environment=environment)
    (here / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    go = ("resume", "it", "--trust", "--max-cost", "1", "--executor", "in-process")
    refused(received.matrix(*go), "has no key", str(there / ".env"))


@pytest.mark.slow
def test_nothing_is_asked_about_a_run_of_simulated_models(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    project = Project(here, environment=at_home(here))
    project.write(counter_spec(options={"turns": 1}, per_cell=1))
    assert project.matrix("run", "--executor", "in-process", "--run-id", "it").code == 0
    received = sent(project, there)
    done = received.matrix("replay", "it", "best", "--turn", "0", "--executor", "in-process")
    assert done.code == 0, done


@pytest.mark.slow
def test_a_strangers_program_runs_only_if_that_is_said(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    ran = tmp_path / "ran"
    (here / "agent.py").write_text(AGENT)
    command = ["python3", str(here / "agent.py"), str(ran)]
    agent = {"command": command, "sandbox": "none", "free": True, "pass_env": ["OPENAI_API_KEY"]}
    project = folders.project(here)
    project = replace(project, environment=at_home(here))
    expected = {"turns": [{"turn": 1, "structural": [{"file_exists": "a.md"}]}]}
    folders.scenario(here, "01-it", {"turn-01-a.md": "one", "turn-02-b.md": "two"}, expected)
    adapter = {**folders.ADAPTER, "agents": {"mine": agent}, "agent": "mine", "judge": SIM}
    (here / "trajectory.yaml").write_text(json.dumps(adapter))
    done = project.matrix(
        "run", "scenarios/01-it", "--executor", "in-process", "--run-id", "it", "--quiet"
    )
    assert done.code in (0, 3), done
    assert ran.is_file()
    ran.unlink()
    received = sent(project, there)
    go = ("replay", "it", "best", "--turn", "1", "--executor", "in-process", "--quiet")
    refused(received.matrix(*go), "agents.mine: runs 'python3 ", "gives it OPENAI_API_KEY")
    assert not ran.exists()
    assert received.matrix(*go, "--trust").code in (0, 3)
    assert ran.is_file()


@pytest.mark.slow
def test_the_command_of_a_strangers_gateway_runs_only_if_that_is_said(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    ran = tmp_path / "ran"
    command = ["sh", "-c", f"echo it >> {ran}; test -e {ran}.2 || kill -INT $PPID; sleep 0.1"]
    project = Project(here, environment=at_home(here))
    flags = ("--max-cost", "1", "--model", "sim/opus-4.5", "--run-id", "it")
    done = project.matrix("gateway", *flags, "--", *command)
    assert done.code == 4, done
    ran.unlink()
    received = sent(project, there)
    go = ("resume", "it", "--max-cost", "2")
    refused(received.matrix(*go), "runs the command 'sh -c echo it", "if that is meant: --trust")
    assert not ran.exists()
    Path(f"{ran}.2").touch()
    assert received.matrix(*go, "--trust").code == 0
    assert ran.is_file()


@pytest.mark.slow
def test_code_of_a_strangers_scenario_runs_only_if_that_is_said(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    ran = tmp_path / "ran"
    project = replace(folders.project(here), environment=at_home(here))
    expected = {"turns": [{"turn": 1, "structural": ["mine"]}]}
    inputs = {"turn-01-a.md": "one", "turn-02-b.md": "two"}
    made_at = folders.scenario(here, "01-it", inputs, expected)
    code = (
        f"def mine(view, argument):\n    open({str(ran)!r}, 'w').close()\n    return True, 'so'\n"
    )
    (made_at / "checks.py").write_text(code)
    adapter = {**folders.ADAPTER, "agents": {}, "agent": SIM, "judge": SIM}
    (here / "trajectory.yaml").write_text(json.dumps(adapter))
    go = ("--executor", "in-process", "--quiet")
    done = project.matrix("run", "scenarios/01-it", *go, "--allow-code", "--run-id", "it")
    assert done.code in (0, 3), done
    ran.unlink()
    received = sent(project, there)
    again = ("replay", "it", "best", "--turn", "0", *go)
    refused(received.matrix(*again), "scenarios.01-it: runs Python code of the scenario's own")
    assert not ran.exists()
    assert received.matrix(*again, "--trust").code in (0, 3)
    assert ran.exists()


@pytest.mark.slow
@pytest.mark.parametrize("own", [{"free": True}, {"price": {"input": 0.001, "output": 0.001}}])
@pytest.mark.parametrize(
    ("target", "known"),
    [("openai/gpt-4o", "where the list has $2.5"), ("openai/nosuch", "no list knows that model")],
)
def test_no_file_says_what_a_model_costs(
    tmp_path: Path, own: dict[str, Any], target: str, known: str
) -> None:
    project = Project(tmp_path, environment=at_home(tmp_path))
    project.write(counter_spec(options={"turns": 1}, per_cell=1))
    assert project.matrix("run", "--executor", "in-process", "--run-id", "it").code == 0
    assert project.matrix("export", "it", "best", "--turn", "0", "-o", "turn.json").code == 0
    (tmp_path / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    path = tmp_path / "turn.json"
    value = json.loads(path.read_text())
    value["continuation"]["spec"]["models"] = {"it": {"target": target, **own}}
    value["continuation"]["spec"]["limits"]["cost_usd"] = 1e5
    value["continuation"]["plan"]["roles"] = dict.fromkeys(
        value["continuation"]["plan"]["roles"], "it"
    )
    path.write_text(json.dumps(value))
    go = ("replay", "--checkpoint", "turn.json", "--executor", "in-process")
    refused(project.matrix(*go), f"turn.json: models.it: counts {target} at $0", known)
    refused(project.matrix(*go, "--trust"), "say what it may cost at most: --max-cost USD")


def test_an_address_inside_a_target_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    model = {"target": "openai/https://elsewhere.example/v1", "free": True}
    project.write(counter_spec(models={"it": model}, judges=[{"rubric": "ends.md", "model": "it"}]))
    refused(project.matrix("validate", "matrix.yaml"), "has an address in its target")


@pytest.mark.slow
def test_a_gate_says_whose_word_its_baseline_is(tmp_path: Path) -> None:
    spec = counter_spec(options={"turns": 1}, per_cell=12)
    sender = Project(tmp_path / "sender", environment=at_home(tmp_path / "sender"))
    sender.folder.mkdir()
    sender.write(spec)
    play = ("run", "--executor", "in-process", "--quiet", "--run-id")
    assert sender.matrix(*play, "low").code == 0
    here = sent(sender, tmp_path)
    here.write(spec)
    gate = ("--baseline", "low", "--margin", "2")
    done = here.matrix(*play, "mine", *gate)
    told = "low is not a run that you made here"
    assert f"the baseline {told}" in done.err
    assert told in next(line for line in done.out.splitlines() if line.startswith("gate "))
    assert "made here" not in sender.matrix(*play, "own", *gate).err


@pytest.mark.slow
async def test_answers_that_came_from_elsewhere_are_not_a_models(tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "factors": {"step": [1]}, "options": {"turns": 2, "width": 1}, "per_cell": 1,
    }  # fmt: skip
    sender = Project(tmp_path / "sender", environment=at_home(tmp_path / "sender"))
    sender.folder.mkdir()
    play = ("run", "--executor", "in-process", "--cache", "--quiet", "--yes", "--run-id")
    async with SimServer() as server:
        sender.write(served_spec(server.url, **spec))
        assert (await asyncio.to_thread(sender.matrix, *play, "it")).code == 0
        (tmp_path / "results").mkdir()
        shutil.copy(sender.folder / "results" / ANSWERS_NAME, tmp_path / "results")
        here = Project(tmp_path, environment=at_home(tmp_path))
        here.write(served_spec(server.url, **spec))
        first = (await server.stats())["requests"]
        done = await asyncio.to_thread(here.matrix, *play, "mine")
        assert done.code == 0, done
        assert (await server.stats())["requests"] == 2 * first > 0
        (tmp_path / "results" / ANSWERS_NAME).unlink()
        for run_id in ("bought", "again"):
            assert (await asyncio.to_thread(here.matrix, *play, run_id)).code == 0
        assert (await server.stats())["requests"] == 3 * first
    assert "was not begun by you on this machine" in done.err


@pytest.mark.slow
def test_labels_that_came_from_elsewhere_are_told(tmp_path: Path) -> None:
    (tmp_path / "judging.py").write_text("async def line(turn):\n    return 'VERDICT: PASS - so'\n")
    (tmp_path / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    here = Project(tmp_path)
    here.write(
        counter_spec(
            options={"turns": 1},
            per_cell=20,
            agents={"line": {"python": "judging:line", "free": True}},
            judges=[{"rubric": "ends.md", "model": "line"}],
        )
    )
    assert here.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it").code == 0
    with closing(labelling(here.path("it"), metric="ends", sessions=30, rater="ana")) as work:
        work.take((one, 1.0, "") for one in work.drawn)
    compare = ("compare", "it", "--metric", "ends", "--json")
    own = json.loads(here.matrix(*compare).out)["judge_check"]["sentence"]
    assert "word of whoever" not in own
    labels = here.folder / "results" / "labels.jsonl"
    labels.write_text(labels.read_text().replace('"run":"it"', '"run":"low"'))
    told = json.loads(here.matrix(*compare).out)["judge_check"]["sentence"]
    assert "Of low, not here or not made by you, come 30 labels: the word of whoever" in told


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("command", ["validate", "plan", "run", "doctor", "power"])
def test_a_number_of_which_python_makes_no_digits_is_one_line(tmp_path: Path, command: str) -> None:
    (tmp_path / "it.yaml").write_text(f"version: 1\nkind: counter\nseed: 0x{'f' * 4000}\n")
    done = Project(tmp_path).matrix(command, "it.yaml")
    told = " ".join((done.out + done.err).split())
    assert done.code == 2, done
    assert "seed: found 0xffff" in told
    assert "no number here may be beyond 64 bits" in told
    assert "Traceback" not in told


CODE = """
from pathlib import Path
import matrix

(Path.home() / "ran").touch()

@matrix.scenario
async def talk(ctx):
    await ctx.ask("agent", "Hello.")
    await ctx.checkpoint()
    await ctx.ask("agent", "Goodbye.")
    return 1
"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("resume", "it", "--sessions", "6"),
        ("replay", "it", "best", "--turn", "1"),
        ("rejudge", "it", "--judge", SIM, "--rubric", "file://ends.md", "--no-cache"),
    ],
    ids=lambda one: one[0],
)
def test_code_that_a_strangers_run_brings_is_run_only_if_that_is_said(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    for one in (theirs, mine):
        (one / "home").mkdir(parents=True)
        (one / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    (theirs / "talk.py").write_text(CODE)
    first = Project(theirs, environment={**at_home(theirs), "HOME": str(theirs / "home")})
    run = (
        "run",
        "talk.py",
        "--executor",
        "in-process",
        "--run-id",
        "it",
        "--quiet",
        "--sessions",
        "4",
    )
    done = first.matrix(*run)
    assert done.code == 0, done
    assert (theirs / "home" / "ran").exists()
    shutil.copytree(theirs / "results", mine / "results", symlinks=True)
    received = Project(mine, environment={**at_home(mine), "HOME": str(mine / "home")})
    for look in (("show", "it", "best"), ("compare", "it"), ("report", "it"), ("list",)):
        received.matrix(*look)
    go = (*command, "--executor", "in-process", "--quiet")
    refused(received.matrix(*go), "runs the Python code of talk.py:talk", "--trust")
    assert not (mine / "home" / "ran").exists(), "nothing of it may have been run"
    done = received.matrix(*go, "--trust")
    assert done.code == 0, done
    assert (mine / "home" / "ran").exists()
