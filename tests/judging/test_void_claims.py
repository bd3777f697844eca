"""What else a judge's favour makes is claimed no more than a winner: pairs, and gates of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matrix.api.sessions.labelling import labelling
from tests.executors.programs import Project, counter_spec, play_spec
from tests.judging.favouring import JUDGES, compared, label, played, told

ROUNDS = 30
MARGIN = ("--margin", ".5")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three variants alike but for their turns, of which the judge favours two."""
    return played(tmp_path_factory.mktemp("three"), ROUNDS, factors={"turns": [2, 3, 4]})


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two runs alike but for a turn more in the second, ``better``, which the judges favour."""
    folder = tmp_path_factory.mktemp("nights")
    project = played(folder, ROUNDS, factors={"step": [1]}, options={"turns": 2})
    better = ("run", "--set", "options.turns=3", "--run-id", "better")
    done = project.matrix(*better, "--executor", "in-process", "--quiet")
    assert done.code == 0, done
    return project


def gated(
    project: Project, run: str, *options: str, fail_on: str = "regression", code: int = 0
) -> dict[str, Any]:
    done = project.matrix("compare", run, *options, "--fail-on", fail_on, "--json")
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out)["gate"]
    return found


@pytest.mark.slow
def test_a_pair_that_is_not_the_leading_one_is_void_by_itself(three: Project) -> None:
    label(three, "tone", {"2": 0.0, "3": 2.0, "4": 2.0})
    found = compared(three)
    assert found["winner"] is None
    findings = {
        frozenset((pair["first"], pair["second"])): pair["finding"] for pair in found["differences"]
    }
    assert findings[frozenset("23")] == findings[frozenset("24")] == "void"
    against = compared(three, "--against", "2")
    assert [pair["finding"] for pair in against["differences"]] == ["void", "void"]
    for text in (told(three, "compare", "it"), told(three, "compare", "it", "--against", "2")):
        assert "3 better" not in text
        assert "4 better" not in text
        assert text.count("what it says of these two is void") == 2
        assert "not in favour" not in text


@pytest.mark.slow
def test_a_pair_stands_where_the_judge_errs_against_the_one_that_is_ahead(three: Project) -> None:
    label(three, "tone", {"2": 1.0, "3": 0.0, "4": 0.0})
    against = compared(three, "--against", "2")
    assert [pair["finding"] for pair in against["differences"]] == ["better", "better"]
    text = told(three, "compare", "it")
    assert text.count("not in favour of the one of them that is ahead") == 2


@pytest.mark.long
@pytest.mark.slow
def test_no_gate_passes_on_a_judge_that_errs_for_the_run(nights: Project) -> None:
    """By people the run is worse by a point, and the judge has it ahead by one or so."""
    asked = ("--baseline", "it", *MARGIN)
    label(nights, "tone", {"2": 0.0, "3": 0.0}, runs=("it", "better"))
    found = gated(nights, "better", *asked)["baseline"]
    assert (found["verdict"], found["judge_error"]) == ("pass", None)
    label(nights, "tone", {"2": 0.0, "3": 3.0}, runs=("it", "better"))
    found = gated(nights, "better", *asked)
    assert (found["failed"], found["baseline"]["verdict"]) == (False, "not_enough_data")
    assert found["baseline"]["judge_error"]["difference"] == pytest.approx(3.0)
    (line,) = found["lines"]
    assert line.startswith("gate undecided")
    assert "labels show that the judge errs by +3" in line
    assert "for better against it, which undoes this" in line
    assert "more rounds would not settle it" in line
    assert gated(nights, "better", *asked, fail_on="not-enough-data", code=3)["failed"]


@pytest.mark.slow
def test_nor_does_a_gate_fail_a_run_on_a_judge_that_errs_for_its_baseline(nights: Project) -> None:
    asked = ("--baseline", "better", *MARGIN)
    label(nights, "tone", {"2": 0.0, "3": 0.0}, runs=("it", "better"))
    found = gated(nights, "it", *asked, code=3)["baseline"]
    assert found["verdict"] == "regression"
    label(nights, "tone", {"2": 0.0, "3": 3.0}, runs=("it", "better"))
    found = gated(nights, "it", *asked)["baseline"]
    assert found["verdict"] == "not_enough_data"
    assert found["judge_error"]["difference"] == pytest.approx(-3.0)


def test_a_judge_that_errs_by_too_little_changes_no_gate_and_is_told_of(nights: Project) -> None:
    label(nights, "tone", {"2": 0.0, "3": 0.5}, runs=("it", "better"))
    found = gated(nights, "better", "--baseline", "it", *MARGIN)
    assert found["baseline"]["verdict"] == "pass"
    assert "which changes nothing" in found["lines"][0]


@pytest.mark.parametrize("moved", [0, 1])
@pytest.mark.parametrize(
    ("metric", "threshold", "off"), [("ends", "ends=.8", 1.0), ("tone", "tone=3.5", 2.0)]
)
def test_no_threshold_is_met_on_a_judge_whose_word_labels_undo(
    nights: Project, metric: str, threshold: str, off: float, moved: int
) -> None:
    asked = ("--threshold", threshold)
    label(nights, metric, {"3": 0.0}, runs=("better",))
    (found,) = gated(nights, "better", *asked, fail_on="threshold")["thresholds"]
    assert found["verdict"] == "pass"
    assert found["variants"][0]["judge_error"] is None
    label(nights, metric, {"3": off}, moved=moved, runs=("better",))
    (found,) = gated(nights, "better", *asked, fail_on="threshold")["thresholds"]
    assert found["verdict"] == "not_enough_data"
    error = off * (ROUNDS - moved) / ROUNDS
    assert found["variants"][0]["judge_error"] == pytest.approx(error)
    assert "which labels undo: the judge errs by +" in found["sentence"]


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two variants that the judge rates alike, and no margin."""
    lenient = {"metric": "tone", "failure_margin": 50}
    folder = tmp_path_factory.mktemp("alike")
    return played(folder, ROUNDS, factors={"turns": [3, 4]}, compare=lenient)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("off", [{"3": 2.0, "4": 0.0}, {"3": 0.0, "4": 2.0}])
