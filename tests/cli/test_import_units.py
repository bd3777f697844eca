"""`matrix import`: what rows are paired on, where files say it badly."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import matrix as python_api
from tests.cli.program import Matrix
from tests.cli.tables import HEADERS, paired, write_csv
from tests.cli.test_import_unpaired import studied


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


@pytest.mark.slow
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


def sorted_alike(header: str) -> tuple[tuple[str, str, str], list[list[object]]]:
    """Two variants that are alike but for a hair, each sorted by score and numbered from 1."""
    sides = [sorted(float(str(row[2])) for row in paired(0.0) if row[1] == one) for one in "ab"]
    lead = sum(sides[0]) / 60 - sum(sides[1]) / 60 + 0.5
    return (header, "model", "score"), [
        [at, model, round(score + lead * (model == "b"), 3)]
        for model, scores in zip("ab", sides, strict=True)
        for at, score in enumerate(scores, 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("header", ["row_id", "idx", "index"])
def test_a_column_that_only_counts_rows_is_no_unit_unless_it_is_named(
    here: Path, matrix: Matrix, header: str
) -> None:
    draws = random.Random(header)
    headers, rows = sorted_alike(header)
    marks = [row[2] for row in rows]
    draws.shuffle(marks)
    rows = [[*row[:2], mark] for row, mark in zip(rows, marks, strict=True)]
    write_csv(here / "r.csv", headers, rows)
    made = told(matrix, "r.csv", "--run-id", "it")
    assert f"{header} only counts the rows, so it is taken for no unit" in made
    assert f"Say --unit {header} if they do." in made
    assert "not paired" in made
    assert f"paired by {header}" in told(matrix, "r.csv", "--unit", header)
    gone = [row for at, row in enumerate(rows) if at % 5]
    write_csv(here / "s.csv", headers, gone)
    assert f"paired by {header}" in told(matrix, "s.csv"), "with gaps it counts nothing"


@pytest.mark.slow
@pytest.mark.parametrize("header", ["row_id", "id"])
def test_rows_that_are_numbered_by_their_scores_are_no_pairs(
    here: Path, matrix: Matrix, header: str
) -> None:
    write_csv(here / "r.csv", *sorted_alike(header))
    made = told(matrix, "r.csv", "--run-id", "it")
    assert "Verdict: No difference shown" in made
    assert f"Say --unit {header} if they do." in made
    assert matrix("import", "r.csv", "--unit", header, "--run-id", "named").code == 0
    said = f"{header} numbers the rows in the order of their scores, in every variant: pairs by it"
    assert said in " ".join(matrix("show", "named").stdout.split())
    run = python_api.open_run("named", results=here / "results")
    assert [one for one in run.compare().caveats if one.startswith(said)]


def test_two_files_are_not_paired_by_the_index_that_their_programs_wrote(
    here: Path, matrix: Matrix
) -> None:
    headers, rows = sorted_alike("")
    for name in "ab":
        own = [[row[0], row[2]] for row in rows if row[1] == name]
        write_csv(here / f"{name}.csv", (headers[0], "score"), own)
    assert "not paired" in told(matrix, "a.csv", "b.csv")


@pytest.mark.parametrize(
    ("lead", "failed", "units"),
    [(8.0, (), 40), (8.0, (3, 7), 40), (8.0, (3, 7), 200), (None, (), 40)],
    ids=["none-failed", "some-failed", "enough-units", "yes-or-no"],
)
@pytest.mark.parametrize("times", [2, 3])
def test_rows_that_are_given_again_carry_no_more_than_once(
    here: Path, lead: float | None, failed: tuple[int, ...], units: int, times: int
) -> None:
    rows = paired(lead or 0.0, units)
    once = [
        [unit, model, score if lead else float(model == "b" or at >= 8), ""]
        for at, (unit, model, score, *_) in enumerate(rows)
    ]
    for at in failed:
        once[2 * at + 1][2:] = ["", "boom"]

    def found(name: str, rows: list[list[object]]) -> tuple[object, ...]:
        path = write_csv(here / f"{name}.csv", ("id", "variant", "score", "error"), rows)
        run = python_api.import_results(path, results=here / "results", run_id=name)
        study = run.compare()
        (pair,) = study.pairs
        gate = python_api.power(pilot=run.path, effect=4.0).gate_rounds if lead else None
        needed = (study.settling.rounds, study.settling.winner_rounds, gate)
        return study.winner, *needed, pair.difference, pair.low, pair.high

    assert found("again", once * times) == pytest.approx(found("once", once))


def test_who_is_shown_to_score_worse_is_left_though_none_of_the_others_wins(here: Path) -> None:
    """Two candidates are alike, and both far better than what there is."""
    draws, rows, plain = random.Random(7), list[list[Any]](), list[list[Any]]()
    for unit in range(60):
        base = draws.gauss(60, 8)
        for model, gain in (("current", 0), ("one", 9), ("two", 9.3)):
            score = round(base + gain + draws.gauss(0, 4), 2)
            rows.append([unit, model, score, "ok"])
            plain.append([unit, model, round(score - gain, 2), "ok"])
    study = studied(here, "worse", ("item", "model", "score", "status"), rows)
    assert study.verdict.kind == "no_difference"
    assert "current is shown to score worse than one and two" in study.sentence
    assert study.advice.startswith("leave current, which scores worse than one and two. Of one and")
    equals = studied(here, "equals", ("item", "model", "score", "status"), plain)
    assert "is shown to score worse" not in equals.sentence
    assert equals.advice.startswith("keep what you have")
    failing = [
        [unit, model, "" if model != "current" and unit % 4 == 0 else score, how]
        for unit, model, score, _ in rows
        for how in ["error" if model != "current" and unit % 4 == 0 else "ok"]
    ]
    broken = studied(here, "broken", ("item", "model", "score", "status"), failing)
    assert "leave current" not in broken.advice, "who takes its place fails more often"


def test_what_was_asked_is_the_unit_where_a_usual_name_has_but_its_kind(
    here: Path, matrix: Matrix
) -> None:
    """``task`` is a usual name as well, and has four kinds of task here."""
    kinds = ["summarize", "translate", "classify", "extract"]
    rows = [
        [kinds[at // 2 % 4], f"text {row[0]}", *row[1:3]]  # the same text for both variants
        for at, row in enumerate(paired(6.0))
    ]
    write_csv(here / "r.csv", ("task", "input", "model", "score"), rows)
    said = told(matrix, "r.csv", "--run-id", "it")
    assert f"unit input ({len(rows) // 2})" in said
    assert "Verdict: b beats a" in said
    assert "left out task (what is of one is not shown to go together" in said


def test_a_column_with_one_value_hides_no_variant(here: Path, matrix: Matrix) -> None:
    rows = [[f"u{at}", "gpt-4o", row[1], row[2]] for at, row in enumerate(paired(8.0))]
    write_csv(here / "r.csv", ("user_id", "model", "group", "score"), rows)
    said = told(matrix, "r.csv", "--run-id", "it")
    assert "variant group (2)" in said
    assert "Verdict: b beats a" in said
    write_csv(here / "one.csv", ("user_id", "model", "score"), [[*r[:2], r[3]] for r in rows])
    assert "variant model (1)" in told(matrix, "one.csv", "--run-id", "one")


@pytest.mark.parametrize("threshold", ["score=.9", "failed=.1"])
def test_ten_copies_of_an_answer_pass_no_threshold_that_one_of_each_does_not(
    here: Path, matrix: Matrix, threshold: str
) -> None:
    told = {}
    for copies in (1, 10):
        rows = [
            [f"q{at}", epoch, model, int(model == "a" or at > 0), "no"]
            for at in range(20)
            for epoch in range(copies)
            for model in ("a", "b")
        ]
        write_csv(here / "r.csv", ("question", "epoch", "model", "correct", "failed"), rows)
        run = f"of-{copies}"
        assert matrix("import", "r.csv", "--run-id", run).code == 0
        gated = matrix("compare", run, "--threshold", threshold, "--json")
        (found,) = json.loads(gated.stdout)["gate"]["thresholds"]
        assert found["verdict"] == "not_enough_data"
        assert [one["n"] for one in found["variants"]] == [20, 20]
        told[copies] = found["variants"]
    for once, often in zip(told[1], told[10], strict=True):
        assert often["value"] == pytest.approx(once["value"])
        assert often["low"] <= once["low"] + 1e-9
        assert often["high"] >= once["high"] - 1e-9
    shown = matrix("compare", "of-10", "--threshold", threshold).stdout
    assert "over 20 units (200 sessions)" in shown
