"""Agents of every form as levels of one factor: their money, their folders, and kills."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from matrix.model.entries import Settled
from matrix.report.run.report_file import escaped
from tests.agents.programs import TURNS, Service, agents, charged, project_of, spec_of
from tests.executors.programs import Project, wait_for
from tests.faults.laws import assert_books, entries_in, trees
from tests.providers_litellm.service import served
from tests.waiting import LONGEST_WAIT_S

ASKS = 2
"""Of a turn of the scribe."""
PLAYED = 2 * TURNS * ASKS
"""Turns of each agent: two rounds of sessions."""


def costs(project: Project, run_id: str) -> dict[str, int]:
    """Agent -> what its calls cost, in nano-dollars."""
    calls = project.tables(run_id).frame("calls")
    return {
        str(k): int(v) for k, v in calls.groupby("agent", observed=True).cost_nano.sum().items()
    }


async def played(project: Project, *arguments: str) -> Any:
    """A program, while the service answers on this loop."""
    return await asyncio.to_thread(project.matrix, *arguments)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("executor", ["in-process", pytest.param("ray", marks=pytest.mark.ray)])
async def test_every_form_plays_and_every_cent_is_the_agents_own(
    tmp_path: Path, executor: str
) -> None:
    async with served(Service(tmp_path).handle) as port:
        project = project_of(tmp_path, spec_of(agents(port)))
        done = await played(project, "run", "--executor", executor, "--quiet", "--run-id", "it")
    assert done.code == 0, done.err
    run_dir = project.path("it")
    assert_books(run_dir)
    found = costs(project, "it")
    assert found["cli"] == charged(tmp_path, "command") == PLAYED * 12_300_000
    assert found["desk"] == charged(tmp_path, "service") == PLAYED * 20_000_000
    assert found["mine"] == charged(tmp_path, "function") == PLAYED * 5_000_000
    calls = project.tables("it").frame("calls")
    assert (calls[calls.agent == "metered"].model == "sim/haiku").all()
    assert len(calls[calls.agent == "metered"]) == PLAYED * 2
    assert len(calls[calls.agent == "notebook"]) >= PLAYED
    effects = project.tables("it").frame("effects")
    done_by = effects[effects.name.str.startswith("agent ")].groupby("name").size().to_dict()
    told = ("cli", "desk", "mine", "metered")  # what the built-in agent did is in its messages
    assert done_by == {f"agent {name}": PLAYED for name in told}
    commands = effects[effects.name.isin(["agent cli", "agent metered"])]
    assert (commands.exit_code == 0).all()
    assert (commands.changed_bytes > 0).all()
    assert (commands.out_bytes > 0).all()
    assert not commands.truncated.any()
    assert len(effects[effects.name == "command sh"]) == 5 * 2 * TURNS * 2
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"completed"}
    spent = calls.groupby("session_id", observed=True).cost_nano.sum()
    tallied = sessions.set_index("session_id").cost_nano
    assert tallied.to_dict() == spent.to_dict(), "a session costs what its calls cost"
    by_agent = sessions.set_index("counter").simulated
    assert not by_agent[["cli", "desk", "mine"]].any()
    assert by_agent[["metered", "notebook"]].all()


def left_in_folders(run_dir: Path) -> dict[Any, str]:
    """The folder at every checkpoint; what is within a turn may be done anew."""
    return {key: tree for key, tree in trees(run_dir).items() if not key.slot}


def begun(folder: Path, count: int) -> bool:
    """Whether the command was begun so often; the other agents are about as far by then."""
    return charged(folder, "command") >= count * 12_300_000


SHORT = [(1, 2)]
LONG = [(seed, 1 + seed % 4) for seed in range(10, 22)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kills"), [*SHORT, *(pytest.param(*one, marks=pytest.mark.long) for one in LONG)]
)
async def test_killed_at_random_moments_nothing_is_lost_and_every_cent_is_in_the_books(
    tmp_path: Path, seed: int, kills: int
) -> None:
    rng, undisturbed, hurt = random.Random(seed), tmp_path / "whole", tmp_path / "hurt"
    undisturbed.mkdir()
    hurt.mkdir()
    async with served(Service(undisturbed).handle) as port:
        whole = project_of(undisturbed, spec_of(agents(port)))
        done = await played(whole, "run", "--executor", "in-process", "--quiet", "--run-id", "it")
        assert done.code == 0, done.err
    async with served(Service(hurt).handle) as port:
        project = project_of(hurt, spec_of(agents(port)))
        command = ["run", "--executor", "in-process", "--quiet", "--run-id", "it"]
        for moment in sorted(rng.sample(range(1, PLAYED), kills)):
            process = project.start(*command)
            try:
                await asyncio.to_thread(wait_for, partial(begun, hurt, moment))
                process.send_signal(signal.SIGKILL)
            finally:
                await asyncio.to_thread(process.communicate, timeout=LONGEST_WAIT_S)
            command = ["resume", "it", "--executor", "in-process", "--quiet"]
        kept = [e for e in entries_in(project.path("it")) if isinstance(e, Settled) and e.answer]
        done = await played(project, *command)
    assert done.code == 0, done.err
    run_dir = project.path("it")
    assert_books(run_dir)
    after = entries_in(run_dir)
    assert [entry for entry in kept if entry not in after] == [], "what was answered stays"
    found = costs(project, "it")
    for agent, who in (("cli", "command"), ("desk", "service"), ("mine", "function")):
        assert found[agent] >= charged(hurt, who), f"{agent}: settled or presumed covers it"
        assert charged(hurt, who) >= charged(undisturbed, who)
    assert left_in_folders(run_dir) == left_in_folders(whole.path("it"))
    assert set(project.tables("it").frame("sessions").outcome) == {"completed"}


@pytest.mark.long
@pytest.mark.slow
def test_an_agent_whose_cost_is_never_where_it_should_be_is_told_once(tmp_path: Path) -> None:
    forms = agents()
    amiss = {**forms["cli"], "answer": {"text": "result", "cost_usd": "total_cost"}}
    project = project_of(tmp_path, spec_of({"good": amiss, "cli": forms["cli"]}))
    done = project.matrix("run", "matrix.yaml", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done
    told = f"agent good named no `total_cost` in {PLAYED} of {PLAYED} turns; each counts with its "
    told += "max_usd"
    assert " ".join(done.out.split()).count(told) == 1, done
    assert "agent cli named" not in done.out
    assert escaped(told) in (project.path("it") / "report.md").read_text()
    shown = json.loads(project.matrix("show", "it", "--json").out)
    assert shown["agents_without_cost"] == [
        {"agent": "good", "field": "total_cost", "turns": PLAYED, "silent": PLAYED}
    ]


@pytest.mark.long
@pytest.mark.slow
def test_a_metered_agent_that_never_asks_is_told_once(tmp_path: Path) -> None:
    forms = agents()
    idle = {**forms["metered"], "command": ["python3", "{project}/cli.py", "{project}"]}
    project = project_of(tmp_path, spec_of({"idle": idle, "metered": forms["metered"]}))
    done = project.matrix("run", "matrix.yaml", "--executor", "in-process", "--run-id", "it")
    told = f"agent idle: no request came through its address in {PLAYED} of {PLAYED} turns"
    assert " ".join(done.out.split()).count(told) == 1, done
    assert "agent metered" not in done.out


@pytest.mark.long
@pytest.mark.slow
def test_dollars_of_a_subscription_count_and_are_told_apart(tmp_path: Path) -> None:
    mine = {"python": "mine:reply", "max_usd": 0.03}
    both = {"mine": mine, "flat": {**mine, "billing": "equivalent"}}
    project = project_of(tmp_path, spec_of(both))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done.err
    assert "equivalent  flat $0.04: under a subscription" in done.out
    assert "spent       $0.08 of" in done.out
    free = {"mine": mine, "gift": {"python": "mine:reply", "free": True}}
    project.write(spec_of(free))
    assert project.matrix("run", "--executor", "in-process", "--run-id", "free").code == 0
    assert costs(project, "free") == {"mine": PLAYED * 5_000_000, "gift": 0}


ASKS_ON = """
import json, os, sys, urllib.error, urllib.request
sys.stdin.read()
for number in range(30):
    said = [{"role": "user", "content": str(number)}]
    body = {"model": "x", "max_tokens": 2000, "messages": said}
    asked = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        data=json.dumps(body).encode(),
        headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"},
    )
    try:
        urllib.request.urlopen(asked).read()
    except urllib.error.HTTPError as refused:
        assert refused.code == 402