def test_that_nothing_is_shown_is_void_whichever_of_the_two_the_judge_errs_for(
    alike: Project, off: dict[str, float]
) -> None:
    label(alike, "tone", {"3": 0.0, "4": 0.0})
    found = compared(alike)
    assert (found["verdict"], found["void"]) == ("no_difference", None)
    label(alike, "tone", off)
    found = compared(alike)
    assert found["void"]["verdict_by_judge"] == "no_difference"
    assert found["decision_aid"] is None
    assert [pair["void"] for pair in found["pairs"]] == [True]
    for text in (told(alike, "compare", "it"), told(alike, "show", "it")):
        assert "No winner shown on tone on the judge's word alone" in text
        assert "No difference" not in text
    assert "void, as the judge errs" in told(alike, "report", "it", "--format", "md")


@pytest.mark.slow
def test_no_variant_dominates_another_by_what_the_judge_errs_by(tmp_path: Path) -> None:
    """Three turns are cheaper than four, and no worse by the judge; by people they are."""
    priced = played(tmp_path, ROUNDS, judge="priced", factors={"turns": [3, 4]})
    asked = ("--margin", "1.5")
    label(priced, "tone", {"3": 0.0, "4": 0.0})
    assert compared(priced, *asked)["cost_quality"]["dominating"] == [["3", "4"]]
    label(priced, "tone", {"3": 2.0, "4": 0.0})
    assert compared(priced, *asked)["cost_quality"]["dominating"] == []


@pytest.mark.slow
def test_another_metric_is_not_found_to_differ_by_what_its_judge_errs_by(three: Project) -> None:
    def row() -> dict[str, Any]:
        rows: list[dict[str, Any]] = compared(three, "--against", "2")["other_metrics"]["rows"]
        return next(one for one in rows if one["metric"] == "ends")

    label(three, "ends", {"2": 0.0, "3": 0.0, "4": 0.0})
    assert (row()["found"], row()["void"]) == (True, False)
    label(three, "ends", {"2": 0.0, "3": 1.0, "4": 1.0})
    assert (row()["found"], row()["void"]) == (False, True)
    text = told(three, "compare", "it", "--against", "2")
    assert "ends: the difference is void, as the judge errs" in text


@pytest.mark.slow
def test_people_who_agree_on_nothing_show_no_error_of_the_judge(nights: Project) -> None:
    """Two people who label at random; one of them alone would be taken at her word."""
    rng = np.random.default_rng(3)
    label(nights, "tone", {"2": 0.0, "3": 0.0}, runs=("it", "better"))
    (nights.folder / "results" / "labels.jsonl").unlink()
    for run in ("it", "better"):
        for rater in ("ana", "ben"):
            work = labelling(
                nights.folder / "results" / run, metric="tone", sessions=60, rater=rater
            )
            work.take((one, float(rng.integers(1, 6)), "") for one in work.drawn)
            work.close()
    done = nights.matrix("compare", "it", "better", "--json")
    found = json.loads(done.out)
    assert (found["winner"], found["void"]) == ("better", None)
    assert found["by_people"]["people_alpha"] < 0.6
    text = told(nights, "compare", "it", "better")
    assert "People agree with each other too little" in text
    assert "errs differently" not in text


