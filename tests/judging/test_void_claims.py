"""What else a judge's favour makes is claimed no more than a winner: pairs, and gates of runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.executors.programs import Project
from tests.judging.favouring import compared, label, played, told

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


def test_a_pair_stands_where_the_judge_errs_against_the_one_that_is_ahead(three: Project) -> None:
    label(three, "tone", {"2": 1.0, "3": 0.0, "4": 0.0})
    against = compared(three, "--against", "2")
    assert [pair["finding"] for pair in against["differences"]] == ["better", "better"]
    text = told(three, "compare", "it")
    assert text.count("not in favour of the one of them that is ahead") == 2


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
