"""Whole runs that share a response cache, over real HTTP: what is asked again, and what is paid."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from matrix.engine.executors.inprocess import InProcessExecutor
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer
from matrix.store.run.run_folder import read_run
from matrix.store.shared.answers import ANSWERS_NAME
from tests.executors import driving
from tests.executors.billing import bill, served_spec
from tests.executors.conftest import SharedRay
from tests.executors.programs import Project, entries_of, wait_for
from tests.faults.laws import assert_books
from tests.waiting import LONGEST_WAIT_S

ONE_CELL: dict[str, Any] = {
    "factors": {"step": [1]}, "options": {"turns": 5, "width": 2}, "per_cell": 4, "cache": True,
}  # fmt: skip
"""Four rounds of ten calls; sessions differ in nothing but their round."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def play(project: Project, server: SimServer, run_id: str, **changes: Any) -> pd.DataFrame:
    """Play the spec in this process; returns its calls."""
    project.write(served_spec(server.url, **(ONE_CELL | changes)))
    end = await driving.drive(project.folder, run_id, InProcessExecutor())
    assert (end.status, end.reason) == ("complete", "done")
    assert_books(project.path(run_id))
    return project.tables(run_id).frame("calls")


def scores(project: Project, run_id: str) -> list[float]:
    return list(project.tables(run_id).frame("sessions").sort_values("round").score)


@pytest.mark.slow
async def test_a_run_pays_for_nothing_that_an_earlier_one_bought(project: Project) -> None:
    async with SimServer() as server:
        first = await play(project, server, "first")
        asked = (await server.stats())["requests"]
        assert asked == len(first) == 40, "no session is given the answer of another round"
        again = await play(project, server, "again")
        assert (await server.stats())["requests"] == asked
    assert set(again.disposition) == {"cached"}
    assert again.cost_nano.sum() == again.held_nano.sum() == 0
    assert again.saved_nano.sum() == first.cost_nano.sum() > 0
    assert scores(project, "again") == scores(project, "first")
    sessions = project.tables("again").frame("sessions")
    assert set(sessions.cost_nano) == {0}


@pytest.mark.slow
async def test_more_rounds_cost_their_own_calls_and_another_seed_costs_all(
    project: Project,
) -> None:
    async with SimServer() as server:
        await play(project, server, "short", per_cell=2)
        longer = await play(project, server, "longer", per_cell=4)
        other = await play(project, server, "other", per_cell=2, seed=2)
        stats = await server.stats()
    rounds = project.tables("longer").frame("sessions").set_index("session_id")["round"]
    bought = longer[longer.disposition == "settled"]
    assert set(bought.session_id.map(rounds)) == {2, 3}
    assert len(bought) == len(longer) / 2
    assert set(other.disposition) == {"settled"}
    assert stats["requests"] == 20 + 20 + 20


@pytest.mark.slow
async def test_off_is_the_default_and_leaves_no_file(project: Project) -> None:
    async with SimServer() as server:
        for run_id in ("first", "again"):
            calls = await play(project, server, run_id, per_cell=1, cache=False)
            assert set(calls.disposition) == {"settled"}
    assert not (project.folder / "results" / ANSWERS_NAME).exists()


@pytest.mark.slow
async def test_a_cache_that_cannot_be_used_is_said_once_and_the_run_goes_on(
    project: Project,
) -> None:
    (project.folder / "results").mkdir()
    (project.folder / "results" / ANSWERS_NAME).write_text("a letter to a friend " * 100)
    async with SimServer() as server:
        project.write(served_spec(server.url, **ONE_CELL))
        done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--yes")
    assert done.code == 0, done.err
    assert done.err.count("not a database") == 1
    assert "kept answers cannot be used" in done.err
    assert_books(project.path("it"))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