print(7)
"""


@pytest.mark.long
@pytest.mark.slow
def test_an_agent_that_was_refused_money_and_went_on_is_no_completed_session(
    tmp_path: Path,
) -> None:
    agent = {**agents()["metered"], "command": ["python3", "{project}/asks.py"]}
    spec = spec_of({"metered": agent, "again": agent}, at_cap="spend-all")
    project = project_of(tmp_path, spec | {"limits": {"cost_usd": 0.0115}})
    (tmp_path / "asks.py").write_text(ASKS_ON)
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--quiet")
    assert done.code == 4, done
    sessions = project.tables("it").frame("sessions").set_index("counter")
    assert set(sessions.outcome) == {"censored"}
    assert set(sessions.error_class) == {"cap"}
    resumed = project.matrix(
        "resume", "it", "--max-cost", "20", "--executor", "in-process", "--quiet"
    )
    assert resumed.code == 0, resumed.err
    assert set(project.tables("it").frame("sessions").outcome) == {"completed"}
    assert_books(project.path("it"))


ASKS_FOR = """
import json, os, sys, urllib.error, urllib.request
sys.stdin.read()
for model in sys.argv[1:]:
    asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": model, "max_tokens": 9,
                    "messages": [{"role": "user", "content": "Count on from 3."}]}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    try:
        urllib.request.urlopen(asked).read()
    except urllib.error.HTTPError as refused:
        assert refused.code in (404, 502)
