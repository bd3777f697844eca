"""Runs over real HTTP, through litellm, against the server of simulated models.

The server counts for itself what it was asked and what it answered; the run's books must agree.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from matrix.engine.executors.inprocess import InProcessExecutor
from matrix.model.money import from_usd
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer
from matrix.store.run.run_folder import read_run
from tests.executors import driving
from tests.executors.billing import bill, most_committed, served_spec
from tests.executors.programs import Project
from tests.faults.laws import assert_books
from tests.waiting import LONGEST_WAIT_S


class Ended(NamedTuple):
    """What came of one fault: class and disposition of each attempt, and of the session."""

    attempts: list[tuple[str, str]]
    outcome: str
    error_class: str


GOOD = ("", "settled")
COMPLETED = ("completed", "")

OUTCOMES = {
    "429;retry-after=0.2": Ended([("RateLimited", "released"), GOOD], *COMPLETED),
    "500": Ended([("ProviderUnavailable", "presumed"), GOOD], *COMPLETED),
    "503": Ended([("ProviderUnavailable", "presumed"), GOOD], *COMPLETED),
    "529": Ended([("ProviderUnavailable", "presumed"), GOOD], *COMPLETED),
    "504": Ended([("ProviderTimeout", "presumed"), GOOD], *COMPLETED),
    "hang": Ended([("ProviderTimeout", "presumed"), GOOD], *COMPLETED),
    "reset": Ended([("ProviderUnavailable", "presumed"), GOOD], *COMPLETED),
    "cut": Ended([("ProviderUnavailable", "presumed"), GOOD], *COMPLETED),
    "malformed": Ended([("MalformedAnswer", "presumed"), GOOD], *COMPLETED),
    "empty": Ended([("MalformedAnswer", "settled"), GOOD], *COMPLETED),
    "no-usage": Ended([("", "presumed")], *COMPLETED),
    "absurd-usage": Ended([("ImplausibleUsage", "presumed")], *COMPLETED),
    "negative-usage": Ended([("", "presumed")], *COMPLETED),
    "auth": Ended([("AuthenticationFailed", "released"), GOOD], *COMPLETED),
    "context": Ended([("ContextOverflow", "released")], "errored", "ContextOverflow"),
    "refusal": Ended([("ContentRefused", "presumed")], "errored", "ContentRefused"),
    "bad-request": Ended([("RequestRejected", "released")], "errored", "RequestRejected"),
}
"""Fault of the second of three calls -> what must come of it."""

OFTEN = {
    "429;retry-after=0.05": 0.04, "503": 0.03, "reset": 0.03, "cut": 0.03, "malformed": 0.03,
    "no-usage": 0.04,
}  # fmt: skip
"""Chances of faults in a run that has to live with them."""

SPOILED = ("reset", "cut", "malformed", "no-usage")
"""Faults under which a model has answered, and whoever asked cannot know what that cost."""


@pytest.fixture(params=["in-process", pytest.param("ray", marks=pytest.mark.ray)])
def executor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(executor: str, tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    environment = request.getfixturevalue("shared_ray").environment if executor == "ray" else {}
    return Project(tmp_path, environment)


async def play(project: Project, executor: str = "in-process") -> None:
    """Play the project's spec: in this process, or by the program and its processes on Ray."""
    if executor == "in-process":
        await driving.drive(project.folder, "it", InProcessExecutor())
        return
    done = await asyncio.to_thread(
        project.matrix, "run", "--executor", "ray", "--quiet", "--yes", "--run-id", "it"
    )
    assert done.code == 0, done.err
    assert "(simulated)" not in done.out, "as far as the run can tell, these models are real"


@pytest.mark.long
@pytest.mark.slow
async def test_a_run_pays_what_the_server_counted_and_keeps_to_its_limits(
    project: Project, executor: str
) -> None:
    """400 calls at 100 a second: three seconds and a burst."""
    async with SimServer(ServeOptions(rpm=6_000, burst=700)) as server:
        project.write(served_spec(server.url, {"rpm": 6_000}, limits={"cost_usd": 1}))
        await play(project, executor)
        stats = await server.stats()
    run, tables = read_run(project.path("it")), project.tables("it")
    sessions, calls = tables.frame("sessions"), tables.frame("calls")
    assert set(sessions.outcome) == {"completed"}
    assert len(sessions) == run.plan.sessions == 10
    assert len(calls) == stats["requests"] == stats["accepted"] == 400
    assert stats["statuses"] == {"200": 400}
    assert (set(calls.disposition), set(calls.attempt)) == ({"settled"}, {1})
    assert calls.tokens_in.sum() == stats["tokens_in"]
    assert calls.tokens_out.sum() == stats["tokens_out"]
    assert calls.cost_nano.sum() == bill(stats)
    assert most_committed(project.path("it")) <= run.cap_nano
    assert_books(project.path("it"))


