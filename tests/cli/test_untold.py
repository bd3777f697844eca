"""What no file tells of imported results is nowhere shown as 0, and decides nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import matrix as python_api
from matrix.model.errors import BadInput
from tests.cli.program import Matrix

UNITS = 80
GATED = ("--margin", ".05", "--fail-on", "regression")


def table(path: Path, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([headers, *rows])


def share(unit: int) -> float:
    """A score from 0 to 1."""
    return round(0.4 + (unit * 37 % 41) / 100, 3)


@pytest.fixture
def two_runs(here: Path, matrix: Matrix) -> None:
    """``base`` tells nothing of failures, ``told`` has a status: five failed; scores are alike."""
    names = [f"q{unit:03}" for unit in range(UNITS)]
    plain = [[name, share(at), "m"] for at, name in enumerate(names)]
    told = [[*row, "error" if at % 16 == 3 else "ok"] for at, row in enumerate(plain)]
    table(here / "base.csv", ("id", "score", "model"), plain)
    table(here / "told.csv", ("id", "score", "model", "status"), told)
    for name in ("base", "told"):
        assert matrix("import", f"{name}.csv", "--run-id", name).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("run", "baseline"), [("told", "base"), ("base", "told")])
def test_failures_that_one_of_two_runs_does_not_tell_are_no_part_of_a_gate(
    two_runs: None, matrix: Matrix, run: str, baseline: str
) -> None:
    gated = ("--baseline", baseline, *GATED)
    found = matrix("compare", run, *gated)
    assert found.code == 0
    (line,) = (line for line in found.stdout.splitlines() if line.startswith("gate "))
    assert line.startswith(f"gate passed: {run} is not worse than {baseline} by the margin")
    assert "failures: not told by base;" in line
    assert "failed:" not in line
    assert "failure_margin" not in line
    gate = json.loads(matrix("compare", run, *gated, "--json").stdout)["gate"]["baseline"]
    assert gate["verdict"] == gate["scores"] == "pass"
    seen = {"verdict": None, "not_told_by": ["base"], "baseline": None, "run": None, "margin": None}
    assert seen.items() <= gate["failures"].items()


def test_a_gate_on_failures_alone_is_refused_where_they_are_not_told(
    two_runs: None, here: Path
) -> None:
    with pytest.raises(BadInput, match="'failed', of which the imported files tell no"):
        python_api.open_run("told", results=here / "results").gate("base", metric="failed")


@pytest.mark.slow
def test_failures_that_are_told_by_both_still_fail_a_gate(
    two_runs: None, here: Path, matrix: Matrix
) -> None:
    rows = [[f"q{unit:03}", share(unit), "m", "ok"] for unit in range(UNITS)]
    table(here / "fine.csv", ("id", "score", "model", "status"), rows)
    worse = [[*row[:3], "error" if at % 4 else "ok"] for at, row in enumerate(rows)]
    table(here / "worse.csv", ("id", "score", "model", "status"), worse)
    for name in ("fine", "worse"):
        assert matrix("import", f"{name}.csv", "--run-id", name).code == 0
    found = matrix("compare", "worse", "--baseline", "told", *GATED)
    assert "which is shown to be more often" in found.stdout
    assert found.code == 3


@pytest.mark.slow
def test_who_does_not_tell_failures_has_no_count_of_them_beside_who_does(
    two_runs: None, matrix: Matrix
) -> None:
    shown = matrix("compare", "base", "told").stdout
    cells = {line.split()[0]: line.split() for line in shown.splitlines() if "/80" in line}
    assert cells["base"][-4:] == ["-", "0/80", "0/80", "-"]
    assert cells["told"][-4:] == ["5/80", "0/80", "0/80", "-"]
    assert "on scores alone, as the files of base do not say what failed" in " ".join(shown.split())
    assert "failure_margin" not in shown
    found = json.loads(matrix("compare", "base", "told", "--json").stdout)
    assert [row["failed"] for row in found["variants"]] == [None, 5]


@pytest.fixture
def models(here: Path, matrix: Matrix) -> Path:
    """Two models on named units with texts, and nothing else: scores are shares."""
    rows = [
        [f"q{unit:03}", model, round(share(unit) + more - (unit % 7) / 90, 3), f"said {unit}"]
        for unit in range(40)
        for model, more in (("terse", 0.0), ("long", 0.09 + unit % 3 / 50))
    ]
    table(here / "m.csv", ("id", "model", "score", "answer"), rows)
    assert matrix("import", "m.csv", "--run-id", "it").code == 0
    return here


UNTOLD = ("cost_usd", "duration_s", "tokens_in", "tokens_out", "calls", "turns", "failed")


@pytest.mark.slow
def test_what_is_not_told_is_in_no_average_no_rank_and_no_list(
    models: Path, matrix: Matrix
) -> None:
    shown = matrix("show", "it", "--by", "all").stdout
    assert not {line.split()[0] for line in shown.splitlines() if line} & set(UNTOLD)
    assert "0.0000" not in shown
    found = json.loads(matrix("show", "it", "--by", "all", "--json").stdout)
    assert set(found["by"]["model"]["long"]["metrics"]) == {"score"}
    assert [(one["failed"], one["usd"]) for one in found["ranking"]] == [(None, None)] * 2
    listed = matrix("list").stdout
    assert "$" not in listed
    summary = json.loads(matrix("show", "it", "--json").stdout)
    used = ("spent_usd", "calls", "turns", "tokens_in", "tokens_out")
    assert [summary[name] for name in used] == [None] * 5


def test_what_is_not_told_is_missing_in_python_and_empty_in_a_csv(
    models: Path, matrix: Matrix
) -> None:
    sessions = python_api.open_run("it", results=models / "results").sessions()
    for name in (*UNTOLD[:-1], "cost_nano"):
        assert sessions[name].isna().all(), name
    assert sessions["score"].notna().all()
    rows = list(csv.DictReader(io.StringIO(matrix("report", "it", "--format", "csv").stdout)))
    assert {row[name] for row in rows for name in UNTOLD[:-1] if name in row} == {""}
    assert {row["unit"] for row in rows} == {f"q{unit:03}" for unit in range(40)}


@pytest.mark.slow
def test_what_nobody_knew_is_not_known_either_after_an_export_and_an_import(
    models: Path, matrix: Matrix
) -> None:
    assert matrix("export", "it", "--to", "csv", "-o", "out.csv").code == 0
    with (models / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert not set(rows[0]) & set(UNTOLD)
    assert {row["unit"] for row in rows} == {f"q{unit:03}" for unit in range(40)}
    assert matrix("import", "out.csv", "--run-id", "back").code == 0
    first, again = (matrix("show", run, "--by", "all").stdout for run in ("it", "back"))
    without = [line.split()[1:] for line in first.splitlines()]  # session ids may be others
    assert [line.split()[1:] for line in again.splitlines()] == without
    one, two = (json.loads(matrix("compare", run, "--json").stdout) for run in ("it", "back"))
    for name in ("sentence", "variants", "differences"):
        assert one[name] == two[name]
    told = matrix("compare", "it", "back").stdout
    assert "40 complete units of 40" in told
    assert "failed" in matrix("compare", "back", "--metric", "failed").stderr


@pytest.mark.slow
def test_units_are_called_as_their_file_calls_them(models: Path, matrix: Matrix) -> None:
    github = matrix("report", "it", "--format", "github").stdout
    assert "- worst: q0" in github
    assert "turn 1" not in github
    junit = matrix("report", "it", "--format", "junit").stdout
    cases = {one.get("name") for one in ET.fromstring(junit).iter("testcase")}
    assert {f"{model}, q{unit:03}" for model in ("terse", "long") for unit in range(40)} == cases
    ranked = json.loads(matrix("show", "it", "--by", "all", "--json").stdout)["worst"]
    assert ranked[0]["unit"] in matrix("show", "it", "--by", "all").stdout


@pytest.mark.slow
def test_a_session_of_an_import_shows_what_there_is_of_it(models: Path, matrix: Matrix) -> None:
    ranked = json.loads(matrix("show", "it", "--by", "all", "--json").stdout)["worst"][0]
    text = matrix("show", "it", "worst").stdout
    unit = ranked["unit"]
    for told in (f"unit      {unit}", f"score     {ranked['score']:.3f}", f"said {int(unit[1:])}"):
        assert told in text
    assert "outcome" not in text
    found = json.loads(matrix("show", "it", "worst", "--json").stdout)
    assert (found["unit"], found["scores"]) == (unit, {"score": ranked["score"]})
    assert found["said"][-1]["text"] == f"said {int(unit[1:])}"


def test_a_score_has_the_decimals_of_its_comparison_wherever_it_is_shown(
    models: Path, matrix: Matrix
) -> None:
    rows = json.loads(matrix("compare", "it", "--json").stdout)["variants"]
    grouped = matrix("show", "it", "--by", "model").stdout
    for row in rows:
        assert f"{row['mean']:.3f}" in grouped


@pytest.mark.slow
def test_what_sessions_of_small_models_cost_is_not_0(here: Path, matrix: Matrix) -> None:
    rows = [
        [f"q{unit}", model, share(unit) + more, 0.0000123 * (1 + unit % 2)]
        for unit in range(20)
        for model, more in (("a", 0.0), ("b", unit % 3 / 100))
    ]
    table(here / "r.csv", ("id", "model", "score", "cost_usd"), rows)
    assert matrix("import", "r.csv", "--run-id", "it").code == 0
    for words in (("show", "it"), ("compare", "it"), ("show", "it", "--by", "model")):
        shown = matrix(*words).stdout
        assert "0.000018" in shown, words
        assert "0.0000 " not in shown, words


def test_a_threshold_on_money_is_no_percentage(here: Path, matrix: Matrix) -> None:
    rows = [[f"q{unit}", "ab"[unit % 2], share(unit), unit % 4 // 3] for unit in range(40)]
    table(here / "r.csv", ("id", "model", "score", "cost_usd"), rows)
    assert matrix("import", "r.csv", "--run-id", "it", "--unit", "none").code == 0
    told = matrix("compare", "it", "--threshold", "cost_usd=.1").stdout
    assert "cost_usd at most 0.1:" in told
    assert "cost_usd at most 0.1 %" not in told


@pytest.mark.slow
def test_a_lead_in_shares_is_in_no_points_and_one_on_a_scale_is(
    models: Path, matrix: Matrix
) -> None:
    sentence = json.loads(matrix("compare", "it", "--json").stdout)["sentence"]
    assert sentence.startswith("long beats terse by 0.1")
    assert "points" not in sentence
    rows = list(csv.reader((models / "m.csv").open()))
    wide = [[*row[:2], 100 * float(row[2])] for row in rows[1:]]
    table(models / "wide.csv", rows[0][:3], wide)
    assert matrix("import", "wide.csv", "--run-id", "wide").code == 0
    told = json.loads(matrix("compare", "wide", "--json").stdout)["sentence"]
    assert " points (95 % interval" in told


@pytest.mark.slow
def test_what_is_said_of_an_import_is_said_of_units_and_not_of_rounds_or_specs(
    models: Path, matrix: Matrix
) -> None:
    for words in (("compare", "it", "--margin", ".02"), ("power", "--from", "it", "--effect", ".1"),
                  ("report", "it", "--format", "md"), ("show", "it")):  # fmt: skip
        shown = matrix(*words)
        assert shown.code == 0, shown.stderr
        for word in ("round", "judge_repeats", "compare.margin", "failure_margin", "points more"):
            assert word not in shown.stdout, (words, word)
    noise = matrix("compare", "it").stdout.partition("Where the noise")[2]
    assert "60" not in noise
    assert "(40 whole units)" in noise
    assert "scenario" not in noise
    refused = matrix("compare", "it", "--baseline", "it").stderr
    assert "say how much worse it may be, as --margin\n" in refused


@pytest.mark.slow
def test_the_one_variant_of_an_import_has_its_name(two_runs: None, matrix: Matrix) -> None:
    shown = matrix("show", "base").stdout
    (row,) = (line for line in shown.splitlines() if "80/80" in line)
    assert row.split()[0] == "m"


def test_the_other_factor_of_an_import_is_no_scenario_in_its_noise(
    here: Path, matrix: Matrix
) -> None:
    rows = [
        [f"q{unit}", model, prompt, round(share(unit) + more + (unit * 7 % 5) / 50, 3)]
        for unit in range(30)
        for model, more in (("a", 0.0), ("b", 0.1 + unit % 4 / 90))
        for prompt in ("short", "wordy")
    ]
    table(here / "r.csv", ("id", "model", "prompt", "score"), rows)
    flags = ("--variant", "model", "--variant", "prompt", "--run-id", "it")
    assert matrix("import", "r.csv", *flags).code == 0
    noise = matrix("compare", "it").stdout.partition("Where the noise")[2]
    assert "prompt x model" in noise or "prompt (some are harder)" in noise
    assert "scenario" not in noise


@pytest.mark.slow
def test_the_page_of_an_import_has_nothing_that_nobody_knows(models: Path) -> None:
    text = python_api.open_run("it", results=models / "results").report()
    for word in ("0.0000", "$0.00", "1 turn", "duration_s</", "tokens_in</", "round 3"):
        assert word not in text, word
    assert "q017" in text
