"""A kind that changes under a run: ``matrix resume`` refuses, ``--redo-turn`` goes on with it."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from matrix.model.entries import Ended, Opened, Settled
from matrix.store.reading.reader import RunTables
from tests.executors.programs import Done, Project, wait_for
from tests.faults.laws import assert_books, entries_in
from tests.faults.test_folder_kills import PLUGINS, SESSIONS, TURNS, scribe_project, tally
from tests.waiting import LONGEST_WAIT_S

ASKED = "Count on from {len(state.sum)"
"""What a turn of the scribe asks first."""


@pytest.fixture
def stopped(tmp_path: Path) -> Project:
    """A run that was killed while commands were under way, so turns in flight have answers."""
    project = scribe_project(tmp_path)
    shutil.copytree(PLUGINS, tmp_path / "plugins")
    path = os.pathsep.join([str(tmp_path / "plugins"), os.environ.get("PYTHONPATH", "")])
    project.environment = {"PYTHONPATH": path}
    run_dir = project.path("hurt")
    with project.started(
        "run", "--executor", "in-process", "--run-id", "hurt", "--quiet"
    ) as process:
        wait_for(lambda: len(tally(run_dir)) >= SESSIONS * TURNS)
        process.send_signal(signal.SIGKILL)
        process.wait(LONGEST_WAIT_S)
    return project


def edit(project: Project, old: str, new: str) -> None:
    path = project.folder / "plugins" / "scribe_kind.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def resume(project: Project, *more: str) -> Done:
    return project.matrix("resume", "hurt", "--executor", "in-process", "--quiet", *more)


def assert_redone(project: Project) -> None:
    """Whole, with answers that were superseded and stay paid, in the sessions' books as well."""
    run_dir = project.path("hurt")
    assert_books(run_dir)
    answered = [e for e in entries_in(run_dir) if isinstance(e, Settled) and e.answer is not None]
    assert len(answered) > len({e.key for e in answered}), "no answer was superseded"
    sessions = RunTables(run_dir).frame("sessions")
    assert list(sessions.outcome.unique()) == ["completed"]
    assert sessions.calls.sum() == len(answered)
    assert sessions.cost_nano.sum() == sum(e.cost for e in answered if e.disposition == "settled")
    turns = RunTables(run_dir).frame("turns")
    assert turns.cost_nano.sum() == sessions.cost_nano.sum()


def test_another_version_of_the_kind_is_refused_by_name_and_goes_on_with_redo_turn(
    stopped: Project,
) -> None:
    edit(stopped, "version = 1", "version = 2")
    edit(stopped, ASKED, "Please count on from {len(state.sum)")
    before = entries_in(stopped.path("hurt"))
    refused = resume(stopped)
    assert (refused.code, refused.out) == (2, "")
    assert "installed are versions 2 and 1" in refused.err
    assert "`matrix resume hurt --redo-turn`" in refused.err
    assert entries_in(stopped.path("hurt")) == before, "a refusal has written something"
    done = resume(stopped, "--redo-turn")
    assert done.code == 0, done.err
    after = entries_in(stopped.path("hurt"))
    assert after[: len(before)] == before
    assert any(isinstance(entry, Opened) and entry.redo for entry in after)
    assert_redone(stopped)


@pytest.mark.long
@pytest.mark.slow
def test_a_changed_prompt_stops_sessions_with_what_differs_and_redo_turn_heals_them(
    stopped: Project,
) -> None:
    edit(stopped, ASKED, "Please count on from {len(state.sum)")
    refused = resume(stopped)
    assert (refused.code, "DigestMismatch" in refused.err) == (1, True), "over, and nothing scored"
    ends = [e for e in entries_in(stopped.path("hurt")) if isinstance(e, Ended)]
    mismatched = [end for end in ends if end.error_class == "DigestMismatch"]
    assert mismatched
    assert all("--redo-turn" in end.reason for end in mismatched)
    assert_books(stopped.path("hurt"))
    done = resume(stopped, "--redo-turn")
    assert done.code == 0, done.err
    assert_redone(stopped)