print(7)
"""


ASKS_WRONGLY = """
import json, os, sys, urllib.error, urllib.request
sys.stdin.read()
change = {change}
key = change.pop("key", os.environ["OPENAI_API_KEY"])
body = {{"model": "sim/haiku", "max_tokens": 9, "messages": [{{"role": "user", "content": "3"}}]}}
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body | change).encode(), {{"Authorization": "Bearer " + key}})
try:
    urllib.request.urlopen(asked).read()
except urllib.error.HTTPError as refused:
    assert refused.code in (400, 401)
print(7)
"""


@pytest.mark.long
@pytest.mark.slow
def test_an_agent_that_finds_no_model_behind_its_address_has_not_been_tried(tmp_path: Path) -> None:
    meter = {**agents()["metered"], "meter": ["sim/haiku", "sim/opus-4.5"]}
    forms = {
        name: {**meter, "command": ["python3", "{project}/asks.py", *asked]}
        for name, asked in (("never", ["gpt-x"] * 2), ("once", ["gpt-x", "sim/haiku"]), ("not", []))
    }
    project = project_of(tmp_path, spec_of(forms))
    (tmp_path / "asks.py").write_text(ASKS_FOR)
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    sessions = project.tables("it").frame("sessions").set_index("counter")
    assert set(sessions.loc["never"].outcome) == {"failed"}
    assert set(sessions.loc[["once", "not"]].outcome) == {"completed"}
    told = " ".join(done.out.split())
    assert "asked 2 times, and was refused each time: The model `gpt-x`" in told


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"max_tokens": 10**9}, "asked once, and was refused each time"),
        ({"messages": "none"}, "asked once, and was refused each time"),
        ({"key": "another"}, "was refused each time: This key is not the one of this address"),
    ],
)
def test_nor_has_one_whose_every_request_is_refused(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    asks = ASKS_WRONGLY.format(change=change)
    agent = {**agents()["metered"], "command": ["python3", "{project}/asks.py"]}
    project = project_of(tmp_path, spec_of({"asks": agent}))
    (tmp_path / "asks.py").write_text(asks)
    project.matrix("run", "--executor", "in-process", "--run-id", "it")
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"failed"}
    assert sessions.end_reason.str.contains(told).all(), list(sessions.end_reason)


@pytest.mark.long
@pytest.mark.slow
def test_an_agent_whose_provider_answered_nothing_is_errored_whatever_it_prints(
    tmp_path: Path,
) -> None:
    asks = {**agents()["metered"], "command": ["python3", "{project}/asks.py", "sim/haiku"]}
    faults = {"server_error": 1.0, "max_in_a_row": 20}
    more = {"simulation": {"faults": faults}, "limits": {"cost_usd": 5, "attempts": 1}}
    project = project_of(tmp_path, spec_of({"asks": asks, "again": asks}, **more))
    (tmp_path / "asks.py").write_text(ASKS_FOR)
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 1, done  # more errored than were scored
    sessions = project.tables("it").frame("sessions")
    assert set(sessions.outcome) == {"errored"}
    assert set(sessions.error_class) == {"ProviderUnavailable"}
    assert "asked once, and got no answer" in " ".join(sessions.end_reason)


@pytest.mark.slow
def test_why_agents_failed_is_told_with_the_newest_session(tmp_path: Path) -> None:
    script = "echo no such tool >&2; exit 3"
    broken = {"command": ["sh", "-c", script], "max_usd": 0.05, "sandbox": "none"}
    project = project_of(tmp_path, spec_of({"broken": broken, "mine": agents()["mine"]}))
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it")
    assert done.code == 0, done.err
    sessions = project.tables("it").frame("sessions").set_index("counter")
    assert set(sessions.loc["broken"].outcome) == {"failed"}
    newest = sessions.loc[["broken"]].sort_values("seq").session_id.iloc[-1]
    assert "AgentFailed: exit code 3: no such tool" in done.out
    assert f"matrix show it {newest}" in done.out
