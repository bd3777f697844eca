"""Imported scores that are words: what they are worth, and what is asked about them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Matrix
from tests.cli.tables import write_csv

HEADERS = ("id", "variant", "score")


def better(broken: str, *, units: int = 60) -> list[list[Any]]:
    """``new`` is better by four points in each unit, and has a word in place of some scores."""
    draws, rows = random.Random(3), list[list[Any]]()
    for at in range(units):
        base = draws.gauss(60, 10)
        rows += [[f"q{at}", "old", round(base, 1)]]
        rows += [[f"q{at}", "new", broken if at % 6 == 0 else round(base + draws.gauss(4, 2), 1)]]
    return rows


@pytest.mark.parametrize("word", ["ERROR", "errored", "Timeout", "exception", "Fehler"])
def test_a_word_for_a_failure_is_no_score_and_what_it_is_the_user_says(
    here: Path, matrix: Matrix, word: str
) -> None:
    write_csv(here / "r.csv", HEADERS, better(word))
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    assert not (here / "results").exists()
    told = " ".join(asked.stderr.split())
    assert f"score: found {word!r} in 10 rows: lines 3, 15, 27 ..." in told
    assert f"say --failed {word} where the variant failed" in told
    made = matrix("import", "r.csv", "--failed", word.lower())
    assert made.code == 0, made
    told = " ".join(made.stdout.split())
    assert f"10 scores are {word!r}: a failure without a score each" in told
    assert "new scores better than old" in told
    assert "failed: 10 of 60 sessions, against 0 of 60" in told


@pytest.mark.parametrize("words", [("PASS", "FAIL"), ("correct", "incorrect"), ("1", "0")])
def test_an_error_beside_right_and_wrong_is_neither(
    here: Path, matrix: Matrix, words: tuple[str, str]
) -> None:
    right, wrong = words
    rows = [[f"q{at}", side, (right, wrong, "ERROR")[at % 3]] for at in range(30) for side in "ab"]
    write_csv(here / "r.csv", HEADERS, rows)
    assert "found 'ERROR' in 20 rows" in " ".join(matrix("import", "r.csv").stderr.split())
    made = matrix("import", "r.csv", "--failed", "ERROR", "--run-id", "it").stdout
    assert "0.500" in made
    assert "20/30" in made


@pytest.mark.parametrize("word", ["FAIL", "pass", "false", "ok"])
def test_a_word_for_right_or_wrong_is_no_number_among_others(
    here: Path, matrix: Matrix, word: str
) -> None:
    write_csv(here / "r.csv", HEADERS, better(word))
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = f"score: has words such as {word!r} beside numbers other than 0 and 1; write numbers"
    assert told in " ".join(asked.stderr.split())
    lines = [dict(zip(HEADERS, row, strict=True)) for row in better(word)]
    for line in lines:
        line["score"] = False if line["score"] == word else line["score"]
    (here / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = matrix("import", "r.jsonl")
    assert "has words such as 'False' beside numbers" in " ".join(asked.stderr.split())


def test_why_a_column_of_numbers_is_no_metric_is_said(here: Path, matrix: Matrix) -> None:
    rows = [
        [
            f"q{at}",
            side,
            at % 2,
            "failed" if at % 9 == 0 else 1 + at % 5,
            "timeout" * (at == 7) or at,
        ]
        for at in range(30)
        for side in "ab"
    ]
    write_csv(here / "r.csv", (*HEADERS, "tone", "latency_ms"), rows)
    told = " ".join(matrix("import", "r.csv").stdout.split())
    assert "tone (has words such as 'failed' beside other numbers than 0 and 1)" in told
    assert "latency_ms (2 cells are no numbers, such as 'timeout')" in told


def test_names_of_scores_are_no_repeats_of_several_files_either(here: Path, matrix: Matrix) -> None:
    for name, lead in (("before", 0.0), ("after", 0.1)):
        rows = [
            [f"q{at}", metric, 0.5 + (at % 7) / 20 + (lead if metric == "acc" else -lead)]
            for at in range(20)
            for metric in ("acc", "hallucination")
        ]
        write_csv(here / f"{name}.csv", ("question", "metric", "score"), rows)
    asked = matrix("import", "before.csv", "after.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "metric tells these rows apart, and what was measured: keep the rows of one" in told


def test_rows_that_only_their_files_tell_apart_are_said_to_be_so(
    here: Path, matrix: Matrix
) -> None:
    draws = random.Random(2)
    for name in ("monday", "tuesday"):
        rows = [[f"q{at}", side, draws.random()] for at in range(20) for side in "ab"]
        write_csv(here / f"{name}.csv", ("question", "model", "score"), rows)
    made = matrix("import", "monday.csv", "tuesday.csv", "--variant", "model")
    told = " ".join(made.stdout.split())
    assert "20 of 20 units have several rows for a variant (up to 2), and only their files" in told


def test_further_tries_are_no_repeats(here: Path, matrix: Matrix) -> None:
    rows = list[list[Any]]()
    for at in range(30):
        for side in "ab":
            rows += [[f"q{at}", side, "", "error"]] * (at % 7 == 0)
            rows += [[f"q{at}", side, at % 4, "ok"]]
    write_csv(here / "r.csv", (*HEADERS, "status"), rows)
    asked = matrix("import", "r.csv")
    assert asked.code == 2
    told = " ".join(asked.stderr.split())
    assert "status tells these rows apart, and how they ended: where later rows are further" in told
    assert "--repeat status" not in told


@pytest.mark.parametrize("word", ["ok", "success", "completed", "finished"])
def test_a_status_of_which_all_went_well_tells_of_failures(
    here: Path, matrix: Matrix, word: str
) -> None:
    rows = [[*row, word] for row in better("50")]
    write_csv(here / "r.csv", (*HEADERS, "status"), rows)
    told = " ".join(matrix("import", "r.csv").stdout.split())
    assert "status status, of results without a score" in told
    assert "the files do not say what failed" not in told


@pytest.mark.parametrize("nothing", ["[]", "{}", "nan", "None", ""])
def test_an_empty_list_of_errors_is_none(here: Path, matrix: Matrix, nothing: str) -> None:
    rows = [[*row, "oom" if at == 5 else nothing] for at, row in enumerate(better("50"))]
    write_csv(here / "r.csv", (*HEADERS, "error"), rows)
    told = " ".join(matrix("import", "r.csv").stdout.split())
    assert "1 of 120 rows say that something went wrong" in told or "1 failed that have" in told


@pytest.mark.parametrize(
    ("header", "words"), [("failed", ("False", "True")), ("status", ("passed", "failed"))]
)
def test_failures_of_some_wrong_answers_are_more_than_their_score(
    here: Path, matrix: Matrix, header: str, words: tuple[str, str]
) -> None:
    rows = [
        [f"q{at}", side, int(at % 3 > 0), words[side == "b" and at % 6 == 0]]
        for at in range(60)
        for side in "ab"
    ]
    write_csv(here / "r.csv", (*HEADERS, header), rows)
    told = " ".join(matrix("import", "r.csv").stdout.split())
    assert "10 failed that have a score, which does not count" in told
    assert "the files do not say what failed" not in told
    same = [[*row[:3], words[row[2] == 0]] for row in rows]
    write_csv(here / "s.csv", (*HEADERS, header), same)
    assert "failed that have a score" not in " ".join(matrix("import", "s.csv").stdout.split())


@pytest.mark.parametrize("label", ["Total score", "Summe Punkte", "Average (n=20)", "mean score"])
def test_a_row_that_sums_up_the_others_is_no_unit_whatever_it_says_of_itself(
    here: Path, matrix: Matrix, label: str
) -> None:
    rows = [[f"q{at}", model, at % 7] for at in range(20) for model in ("a", "b")]
    write_csv(here / "r.csv", ("question", "model", "score"), [*rows, [label, "a", 60]])
    refused = matrix("import", "r.csv")
    assert (refused.code, "which sums up other rows" in refused.stderr) == (2, True)
    own = [["Total recall of Philip", model, 3] for model in ("a", "b")]
    write_csv(here / "r.csv", ("question", "model", "score"), [*rows, *own])
    assert matrix("import", "r.csv").code == 0


def test_german_grades_are_asked_about_as_the_best_is_one(here: Path, matrix: Matrix) -> None:
    rows = [[at, name, at % 6 + 1] for at in range(30) for name in ("alt", "neu")]
    write_csv(here / "r.csv", ("aufgabe", "variante", "note"), rows)
    asked = matrix("import", "r.csv")
    assert (asked.code, asked.stdout) == (2, "")
    assert "say --lower-is-better or --higher-is-better" in asked.stderr
    assert "note (less is better)" in matrix("import", "r.csv", "--lower-is-better").stdout
    french = [[at, name, at % 20] for at in range(30) for name in ("alt", "neu")]
    write_csv(here / "f.csv", ("id", "variante", "note"), french)
    assert "note (more is better" in matrix("import", "f.csv").stdout


def test_metrics_are_no_variants_of_a_wide_table(here: Path, matrix: Matrix) -> None:
    for more, name in enumerate(("v1", "v2")):
        rows = [[at, (at + more) % 7 / 7, at % 5 / 5] for at in range(30)]
        write_csv(here / f"{name}.csv", ("question", "faithfulness", "relevance"), rows)
    asked = matrix("import", "v1.csv", "v2.csv").stderr
    assert "name it: --score COLUMN, perhaps faithfulness, relevance, of" in asked
    assert "pandas" not in asked
