"""`matrix replay --ask` from its first line to its exit code, and a survey in a run's tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from matrix import api
from tests.cli.program import GoldenRun, Matrix, Result, run_program

SPEC = {
    "name": "play",
    "kind": "playtest",
    "scenarios": ["put-it-back"],
    "factors": {"prompt": ["baseline", "pulse-aware"]},
    "options": {
        "group": ["joker", "engaged"],
        "with_judge": False,
        "survey": ["fun", "play_again", "Which moment stays with you?"],
    },
    "per_cell": 1,
    "limits": {"cost_usd": 10, "turns": 3},
}
ASK = ("--executor", "in-process", "--run-id", "asked", "--ask")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("played")
    (folder / "matrix.yaml").write_text(yaml.safe_dump(SPEC))
    return folder, run_program(
        folder, "run", "--executor", "in-process", "--run-id", "first", "--quiet"
    )


@pytest.fixture
def project(here: Path, played: tuple[Path, Result]) -> Path:
    """``here``, with a play-test's project and its run ``first``."""
    import shutil

    shutil.copytree(played[0], here, dirs_exist_ok=True)
    return here


@pytest.mark.slow
def test_a_player_is_asked_and_what_they_say_is_printed(
    project: Path, golden_run: GoldenRun, matrix: Matrix
) -> None:
    question = "Why did you stay behind?"
    done = golden_run("replay-ask", "replay", "first", "best", *ASK, "spokesperson", question)
    assert done.code == 0
    again = matrix("replay", "first", "best", "--json", *ASK[:3], "anew", "--ask", "spokesperson",
                   question)  # fmt: skip
    told = json.loads(again.stdout)
    assert told["question"] == question
    assert told["answers"][0] in done.stdout.replace("\n", " ")
    assert told["run"] == "anew"
    assert told["usd"] > 0


def test_who_is_asked_and_where_is_checked(project: Path, golden_run: GoldenRun) -> None:
    assert golden_run("replay-ask-nobody", "replay", "first", "best", *ASK, "Zed", "Why?").code == 2
    assert golden_run("replay-ask-where", "replay", *ASK, "Zed", "Why?").code == 2
    assert not (project / "results" / "asked").exists()


def test_a_survey_is_rows_and_scores_that_can_be_compared(project: Path, matrix: Matrix) -> None:
    run = api.open_run("first", results=project / "results")
    rows = run.frame("events")
    rows = rows[rows["kind"] == "survey"]
    assert rows.groupby("session_id").size().tolist() == [6, 6]
    scores = run.frame("scores")
    fun = rows[rows["detail"].str.startswith("fun: ")]
    means = fun["value"].astype(float).groupby(fun["session_id"].astype(str)).mean()
    told = scores[scores["name"] == "survey_fun"]
    assert dict(zip(told["session_id"].astype(str), told["value"], strict=True)) == means.to_dict()
    assert matrix("compare", "first", "--metric", "survey_fun").code == 0