async def test_killed_and_resumed_a_run_pays_for_nothing_twice(seed: int, project: Project) -> None:
    """The first half of its rounds is in the cache, and it is killed twice on its way."""
    rng, run_dir = random.Random(seed), project.path("hurt")
    async with SimServer(ServeOptions(latency_ms=15)) as server:
        await play(project, server, "half", per_cell=5)
        before = bill(await server.stats())
        project.write(served_spec(server.url, **(ONE_CELL | {"per_cell": 10, "cache": False})))
        command = [
            "run",
            "--executor",
            "in-process",
            "--run-id",
            "hurt",
            "--quiet",
            "--yes",
            "--cache",
        ]
        for moment in sorted(rng.sample(range(20, 200), 2)):
            with project.started(*command) as process:
                wait_for(lambda: entries_of(run_dir) >= moment or process.poll() is not None)  # noqa: B023
                process.send_signal(signal.SIGKILL)
                process.wait(LONGEST_WAIT_S)
            command = ["resume", "hurt", "--executor", "in-process", "--quiet", "--cache"]
        done = project.matrix(*command)
        billed = bill(await server.stats()) - before
    assert done.code == 0, done.err
    assert_books(run_dir)
    calls = project.tables("hurt").frame("calls")
    answered = calls[calls.answered]
    assert len(answered) == 100
    assert (answered.disposition == "cached").sum() >= 50
    assert (calls.attempt[calls.disposition != "cached"] <= 3).all()
    assert billed <= calls.cost_nano.sum(), "what was in flight at a kill counts as spent in full"
    settled = calls[calls.disposition == "settled"]
    assert len(settled) + len(calls[calls.disposition == "cached"]) == 100
    assert read_run(run_dir).status == "complete"


@pytest.mark.ray
@pytest.mark.long
async def test_the_processes_of_a_run_share_the_file(tmp_path: Path, shared_ray: SharedRay) -> None:
    project = Project(tmp_path, shared_ray.environment)
    async with SimServer() as server:
        project.write(served_spec(server.url, **(ONE_CELL | {"cache": False})))
        for run_id, cached in (("first", 0), ("again", 40)):
            done = project.matrix(
                "run", "--executor", "ray", "--cache", "--run-id", run_id, "--yes"
            )
            assert done.code == 0, done.err
            calls = project.tables(run_id).frame("calls")
            assert (calls.disposition == "cached").sum() == cached
            assert_books(project.path(run_id))
        stats = await server.stats()
    assert stats["requests"] == 40
    assert "  cache     40 of 40 calls answered by what was bought before, saved $" in done.out
    with closing(sqlite3.connect(tmp_path / "results" / ANSWERS_NAME)) as db:
        assert db.execute("SELECT COUNT(*) FROM answers").fetchone() == (40,)


@pytest.mark.slow
async def test_a_rejudging_does_not_pay_again_for_what_the_run_judged(project: Project) -> None:
    """Also where the run kept no cache: its journal has what it bought."""
    (project.folder / "ends.md").write_text("---\nanswer: verdict\n---\nDoes it count?\n")
    judged = {"judges": [{"rubric": "ends.md", "model": "narrator-x"}], "cache": False}
    async with SimServer() as server:
        first = await play(project, server, "first", **judged)
        asked = (await server.stats())["requests"]
        for run_id, same in (("again", True), ("once-more", True), ("paid", False)):
            done = await asyncio.to_thread(
                project.matrix,
                *(
                    "rejudge",
                    "first",
                    "--rubric",
                    "ends.md",
                    "--run-id",
                    run_id,
                    "--executor",
                    "in-process",
                ),
                *([] if same else ["--no-cache"]),
            )
            assert done.code == 0, done
            calls = project.tables(run_id).frame("calls")
            assert set(calls.role) == {"judges"}
            assert set(calls.disposition) == {"cached" if same else "settled"}
            asked += 0 if same else len(calls)
            assert (await server.stats())["requests"] == asked
    bought = first[first.role == "judges"]
    lent = project.tables("again").frame("calls")
    assert lent.saved_nano.sum() == bought.cost_nano.sum() > 0
    labels = [
        project.tables(run_id)
        .frame("scores")
        .query("name == 'ends'")
        .label.value_counts()
        .to_dict()
        for run_id in ("first", "again")
    ]
    assert labels[0] == labels[1]
