"""`matrix import`: what rows are paired on, where files say it badly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import matrix as python_api
from tests.cli.program import Matrix
from tests.cli.tables import HEADERS, paired, write_csv


def told(matrix: Matrix, *args: str) -> str:
    done = matrix("import", *args)
    return " ".join((done.stdout + done.stderr).split())


def test_a_topic_that_differs_within_a_unit_is_no_scenario(here: Path, matrix: Matrix) -> None:
    rows = [[*row, f"t{at // 2 % 2}"] for at, row in enumerate(paired(6.0))]
    for row in rows[0:40:2]:
        row[-1] = "t9"
    write_csv(here / "r.csv", (*HEADERS, "topic"), rows)
    made = told(matrix, "r.csv", "--run-id", "it")
    assert "over 60 complete units" in made
    assert (
        "topic (differs between rows of one unit, so it is no scenario: 'q0' has 't9' and 't0'; "
        "--scenario none where there is none)"
    ) in made
    asked = told(matrix, "r.csv", "--scenario", "topic")
    assert "--scenario: differs between rows of one unit" in asked
    assert "'q0' has 't9' and 't0'" in asked


def test_topics_that_number_their_units_each_from_1_split_none(here: Path, matrix: Matrix) -> None:
    rows = [[f"{at // 2 % 30}", *row[1:], f"t{at // 60}"] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", (*HEADERS, "topic"), rows)
    assert "scenario topic (2, which weigh alike)" in told(matrix, "r.csv")


def test_topics_that_differ_in_case_or_blanks_are_one(here: Path, matrix: Matrix) -> None:
    words = ("Math", "math", " MATH ", "law")
    rows = [[*row, words[at % 3 if at < 60 else 3]] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", (*HEADERS, "topic"), rows)
    made = told(matrix, "r.csv", "--run-id", "it")
    assert "scenario topic (2, which weigh alike)" in made
    assert "topic: taken 'math' for 'Math', 'MATH' for 'Math'." in made
    assert set(python_api.open_run("it", results=here / "results").sessions().scenario) == {
        "Math", "law"
    }  # fmt: skip


@pytest.mark.parametrize("unit", ["question", "test_case", "input"])
def test_a_number_of_a_row_pairs_nothing_and_is_no_unit(
    here: Path, matrix: Matrix, unit: str
) -> None:
    rows = [[at, *row[:3]] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", unit, "model", "score"), rows)
    made = told(matrix, "r.csv")
    assert f"unit {unit} (60)" in made
    assert "id (no value of it is in two variants)" in made
    assert "Verdict: b beats a" in made


def test_that_nothing_is_paired_is_a_caveat_in_python_too(here: Path, matrix: Matrix) -> None:
    rows = [[at, *row[1:3]] for at, row in enumerate(paired(6.0))]
    path = write_csv(here / "r.csv", ("id", "model", "score"), rows)
    run = python_api.import_results(path, results=here / "results", run_id="it")
    assert [one for one in run.compare().caveats if "Not paired: no id is in two variants" in one]
    assert "caveat: Not paired: no id is in two" in " ".join(matrix("compare", "it").stdout.split())
    said = python_api.import_results(path, unit="none", results=here / "said").compare()
    assert not [one for one in said.caveats if "Not paired" in one]


def test_rows_that_nothing_tells_apart_are_repeats_of_their_unit(
    here: Path, matrix: Matrix
) -> None:
    rows = [
        [at * 10 + again, *row[:2], row[2] + (7 * at + again * again) % 13]  # type: ignore[operator]
        for again in range(10)
        for at, row in enumerate(paired(6.0, 20))
    ]
    write_csv(here / "r.csv", ("id", "question", "model", "score"), rows)
    made = told(matrix, "r.csv", "--run-id", "it")
    assert "20 of 20 units have several rows for a variant (up to 10)" in made
    assert "each averaged over up to 10 repeats, paired by question" in made
    found = json.loads(matrix("compare", "it", "--json").stdout)
    assert "20 complete units of 20" in found["rests_on"]
    means = {
        model: sum(row[3] for row in rows if row[2] == model) / 200  # type: ignore[misc]
        for model in ("a", "b")
    }
    assert {row["level"]: row["mean"] for row in found["variants"]} == pytest.approx(means)
    assert found["winner"] == "b"