@pytest.mark.slow
def test_a_gate_that_was_decided_before_people_labelled_says_so(nights: Project) -> None:
    gates = ("--baseline", "it", *MARGIN, "--fail-on", "regression")
    again = ("run", "--set", "options.turns=3", "--run-id", "gated", *gates)
    assert nights.matrix(*again, "--executor", "in-process", "--quiet").code == 0
    assert "decided before" not in told(nights, "show", "gated")
    label(nights, "tone", {"2": 0.0, "3": 3.0}, runs=("it", "gated"))
    note = "decided before people labelled 30 sessions of it"
    for form in (("show", "gated"), ("report", "gated", "--format", "github")):
        assert note in told(nights, *form)
    assert "gate undecided" in told(nights, "compare", "gated", *gates)


@pytest.mark.slow
def test_a_score_that_is_made_of_what_a_judge_errs_on_says_so(tmp_path: Path) -> None:
    """How much of the score that makes is not worked out, and so nothing is undone."""
    project = Project(tmp_path)
    project.write(play_spec(per_cell=12))
    done = project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert done.code == 0, done
    tables = project.tables("it")
    prompts = dict(tables.frame("sessions", ["session_id", "prompt"]).to_numpy())
    frame: Any = tables.frame("scores")
    frame = frame[(frame.name == "quality_pacing") & frame.turn.isna()]
    work = labelling(project.path("it"), metric="quality_pacing", sessions=24, rater="ana")
    work.take(
        (one.session_id, one.value - 2.0 * (prompts[one.session_id] == "baseline"), "")
        for one in frame.itertuples()
    )
    work.close()
    (caution,) = [one for one in compared(project)["cautions"] if "is made of" in one]
    assert "errs differently for baseline and pulse-aware on quality_pacing" in caution
    text = told(project, "compare", "it", "--threshold", "score=1")
    assert "labels show that the judge errs for it on quality_pacing (+2.00)" in text


@pytest.mark.slow
def test_an_error_that_labels_of_another_run_show_is_told_before_a_judge_is_leant_on(
    tmp_path: Path,
) -> None:
    """The same judge and variants, and nobody has labelled the second night."""
    project = played(tmp_path, ROUNDS)
    label(project, "tone", {"2": 0.0, "3": 2.0})
    assert compared(project)["winner"] is None
    again = ("run", "--seed", "77", "--run-id", "again")
    assert project.matrix(*again, "--executor", "in-process", "--quiet").code == 0
    found = compared(project, run="again")
    assert found["winner"] == "3"
    (caution,) = [one for one in found["cautions"] if "Labels of run it" in one]
    assert "errs differently for 2 and 3 (by -2.00" in caution
    assert found["advice"] == "label sessions of this run before choosing 3: see what to mind."
    assert caution.split(", and too few")[0] in told(project, "show", "again")
    label(project, "tone", {"2": 0.0, "3": 0.0}, runs=("again",))
    assert not [one for one in compared(project, run="again")["cautions"] if "Labels of" in one]
    label(project, "tone", {"2": 2.0, "3": 2.0}, runs=("it",))  # alike for both
    assert not [one for one in compared(project, run="again")["cautions"] if "Labels of" in one]


@pytest.mark.slow
def test_a_rubric_is_made_of_its_criteria_and_says_so(tmp_path: Path) -> None:
    """The judge gives the second variant two points too many for one criterion of two."""
    judge = JUDGES.replace('"reason": "so"', '"warm": 3, "reason": "so"')
    (tmp_path / "mine.py").write_text(judge)
    criteria = "{clear: Is it clear, warm: Is it warm}"
    (tmp_path / "both.md").write_text(f"---\ncriteria: {criteria}\n---\nYou read.\n")
    project = Project(tmp_path)
    spec = counter_spec(
        per_cell=30,
        options={},
        factors={"turns": [2, 3]},
        agents={"points": {"python": "mine:points", "free": True}},
        judges=[{"rubric": "both.md", "model": "points"}],
        compare={"metric": "both", "failure_margin": 20},
    )
    project.write(spec)
    done = project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert done.code == 0, done
    gate = ("compare", "it", "--threshold", "both.clear=1", "--fail-on", "threshold")
    assert "gate passed: both.clear at least 1" in told(project, *gate)
    for metric, code in (("both.warm", 0), ("both.wram", 2), ("both.x", 2)):
        planned = project.matrix("plan", "--set", f"compare.metric={metric}")
        assert planned.code == code, planned
        assert not code or "both.clear, both.warm" in planned.err
    label(project, "both.clear", {"2": 0.0, "3": 2.0})
    found = compared(project, "--metric", "both")
    (caution,) = [one for one in found["cautions"] if "made of" in one]
    assert "errs differently for 2 and 3 on both.clear" in caution
    assert "labels show that the judge errs for it on both.clear (+2.00)" in told(
        project, "compare", "it", "--metric", "both", "--threshold", "both=1"
    )
