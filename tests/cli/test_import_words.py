"""`matrix import`: what failed, in the words that files have for it; and of what less is better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import matrix as python_api
from matrix.model.metrics import less_is_better
from tests.cli.program import Matrix
from tests.cli.tables import paired, write_csv


def third_failed(fine: object, wrong: object, score: object = "") -> list[list[object]]:
    """The better variant fails in a third of its results; how each ended is in the last cell."""
    rows = [[*row[:3], fine] for row in paired(8.0)]
    for row in rows[1::6]:
        row[2:] = [score, wrong]
    return rows


def compared(matrix: Matrix, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(matrix("compare", "it", *args, "--json").stdout)
    return found


def failures(found: dict[str, Any]) -> dict[str, int | None]:
    return {row["level"]: row["failed"] for row in found["variants"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "fine", "wrong"),
    [
        ("failed", 0, 1),
        ("Is_Error", "False", "True"),
        ("error", "no", "yes"),
        ("ERRORED", "0.0", "1.0"),
        ("hasError", "false", "true"),
        ("crashed", "n", "Y"),
    ],
)
def test_a_column_of_yes_and_no_that_says_what_failed_is_believed(
    here: Path, matrix: Matrix, header: str, fine: object, wrong: object
) -> None:
    rows = third_failed(fine, wrong)
    write_csv(here / "r.csv", ("item", "variant", "score", header), rows)
    made = matrix("import", "r.csv", "--run-id", "it").stdout
    assert f"failures  {header}" in made
    assert "do not say what failed" not in made
    found = compared(matrix)
    assert failures(found) == {"a": 0, "b": 20}
    assert found["winner"] is None
    named = write_csv(here / "s.csv", ("item", "variant", "score", header), rows)
    run = python_api.import_results(named, status=header, results=here / "named")
    assert [row.failed for row in run.compare().rows] == [0, 20]


@pytest.mark.slow
def test_a_failure_with_a_score_of_nought_is_one_unless_that_is_all_that_scores_say(
    here: Path, matrix: Matrix
) -> None:
    write_csv(here / "r.csv", ("item", "variant", "score", "failed"), third_failed(0, 1, 0))
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    assert failures(compared(matrix)) == {"a": 0, "b": 20}
    rows = [[*row[:2], int(row[2] > 60), int(row[2] <= 60)] for row in paired(8.0)]  # type: ignore[operator]
    path = write_csv(here / "s.csv", ("item", "variant", "score", "failed"), rows)
    study = python_api.import_results(path, results=here / "wrong").compare()
    assert [row.failed for row in study.rows] == [None, None], "a wrong answer is no failure"
    assert all(0 < (row.mean or 0) < 1 for row in study.rows)


@pytest.mark.slow
def test_a_metric_is_called_what_compare_calls_it_and_failures_are_never_better(
    here: Path, matrix: Matrix
) -> None:
    rows = [
        [*row[:3], at % 7 + 3 * (row[1] == "b"), at % 5 + 3 * (row[1] == "b"), 1 + at % 3]
        for at, row in enumerate(paired(6.0))
    ]
    headers = ("item", "variant", "score", "failed", "calls", "turns")
    write_csv(here / "r.csv", headers, rows)
    made = matrix("import", "r.csv", "--run-id", "it").stdout
    assert "metrics  failed_in_file, calls_in_file, turns_in_file" in made
    assert "less is better: calls_in_file, failed_in_file, turns_in_file" in made
    for metric in ("failed_in_file", "calls_in_file"):
        assert compared(matrix, "--metric", metric)["winner"] == "a"


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        "rate_limited", "Rate limit", "content_filter", "refused", "api_error", "ERROR: 429",
        "server error", "503", "HTTP 429", "cancelled", "invalid", "RateLimitError",
        "max_tokens_exceeded", "context-length-exceeded", "Zeitueberschreitung", "Fehler",
        "Nicht bestanden", "time_out",
    ],
)  # fmt: skip
def test_words_for_failures_are_known(here: Path, matrix: Matrix, wrong: str) -> None:
    fine = "200" if wrong[:1].isdigit() else "ok"
    write_csv(here / "r.csv", ("item", "variant", "score", "status"), third_failed(fine, wrong))
    made = matrix("import", "r.csv", "--run-id", "it").stdout
    assert "is not known as a failure" not in made
    assert failures(compared(matrix)) == {"a": 0, "b": 20}


@pytest.mark.slow
def test_a_word_that_is_not_known_counts_as_no_failure_and_is_told(
    here: Path, matrix: Matrix
) -> None:
    rows = third_failed("success", "error")
    for row in rows[0:6:2]:
        row[3] = "foo"
    write_csv(here / "r.csv", ("item", "variant", "score", "status"), rows)
    told = "status: 'foo' (3 rows) is not known as a failure or as a success; counted as not failed"
    assert told in " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    run = python_api.open_run("it", results=here / "results")
    assert [one for one in run.compare().caveats if told in one]
    assert told in " ".join(matrix("compare", "it").stdout.split())
    assert failures(compared(matrix)) == {"a": 0, "b": 20}


@pytest.mark.slow
def test_a_word_that_is_not_known_and_all_there_is_of_a_result_leaves_failures_untold(
    here: Path, matrix: Matrix
) -> None:
    rows = third_failed("ok", "gone_fishing")
    write_csv(here / "r.csv", ("item", "variant", "score", "status"), rows)
    told = (
        "status: 'gone_fishing' (20 rows, 20 without a score) is not known as a failure or as a "
        "success; those may have failed, so of failures nothing is known here, and verdicts are on "
        "scores alone: say --failed gone_fishing if it is one."
    )
    assert told in " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    found = compared(matrix)
    assert failures(found) == {"a": None, "b": None}
    assert told in found["caveats"]
    for words in (("show", "it"), ("compare", "it"), ("report", "it", "--format", "md"),
                  ("report", "it", "--format", "github")):  # fmt: skip
        shown = " ".join(matrix(*words).stdout.replace("\\", "").split())
        assert told in shown, words
        assert "shown to fail" not in shown, words
    assert "20 without a score" in python_api.open_run("it", results=here / "results").report()
    suites = ET.fromstring(matrix("report", "it", "--format", "junit").stdout)
    skipped = {one.get("name"): int(one.get("skipped") or 0) for one in suites}
    assert skipped == {"caveats": 1, "all": 20}


@pytest.mark.slow
def test_words_for_failures_are_the_users_to_name(here: Path, matrix: Matrix) -> None:
    rows = third_failed("ok", "gone_fishing")
    write_csv(here / "r.csv", ("item", "variant", "score", "status"), rows)
    made = matrix("import", "r.csv", "--run-id", "it", "--failed", "Gone fishing")
    assert "not known as a failure" not in made.stdout
    assert failures(compared(matrix)) == {"a": 0, "b": 20}
    assert compared(matrix)["winner"] is None
    run = python_api.import_results(here / "r.csv", failed="gone_fishing", results=here / "named")
    assert [row.failed for row in run.compare().rows] == [0, 20]
    wrong = matrix("import", "r.csv", "--failed", "gone_fish")
    assert wrong.code == 2
    assert "--failed: found 'gone_fish'; words of the status are ok, gone_fishing; did you" in (
        wrong.stderr
    )
    write_csv(here / "s.csv", ("item", "variant", "score"), [row[:3] for row in rows])
    asked = matrix("import", "s.csv", "--failed", "gone_fishing")
    assert "no column of the usual names for a status; name it: --status COLUMN" in asked.stderr


@pytest.mark.slow
def test_a_result_without_a_score_of_which_another_column_says_that_it_is_no_failure_is_none(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row, 0] for row in third_failed("ok", "gone_fishing")]
    write_csv(here / "r.csv", ("item", "variant", "score", "status", "is_error"), rows)
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    assert failures(compared(matrix)) == {"a": 0, "b": 0}


def test_words_of_which_none_is_known_tell_no_failures(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], "NY" if at % 3 else "CA"] for at, row in enumerate(paired(8.0))]
    write_csv(here / "r.csv", ("item", "variant", "score", "state"), rows)
    made = " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    assert "as the files do not say what failed" in made
    assert "state: 'NY' (80 rows) is not known" in made


@pytest.mark.slow
@pytest.mark.parametrize("word", ["pending", "in progress", "not_run", "started"])
def test_what_is_not_there_yet_is_no_result_and_told(here: Path, matrix: Matrix, word: str) -> None:
    write_csv(here / "r.csv", ("item", "variant", "score", "status"), third_failed("ok", word))
    made = " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    assert f"20 rows are no result yet, and left out: '{word}' (20)." in made
    found = compared(matrix)
    assert failures(found) == {"a": 0, "b": 0}
    assert "40 complete units of 60" in found["rests_on"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    [
        "cost_eur", "Price (CHF)", "cost in cents", "meanLatencyMs", "duration_total",
        "run seconds", "tokens_used", "usd_per_item", "cost_of_it", "failed checks", "fail_count",
    ],
)  # fmt: skip
def test_less_money_time_and_failures_are_better_whatever_they_are_called(
    here: Path, matrix: Matrix, metric: str
) -> None:
    rows = [[*row[:3], at % 7 + 9 * (row[1] == "b"), at % 5] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", "model", "score", metric, "tokens_per_second"), rows)
    made = " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    assert f"less is better: {metric}; more is better: tokens_per_second" in made
    asked = " ".join(matrix("compare", "it", "--metric", metric).stdout.split())
    assert f"compared on {metric}, less is better (" in asked
    assert "Verdict: a beats b" in asked


@pytest.mark.parametrize(
    ("name", "less"),
    [
        *((name, True) for name in (
            "bugs", "mistakes", "wrong", "incorrect", "misses", "regret", "penalty", "harm",
            "unsafe", "risk", "complaints", "refusal_rate", "refusals", "fpr", "fnr", "bias",
            "defects", "rank", "toxicity", "violations", "hallucinations", "riskScore",
            "Gesamtkosten", "Preis", "Antwortzeit_s", "Halluzinationen", "Fehlerrate", "Latenz",
            "churn", "bounce_rate", "escalation_rate", "time_to_resolution", "coût", "durée",
            "temps_de_reponse", "Verstöße", "délai", "p95",
        )),
        *((name, False) for name in (
            "unbiased", "harmless", "risk_free", "no_errors", "reciprocal_rank", "helpful",
            "Genauigkeit", "Zeitersparnis", "Kosteneinsparung", "fehlerfrei",
            "Qualité", "p95_score",
        )),
    ],
)  # fmt: skip
def test_which_way_a_score_counts_is_said_and_known_by_whole_words(name: str, less: bool) -> None:
    assert less_is_better(name) is less


@pytest.mark.slow
def test_which_way_a_score_counts_is_said_with_what_turns_it(here: Path, matrix: Matrix) -> None:
    for name, way, turn, first in (
        ("bugs", "less", "--higher-is-better", "a"),
        ("helpful", "more", "--lower-is-better", "b"),
    ):
        write_csv(here / "r.csv", ("id", "model", name), [row[:3] for row in paired(8.0)])
        plain = matrix("import", "r.csv", "--score", name, "--run-id", name).stdout
        assert f"{name} ({way} is better; {turn} turns it)" in plain
        assert f"score (= {name}), {way} is better" in " ".join(plain.split())
        assert f"Verdict: {first} beats" in plain
        turned = matrix("import", "r.csv", "--score", name, "--run-id", f"{name}-2", turn).stdout
        other = {"less": "more", "more": "less"}[way]
        assert f"{name} ({other} is better)" in turned
        assert f"Verdict: {first} beats" not in turned
        asked = " ".join(matrix("compare", name, turn).stdout.split())
        assert f"That {other} is better is said here, and not in the run." in asked


@pytest.mark.parametrize(("name", "less"), [("Betrag", True), ("Umsatz", False), ("sales", False)])
def test_less_of_an_amount_is_better_unless_it_is_earned(
    here: Path, matrix: Matrix, name: str, less: bool
) -> None:
    rows = [[*row[:3], f"{5 + at % 7}.50 €"] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", "model", "score", name), rows)
    made = " ".join(matrix("import", "r.csv", "--run-id", "it").stdout.split())
    assert f"{'less' if less else 'more'} is better: {name}" in made
