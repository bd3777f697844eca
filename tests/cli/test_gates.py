"""Gates of `matrix run`: what is found before the start, the lines, and the exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from matrix import api
from tests.cli.program import GoldenRun, Matrix, run_program

RUN = (
    "run", "--executor", "in-process", "--quiet", "--per-cell", "30",
    "--set", "scenarios=[the-borrowed-hour]", "--set", "options.group_size_max=2",
    "--set", "factors={prompt: [baseline]}", "--set", "compare={failure_margin: 10}",
)  # fmt: skip
"""One prompt on one short story: enough pairs for a failure gate of ten points."""

WORSE = ",".join(
    f"{{factor: prompt, level: baseline, trait: {trait}, add: 0.9}}"
    for trait in ("contradiction", "forced_segue", "guide_deviation")
)
"""Makes the narrator contradict itself and wander from its guide."""


@pytest.fixture(scope="session")
def with_baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the run ``before``."""
    folder = tmp_path_factory.mktemp("gates")
    api.init(folder)
    result = run_program(folder, *RUN, "--set", "simulation={}", "--run-id", "before")
    assert result.code == 0
    return folder


@pytest.fixture
def nightly(here: Path, with_baseline: Path) -> Path:
    """``here``, with a copy of the project and its run ``before``."""
    shutil.copytree(with_baseline, here, dirs_exist_ok=True)
    return here


@pytest.mark.long
@pytest.mark.slow
def test_a_planted_regression_fails_the_gate(nightly: Path, golden_run: GoldenRun) -> None:
    gate = ("--baseline", "before", "--margin", "3", "--fail-on", "regression")
    worse = ("--set", f"simulation={{effects: [{WORSE}]}}", "--seed", "2")
    assert golden_run("gate-regression", *RUN, *worse, *gate).code == 3


@pytest.mark.slow
def test_a_run_that_is_as_good_passes_and_a_threshold_that_is_not_met_fails(
    nightly: Path, matrix: Matrix
) -> None:
    gate = ("--baseline", "before", "--margin", "5", "--fail-on", "regression")
    more = ("--threshold", "score=99", "--fail-on", "threshold", "--json")
    result = matrix(*RUN, "--set", "simulation={}", "--seed", "3", *gate, *more)
    found = json.loads(result.stdout)["gate"]
    assert (found["baseline"]["verdict"], found["thresholds"][0]["verdict"]) == ("pass", "fail")
    assert (found["failed"], result.code) == (True, 3)


@pytest.mark.slow
def test_too_little_data_is_told_before_and_after_and_does_not_fail(
    nightly: Path, golden_run: GoldenRun
) -> None:
    gate = ("--baseline", "before", "--margin", "3", "--fail-on", "regression", "--per-cell", "2")
    assert golden_run("gate-undecided", *RUN, *gate, "--set", "simulation={}").code == 0


@pytest.mark.slow
def test_a_gate_that_cannot_be_decided_stops_a_run_before_it_starts(
    nightly: Path, golden_run: GoldenRun
) -> None:
    gate = ("--baseline", "nix", "--margin", "-3", "--threshold", "score", "--fail-on", "losing")
    assert (
        golden_run("gate-mistakes", *RUN, *gate, "--max-cost", "-1", "--run-id", "never").code == 2
    )
    assert golden_run("gate-no-margin", *RUN, "--baseline", "before", "--run-id", "never").code == 2
    assert not (nightly / "results" / "never").exists()


def test_a_metric_that_sessions_of_the_kind_never_have_stops_a_run_before_it_starts(
    nightly: Path, matrix: Matrix
) -> None:
    gate = ("--threshold", "scroe=3", "--fail-on", "threshold", "--run-id", "never")
    result = matrix(*RUN, "--per-cell", "1", *gate)
    assert result.code == 2
    assert result.stderr.startswith("--threshold: found 'scroe'; sessions have: score, ")
    assert "did you mean 'score'?" in result.stderr
    assert not (nightly / "results" / "never").exists()


@pytest.mark.slow
def test_a_run_that_is_resumed_has_gates_too(nightly: Path, matrix: Matrix) -> None:
    gate = ("--threshold", "score=99", "--fail-on", "threshold", "--quiet")
    result = matrix("run", "--executor", "in-process", "--resume", "before", *gate)
    assert result.stdout.splitlines()[1].startswith("gate FAILED: score at least 99.0: NOT MET: ")
    assert result.code == 3


@pytest.mark.slow
def test_what_gates_came_to_is_kept_with_the_run_until_it_goes_on(
    nightly: Path, matrix: Matrix
) -> None:
    gate = ("--threshold", "score=99", "--fail-on", "threshold")
    ended = matrix("run", "--executor", "in-process", "--resume", "before", *gate)
    (line,) = (line for line in ended.stdout.splitlines() if line.startswith("gate "))
    assert line.startswith("gate FAILED: score at least 99.0: NOT MET: ")
    assert matrix("show", "before").stdout.splitlines()[-1] == line
    kept = json.loads(matrix("show", "before", "--json").stdout)["gate"]
    assert (kept["failed"], kept["lines"]) == (True, [line])
    report = (nightly / "results" / "before" / "report.md").read_text()
    assert "\n## Gates\n\n- gate FAILED: score at least 99.0: NOT MET: " in report


@pytest.mark.slow
def test_a_run_of_one_variant_shows_its_mean_and_how_sure_that_is(
    nightly: Path, matrix: Matrix, golden_run: GoldenRun
) -> None:
    assert golden_run("show-one-variant", "show", "before").code == 0
    row = json.loads(matrix("show", "before", "--json").stdout)["whole"]
    scores = api.open_run("before", results=nightly / "results").sessions()["score"]
    assert row["mean"] == pytest.approx(scores.mean())
    assert row["low"] < row["mean"] < row["high"]
    assert (
        f"| all | {row['mean']:.1f} | "
        in (nightly / "results" / "before" / "report.md").read_text()
    )


def test_a_gate_of_one_run_is_the_same_from_python(nightly: Path) -> None:
    report = api.open_run("before", results=nightly / "results").gate(thresholds={"score": 99})
    assert report.failed
    assert report.thresholds[0].kind == "fail"
