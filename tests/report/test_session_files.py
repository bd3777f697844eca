"""Reports of sessions as files: there when a session is over, in runs that are read one by one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from matrix import api
from matrix.api.runs.session_reports import FOLDER, session_report
from tests.executors.programs import Project

RUN = ("run", "--set", "limits.turns=1", "--executor", "in-process", "--run-id")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a run of 20 play-tests."""
    project = Project(tmp_path_factory.mktemp("small"))
    done = project.matrix(*RUN, "it", "--per-cell", "1")
    assert done.code == 0, done
    assert f"reports of its sessions: results/it/{FOLDER}" in done.out
    return project


@pytest.mark.slow
def test_each_session_of_a_small_run_has_its_report_when_the_run_is_over(small: Project) -> None:
    run = api.open_run(small.path("it"))
    ids = list(run.sessions()["session_id"])
    assert len(ids) == 20
    files = {path.stem: path.read_text() for path in (run.path / FOLDER).iterdir()}
    assert files == {one: session_report(run, one) for one in ids}
    told = small.matrix("report", "it", "--session", ids[0], "--format", "md")
    assert told.out == files[ids[0]]


@pytest.mark.slow
def test_a_larger_run_has_those_that_are_asked_for(tmp_path: Path) -> None:
    project = Project(tmp_path)
    done = project.matrix(*RUN, "it", "--per-cell", "2")
    assert done.code == 0, done
    assert not (project.path("it") / FOLDER).exists()
    assert "reports of its sessions" not in done.out
    told = project.matrix("report", "it", "--session", "best")
    page, report = sorted(told.out.splitlines(), reverse=True)
    (written,) = (project.path("it") / FOLDER).iterdir()
    assert report == f"results/it/{FOLDER}/{written.name} written"
    assert page.startswith("results/it/session-")
    assert written.read_text().startswith("# Session Report\n")


@pytest.mark.slow
def test_a_run_does_not_fail_for_reports_that_cannot_be_written(tmp_path: Path) -> None:
    project = Project(tmp_path)
    short = ("--per-cell", "1", "--max-cost", "0.02", "--at-cap", "spend-all")
    assert project.matrix(*RUN, "it", *short).code == 4
    folder = project.path("it") / FOLDER
    if folder.exists():
        shutil.rmtree(folder)
    folder.write_text("in the way")
    done = project.matrix("resume", "it", "--max-cost", "50", "--executor", "in-process")
    assert done.code == 0, done
    assert done.err.count("no more reports of sessions are written: cannot make") == 1
    assert folder.read_text() == "in the way"


def test_the_transcript_to_paste_is_printed_unbroken(small: Project) -> None:
    run = api.open_run(small.path("it"))
    session = run.session("best")
    done = small.matrix("show", "it", "best", "--full")
    assert done.code == 0, done
    for message in session.messages:
        for line in message.text.split("\n"):
            assert message.speaker == "system" or line.strip() in done.out
    assert "## Timeline" not in done.out
    several = small.matrix("show", "it", "--full")
    assert (several.code, "name one: its id, best, worst" in several.err) == (2, True)
    both = small.matrix("show", "it", "best", "--full", "--json")
    assert (both.code, "leave --json out" in both.err) == (2, True)
