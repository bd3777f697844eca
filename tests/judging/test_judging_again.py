"""A run that was judged again is a run like any other: mended, gone on with, and compared."""

from __future__ import annotations

import pytest

from tests.executors.programs import Project, counter_spec


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run of three rounds, and a branch of one of its moments with three repeats."""
    project = Project(tmp_path_factory.mktemp("again"))
    project.write(counter_spec(options={"turns": 1}, per_cell=3))
    assert project.matrix("run", "--executor", "in-process", "--run-id", "a").code == 0
    flags = ("--variants", "step=1,2", "--times", "3", "--executor", "in-process", "-y")
    done = project.matrix("branch", "a", "best", "--turn", "1", *flags, "--run-id", "once")
    assert done.code == 0, done
    where = (
        "--where",
        "turns.turn == 1",
        "--variants",
        "step=1,2",
        "--executor",
        "in-process",
        "-y",
    )
    for run, times in (("many", "1"), ("often", "2")):
        done = project.matrix("branch", "a", *where, "--times", times, "--run-id", run)
        assert done.code == 0, done
    return project


@pytest.mark.parametrize(("run", "rounds"), [("a", 3), ("once", 3), ("many", 6)])
def test_it_is_mended_gone_on_with_and_compared(played: Project, run: str, rounds: int) -> None:
    judged = f"{run}-again"
    flags = ("--judge", "sim/opus-4.5", "--executor", "in-process", "--run-id", judged)
    done = played.matrix("rejudge", run, *flags)
    assert done.code == 0, done
    assert "could be written" not in done.err
    sessions = played.tables(judged).frame("sessions", ["round", "step"])
    assert len(sessions) == len(sessions.drop_duplicates()) == 2 * rounds
    assert played.matrix("repair", judged).code == 0
    assert played.matrix("resume", judged, "--executor", "in-process").code == 0
    compared = played.matrix("compare", judged)
    assert compared.code == 0, compared
    assert f"{rounds} complete rounds of {rounds} planned" in " ".join(compared.out.split())


def test_repeats_of_several_moments_are_refused_before_a_judge_is_asked(played: Project) -> None:
    done = played.matrix("rejudge", "often", "--judge", "sim/opus-4.5", "--executor", "in-process")
    assert done.code == 2, done
    assert "has several repeats of each of several moments" in done.err
