"""Runs that stop when they are decided: the same on every executor, and whatever dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.model.entries import Looked
from matrix.store.journal.codec import LOOKED
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.run.run_folder import read_run
from tests.comparer import compare_tables
from tests.executors.conftest import References
from tests.executors.programs import SPECS, Project, deciding_spec, entries_of, wait_for
from tests.waiting import LONGEST_WAIT_S

EXECUTORS = ["in-process", pytest.param("ray", marks=pytest.mark.ray)]


def looks_of(run_dir: Path) -> list[Looked]:
    reader = JournalReader(run_dir / JOURNAL_NAME)
    try:
        rows = reader.rows(0, reader.last_seq(), kinds=(LOOKED,))
        return [row.entry for row in rows if isinstance(row.entry, Looked)]
    finally:
        reader.close()


def decisions(run_dir: Path) -> list[tuple[object, ...]]:
    """What was decided at each look; a look that two lives made says the same twice."""
    return list(dict.fromkeys(tuple(look[:-1]) for look in looks_of(run_dir)))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_run_stops_when_its_scores_decide_and_says_what_that_saved(
    executor: str, tmp_path: Path, request: pytest.FixtureRequest, reference: References
) -> None:
    on_ray = executor == "ray"
    environment = request.getfixturevalue("shared_ray").environment if on_ray else {}
    project = Project(tmp_path, environment)
    project.write(SPECS["deciding"])
    where = ["--executor", executor]
    done = project.matrix("run", "--run-id", "it", *where)
    assert done.code == 0, done.err
    run_dir = project.path("it")
    assert compare_tables(run_dir, reference["deciding"]) == []
    run, sessions = read_run(run_dir), project.tables("it").frame("sessions")
    assert (run.status, run.end_reason) == ("complete", "decided")
    assert run.stopping is not None
    assert run.stopping.decided == "winner"
    left_out = sessions[sessions.error_class.isin(["decided", "dropped"])]
    assert len(left_out) == run.stopping.unplayed > 0
    assert run.stopping.saved_nano > 0
    assert set(left_out.outcome) == {"censored"}
    assert left_out.calls.sum() == 0
    assert len(sessions) == run.plan.sessions == 120
    assert "not needed" in done.out
    assert "7 beats both other variants" in done.out
    looks = decisions(run_dir)
    assert [look[0] for look in looks] == list(range(10, run.stopping.looked + 1))
    last = sessions[sessions.outcome == "completed"]["round"].max()
    assert last == run.stopping.looked - 1 + 4 - 1, "ten per cent of the rounds are under way"


@pytest.mark.slow
@pytest.mark.parametrize(
    "share", [0.6, *(pytest.param(s, marks=pytest.mark.long) for s in (0.3, 0.9))]
)
def test_killed_and_resumed_it_decides_the_same(
    tmp_path: Path, reference: References, share: float
) -> None:
    whole = reference["deciding"]
    project = Project(tmp_path)
    project.write(SPECS["deciding"])
    run_dir = project.path("hurt")
    moment = int(share * entries_of(whole))
    with project.started(
        "run", "--executor", "in-process", "--run-id", "hurt", "--quiet"
    ) as process:
        wait_for(lambda: entries_of(run_dir) >= moment or process.poll() is not None)
        process.kill()
        process.wait(LONGEST_WAIT_S)
    done = project.matrix("resume", "hurt", "--executor", "in-process", "--quiet")
    assert done.code == 0, done.err
    assert compare_tables(run_dir, whole) == []
    assert decisions(run_dir) == decisions(whole)


@pytest.mark.slow
def test_rounds_are_added_only_to_a_comparison_that_allows_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    equal = {"factors": {"step": [1]}, "options": {"turns": 2}, "per_cell": 12}
    project.write(deciding_spec() | equal | {"factors": {"width": [1, 2]}})
    assert (
        project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "planned").code
        == 0
    )
    refused = project.matrix("resume", "planned", "--executor", "in-process", "--per-cell", "20")
    assert refused.code == 2
    assert "planned for 24 sessions (planned engine)" in refused.err
    assert read_run(project.path("planned")).plan.sessions == 24
    same = project.matrix(
        "resume", "planned", "--executor", "in-process", "--quiet", "--per-cell", "12"
    )
    assert same.code == 0, same.err

    open_ended = {"engine": "open-ended", "failure_margin": 20}
    project.write(deciding_spec() | equal | {"factors": {"width": [1, 2]}, "compare": open_ended})
    assert (
        project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "open").code == 0
    )
    fewer = project.matrix("resume", "open", "--executor", "in-process", "--per-cell", "11")
    assert fewer.code == 2
    assert "never taken back" in fewer.err
    more = project.matrix(
        "resume", "open", "--executor", "in-process", "--quiet", "--per-cell", "20"
    )
    assert more.code == 0, more.err
    run, sessions = read_run(project.path("open")), project.tables("open").frame("sessions")
    assert run.plan.sessions == len(sessions) == 40
    assert sorted(sessions[sessions.outcome == "completed"]["round"].unique()) == list(range(20))