@pytest.mark.long
@pytest.mark.parametrize("executor", [pytest.param("ray", marks=pytest.mark.ray)], indirect=True)
async def test_a_run_lives_with_a_server_in_trouble_and_never_pays_too_little(
    project: Project, executor: str
) -> None:
    trouble = ServeOptions.model_validate({"faults": {"chances": OFTEN}})
    async with SimServer(trouble) as server:
        options = {"turns": 4, "width": 5}
        limits = {"cost_usd": 1, "attempts": 12}
        project.write(served_spec(server.url, options=options, limits=limits))
        await play(project, executor)
        stats = await server.stats()
    calls = project.tables("it").frame("calls")
    assert set(project.tables("it").frame("sessions").outcome) == {"completed"}
    assert calls.answered.sum() == 200
    assert len(calls) == stats["requests"], "an attempt is a request, and nobody else retries"
    assert (calls.error_class == "RateLimited").sum() == stats["rate_limited"] > 0
    spoiled = sum(stats["faults"].get(name, 0) for name in SPOILED)
    assert (calls.disposition == "settled").sum() == stats["accepted"] - spoiled
    assert bill(stats) <= calls.cost_nano.sum()
    assert most_committed(project.path("it")) <= from_usd(1)
    assert_books(project.path("it"))


@pytest.mark.long
@pytest.mark.slow
async def test_every_fault_has_its_outcome_for_call_session_and_ledger(tmp_path: Path) -> None:
    seen: dict[str, Ended] = {}
    async with SimServer() as server:
        for number, fault in enumerate(OUTCOMES):
            project = Project(tmp_path / str(number))
            project.folder.mkdir()
            seen[fault] = await one_fault(project, server, fault)
    assert seen == OUTCOMES


async def one_fault(project: Project, server: SimServer, fault: str) -> Ended:
    """Play one session whose second call meets this fault, and check its books."""
    project.write(
        served_spec(
            server.url,
            factors={},
            options={"turns": 3},
            per_cell=1,
            limits={"cost_usd": 1},
            providers={"timeout_s": 5.0 if fault == "hang" else LONGEST_WAIT_S},
        )
    )
    await server.reset_stats()
    await server.schedule(["ok", fault])
    await play(project)
    stats = await server.stats()
    assert_books(project.path("it"))
    calls = sorted(rows(project, "calls"), key=lambda call: call["attempt"])
    [session] = rows(project, "sessions")
    spent = sum(call["cost_nano"] for call in calls)
    known = all(call["disposition"] != "presumed" for call in calls)
    assert spent == bill(stats) if known else spent >= bill(stats), fault
    second = [call for call in calls if call["turn"] == 2]
    if fault.startswith("429"):
        waited = second[1]["started_at"] - second[0]["settled_at"]
        assert waited >= timedelta(seconds=0.2)
    attempts = [(call["error_class"] or "", call["disposition"]) for call in second]
    return Ended(attempts, session["outcome"], session["error_class"] or "")


def rows(project: Project, table: str) -> list[dict[str, Any]]:
    """The rows of a table of the project's run."""
    return project.tables("it").table(table).to_pylist()


@pytest.mark.slow
async def test_spend_all_uses_the_cap_up_by_the_servers_own_count(tmp_path: Path) -> None:
    project, cap = Project(tmp_path), from_usd(0.02)
    async with SimServer(ServeOptions(latency_ms=5)) as server:
        limits = {"cost_usd": 0.02, "open_sessions": 5}
        project.write(served_spec(server.url, per_cell=100, at_cap="spend-all", limits=limits))
        end = await driving.drive(project.folder, "it", InProcessExecutor())
        stats = await server.stats()
    assert (end.status, end.reason) == ("incomplete", "cap")
    calls = project.tables("it").frame("calls")
    assert calls.held_nano.max() <= 0.05 * cap
    assert 0.95 * cap <= calls.cost_nano.sum() == bill(stats) <= cap
    assert most_committed(project.path("it")) <= cap
    assert_books(project.path("it"))
