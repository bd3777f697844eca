"""A disk that is full: the run stops, says so, and goes on later without a loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalRow
from matrix.store.run.run_folder import read_run
from tests.comparer import compare_tables
from tests.executors.programs import Project, counter_spec

RUN = ("run", "--executor", "in-process", "--quiet", "--run-id")


def rows(run_dir: Path) -> list[JournalRow]:
    reader = JournalReader(run_dir / JOURNAL_NAME)
    try:
        return list(reader.rows(0, reader.last_seq()))
    finally:
        reader.close()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run that had space enough."""
    project = Project(tmp_path_factory.mktemp("disk"))
    project.write(counter_spec(per_cell=2, options={"turns": 20, "width": 2, "shared_start": True}))
    done = project.matrix(*RUN, "whole")
    assert done.code == 0, done.err
    return project


@pytest.mark.slow
def test_a_full_disk_ends_the_run_clearly_and_loses_nothing_that_was_acknowledged(
    project: Project,
) -> None:
    run_dir = project.path("full")
    done = project.matrix(*RUN, "full", file_limit=200_000)
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("error: no space left for")
    assert "`matrix resume full`" in done.err
    assert "Traceback" not in done.err
    acknowledged = rows(run_dir)
    assert acknowledged
    assert read_run(run_dir).status == "failed"
    resumed = project.matrix("resume", "full", "--executor", "in-process", "--quiet")
    assert resumed.code == 0, resumed.err
    assert rows(run_dir)[: len(acknowledged)] == acknowledged
    assert compare_tables(run_dir, project.path("whole")) == []
    assert read_run(run_dir).status == "complete"


@pytest.mark.slow
def test_a_run_that_the_disk_has_no_room_for_is_not_begun(project: Project) -> None:
    done = project.matrix(*RUN, "never", file_limit=20_000)
    assert done.code == 1
    assert "nothing was started" in done.err
    assert "Traceback" not in done.err
    assert not project.path("never").exists()
