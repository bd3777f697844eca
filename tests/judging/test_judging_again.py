"""A run that was judged again is a run like any other: mended, gone on with, and compared."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from matrix.model.errors import BadInput
from matrix.report.compare.compare import compare_factor
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import BranchedFrom, JudgedDesign, read_run, write_run
from tests.executors.programs import Project, counter_spec, deciding_spec
from tests.judging.served_judges import judged_project, served_judge
from tests.report.synthetic import Row, make_run


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


@pytest.mark.long
@pytest.mark.slow
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


@pytest.mark.slow
def test_repeats_of_several_moments_are_refused_before_a_judge_is_asked(played: Project) -> None:
    done = played.matrix("rejudge", "often", "--judge", "sim/opus-4.5", "--executor", "in-process")
    assert done.code == 2, done
    assert "has several repeats of each of several moments" in done.err


JUDGED = ("--judge", "sim/opus-4.5", "--executor", "in-process", "--run-id", "again")


def verdict_of(project: Project, run: str, *flags: str) -> dict[str, Any]:
    return dict(json.loads(project.matrix("compare", run, "--json", *flags).out))


@pytest.mark.slow
def test_a_plan_that_its_cap_ended_has_no_verdict_by_another_judge_either(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(counter_spec(per_cell=40, options={"turns": 2}))
    played = ("run", "--executor", "in-process", "-y", "--run-id")
    assert project.matrix(*played, "whole").code == 0
    totals = read_run(project.path("whole")).totals
    assert totals is not None
    project.matrix(*played, "cut", "--max-cost", f"{totals.settled_nano / 2e9:.6f}")
    before = verdict_of(project, "cut")
    complete = before["rounds"]["complete"]
    assert 10 <= complete < 40, "enough of them for a verdict if it were one look"
    assert project.matrix("rejudge", "cut", *JUDGED, "--max-cost", "5").code == 0
    after = verdict_of(project, "again")
    assert after["verdict"] == before["verdict"] == "not_enough_data"
    assert after["reasons"][0] == before["reasons"][0] == "plan not over"
    assert (after["rounds"]["complete"], after["rounds"]["planned"]) == (complete, 40)
    more = ("--executor", "in-process", "--quiet", "--max-cost", "5")
    assert project.matrix("resume", "cut", *more).code == 0
    told = project.matrix("rejudge", "cut", *JUDGED[:2], "--dry-run").out
    assert "cap        $5.00" in told, "as it was given last"


@pytest.mark.slow
def test_a_run_that_was_stopped_by_its_scores_is_looked_at_as_it_was(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(deciding_spec())
    assert project.matrix("run", "--executor", "in-process", "--run-id", "it").code == 0
    assert project.matrix("rejudge", "it", *JUDGED).code == 0
    before, after = verdict_of(project, "it"), verdict_of(project, "again")
    assert after["sentence"] == before["sentence"], "the same looks, by equal scores"
    assert "looked at after every round and decided after round" in after["sentence"]
    assert after["rounds"] == before["rounds"]
    assert project.matrix("rejudge", "again", *JUDGED[:-1], "twice").code == 0
    assert verdict_of(project, "twice")["sentence"] == before["sentence"]


def test_a_session_that_cannot_be_judged_again_costs_its_pair_and_no_later_round(
    tmp_path: Path,
) -> None:
    draws = Random(3)
    rows = [
        Row({"prompt": level}, round=number, score=50 + lead + draws.gauss(0, 5))
        for number in range(20)
        for level, lead in (("plain", 0), ("short", 8), ("worst", -20))
        if level != "worst" or number < 12  # dropped by a look
    ]
    lost = {(3, "plain"), (5, "short")}
    left = [row for row in rows if (row.round, row.levels["prompt"]) not in lost]
    levels = {"prompt": ["plain", "short", "worst"]}
    made = make_run(tmp_path / "again", left, levels, rounds=20)
    run = read_run(made.path)
    design = JudgedDesign(rounds=20, whole=20, ended=20, engine="planned", dropped={"worst": 12})
    again = BranchedFrom(
        run_id="one", mode="rejudge", changes={}, times=1, moments=(), design=design
    )
    write_run(made.path, run.model_copy(update={"branched": again}))
    found = made.compare()
    assert found.verdict.rounds_complete == 20
    assert "2 sessions of it that cannot be judged again cost their pairs" in found.rests_on
    assert found.verdict.pairs_errored == 2
    missing = design.model_copy(update={"only_missing": True})
    part = run.model_copy(update={"branched": again.model_copy(update={"design": missing})})
    with pytest.raises(BadInput, match="only sessions that had no score before"):
        compare_factor(RunTables(made.path), part)


QUIET = ("--executor", "in-process", "--quiet", "--run-id")


@pytest.mark.slow
def test_a_run_that_was_judged_again_keeps_its_own_answers_and_takes_no_other_runs(
    tmp_path: Path,
) -> None:
    """Three runs of the same sessions ask the same judge the same, and are told otherwise."""
    with served_judge() as judge:
        told = (f"VERDICT: PASS - it does, for the {at}. time" for at in itertools.count(1))
        judge.says = lambda _: next(told)
        (tmp_path / "other.md").write_text("---\nanswer: verdict\n---\nIs it said well?\n")
        project = judged_project(tmp_path, judge.url)
        assert project.matrix("run", "selftest.yaml", *QUIET, "it").code == 0
        reasons = {}

        def judged(run: str, parent: str, *flags: str) -> None:
            done = project.matrix("rejudge", parent, *flags, *QUIET, run)
            assert done.code == 0, done
            frame = project.tables(run).frame("scores")
            own = frame[(frame.name == "ends") & frame.turn.isna()]
            reasons[run] = (list(own.reason), len(judge.asked))

        judged("kept", "it", "--repeats", "1", "--rubric", "ends.md")
        judged("anew", "it", "--no-cache")
        judged("of-anew", "anew", "--rubric", "ends.md")
        judged("and-more", "anew", "--rubric", "ends.md", "--rubric", "other.md")
        judged("of-of-anew", "of-anew", "--rubric", "ends.md")
    first, second = (f"it does, for the {at}. time" for at in (1, 2))
    assert reasons == {
        "kept": ([first], 1),
        "anew": ([second], 2),
        "of-anew": ([second], 2),
        "and-more": ([second], 3),
        "of-of-anew": ([second], 3),
    }
