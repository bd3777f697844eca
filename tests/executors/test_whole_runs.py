"""One suite over every executor: the same runs, the same tables, the same ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from matrix.model.money import from_usd
from matrix.store.run.run_folder import read_run
from tests.comparer import compare_tables
from tests.executors.conftest import References
from tests.executors.programs import SPECS, Done, Project, counter_spec

EXECUTORS = ["in-process", pytest.param("ray", marks=pytest.mark.ray)]


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(executor: str, tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    """A project whose programs run on this executor."""
    environment = request.getfixturevalue("shared_ray").environment if executor == "ray" else {}
    return Project(tmp_path, environment)


def run(project: Project, executor: str, *arguments: str, run_id: str = "it") -> Done:
    where = ["--executor", executor]
    return project.matrix("run", "--quiet", "--run-id", run_id, *where, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["counter", "playtest"])
def test_a_run_comes_to_its_end_with_the_tables_that_every_executor_makes(
    project: Project, executor: str, kind: str, reference: References
) -> None:
    project.write(SPECS[kind])
    done = run(project, executor)
    assert done.code == 0, done.err
    assert "(simulated)" in done.out
    run_dir = project.path("it")
    assert compare_tables(run_dir, reference[kind]) == []
    ran, tables = read_run(run_dir), project.tables("it")
    sessions = tables.frame("sessions")
    assert (ran.status, ran.end_reason) == ("complete", "done")
    assert len(sessions) == ran.plan.sessions
    assert set(sessions.outcome) <= {"completed", "timeout"}
    assert sessions.score.notna().all()
    calls = tables.frame("calls")
    assert ran.totals is not None
    assert (ran.totals.settled_nano, ran.totals.presumed_nano) == (calls.cost_nano.sum(), 0)
    assert ran.totals.calls == len(calls) == calls.answered.sum()


@pytest.mark.long
@pytest.mark.slow
def test_at_the_cap_whole_rounds_are_kept_whole_and_rows_add_up_to_the_plan(
    project: Project, executor: str
) -> None:
    project.write(counter_spec(per_cell=200, limits={"cost_usd": 0.006}))
    done = run(project, executor, "--yes")
    assert done.code == 4, done.err
    ran, sessions = read_run(project.path("it")), project.tables("it").frame("sessions")
    assert (ran.status, ran.end_reason) == ("incomplete", "cap")
    assert len(sessions) == ran.plan.sessions == 400
    completed = set(sessions[sessions.outcome == "completed"]["round"])
    censored = set(sessions[sessions.outcome == "censored"]["round"])
    played = len(completed)
    assert played >= 5
    assert completed == set(range(played)), "rounds are played in order"
    assert censored == set(range(played, 200)), "no round is played by half"
    assert set(sessions[sessions.outcome == "censored"].error_class) == {"cap"}
    assert ran.totals is not None
    assert ran.totals.outcomes["censored"] == (200 - played) * 2
    spent = ran.totals.settled_nano + ran.totals.presumed_nano
    assert spent <= from_usd("0.006")


@pytest.mark.long
@pytest.mark.slow
def test_spend_all_uses_the_cap_up_and_never_passes_it(project: Project, executor: str) -> None:
    limits = {"cost_usd": 0.01, "open_sessions": 10}
    project.write(counter_spec(per_cell=400, at_cap="spend-all", limits=limits))
    done = run(project, executor, "--yes")
    assert done.code == 4, done.err
    ran, tables = read_run(project.path("it")), project.tables("it")
    calls = tables.frame("calls")
    assert calls.held_nano.max() <= 0.01 * from_usd("0.01")
    assert ran.totals is not None
    spent = ran.totals.settled_nano + ran.totals.presumed_nano
    assert 0.99 * from_usd("0.01") <= spent <= from_usd("0.01")
    assert spent == calls.cost_nano.sum()
    sessions = tables.frame("sessions")
    assert len(sessions) == ran.plan.sessions == 800
    assert (ran.status, ran.end_reason) == ("incomplete", "cap")
    assert {"completed", "censored"} == set(sessions.outcome)


@pytest.mark.long
@pytest.mark.slow
def test_trouble_with_a_provider_leaves_the_same_answers(
    project: Project, executor: str, reference: References
) -> None:
    """Virtual time does not wait for what a 429 asks for, or this would not end today."""
    faults = {"rate_limited": 0.05, "server_error": 0.05, "timeout": 0.05, "malformed": 0.05}
    faults["retry_after_s"] = 3_600.0
    project.write({**SPECS["counter"], "simulation": {"faults": faults}})
    done = run(project, executor)
    assert done.code == 0, done.err
    assert compare_tables(project.path("it"), reference["counter"]) == []
    calls = project.tables("it").frame("calls")
    assert calls[~calls.answered].error_class.nunique() == 4
    ran = read_run(project.path("it"))
    assert ran.totals is not None
    assert ran.totals.presumed_nano == calls[calls.disposition == "presumed"].cost_nano.sum() > 0
    shown = project.matrix("show", "it")  # what was lost with its answer is in no session
    told = re.search(r"^ *presumed +\$([0-9.]+) for attempts whose answer never", shown.out, re.M)
    assert told, shown.out
    answered = calls[calls.answered].cost_nano.sum() / 1e9
    assert float(told[1]) == pytest.approx(calls.cost_nano.sum() / 1e9 - answered, rel=0.01)


@pytest.mark.long
def test_calls_that_end_in_errors_are_rows_and_the_run_goes_on(
    project: Project, executor: str
) -> None:
    faults = {"timeout": 0.5, "max_in_a_row": 20}
    limits = {"cost_usd": 10, "attempts": 2}
    project.write(counter_spec(options={"turns": 2}, limits=limits, simulation={"faults": faults}))
    done = run(project, executor)
    assert done.code == 1, "more errored than were scored"
    sessions = project.tables("it").frame("sessions")
    errored = sessions[sessions.outcome == "errored"]
    assert 0 < len(errored) < len(sessions) == 10
    assert set(errored.error_class) == {"ProviderTimeout"}
    assert errored.score.isna().all()


@pytest.mark.long
@pytest.mark.slow
def test_more_calls_than_an_actor_has_room_for_wait_without_blocking_settlements(
    project: Project, executor: str
) -> None:
    project.write(
        counter_spec(
            options={"turns": 1, "width": 64},
            per_cell=20,
            groups={"openai": {"concurrency": 5}},
        )
    )
    done = run(project, executor)
    assert done.code == 0, done.err
    ran = read_run(project.path("it"))
    assert ran.totals is not None
    assert (ran.totals.calls, ran.totals.outcomes["completed"]) == (40 * 64, 40)


@pytest.mark.long
def test_a_run_that_is_there_already_is_not_touched(project: Project, executor: str) -> None:
    project.write(counter_spec(options={"turns": 1}))
    run_dir = project.path("it")
    run_dir.mkdir(parents=True)
    (run_dir / "precious").write_text("data")
    done = run(project, executor)
    assert done.code == 2
    assert "never overwritten" in done.err
    assert [path.name for path in run_dir.iterdir()] == ["precious"]


@pytest.mark.long
def test_a_results_folder_that_cannot_be_written_is_named(project: Project, executor: str) -> None:
    project.write(counter_spec(options={"turns": 1}))
    (project.folder / "results").write_text("a file, not a folder")
    done = run(project, executor)
    assert done.code == 2
    assert done.err.startswith("--results: results is a file; name a folder")
    assert "Traceback" not in done.err
