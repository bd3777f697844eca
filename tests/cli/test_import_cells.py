"""`matrix import`: cells, headers and files as people write them; and what the README says."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import matrix as python_api
from matrix.store.foreign.tabular import names
from tests.cli.program import CHECKOUT, Matrix
from tests.cli.tables import HEADERS, paired, write_csv


def told(matrix: Matrix, *args: str) -> str:
    done = matrix("import", *args)
    return " ".join((done.stdout + done.stderr).split())


def test_one_cause_in_a_column_is_told_once_with_its_first_lines(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row[:2], "Z" if at % 3 else "x"] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", "model", "score"), rows)
    done = matrix("import", "r.csv")
    assert done.code == 2
    assert done.stderr.count("\n") == 1
    assert (
        "r.csv:2: score: found 'x', 'Z' in 120 rows: lines 2, 3, 4 ..., which is no number; "
        "known words: true, yes"
    ) in done.stderr


@pytest.mark.parametrize(("yes", "no"), [("Y", "N"), ("y", "n"), ("✓", "✗")])
def test_yes_and_no_are_numbers_in_scores_and_metrics(here: Path, yes: str, no: str) -> None:
    rows = [
        [*row[:2], yes if row[2] > 60 else no, no if at % 5 else yes, "red"]  # type: ignore[operator]
        for at, row in enumerate(paired(6.0))
    ]
    path = write_csv(here / "r.csv", ("id", "model", "score", "cited", "colour"), rows)
    run = python_api.import_results(path, results=here / "results")
    right = sum(row[2] == yes for row in rows)
    assert run.sessions().score.sum() == right
    assert run.frame("scores").query("name == 'cited'").value.sum() == 24
    assert "colour" not in set(run.frame("scores").name)


@pytest.mark.parametrize("cell", ["$0.01", "0.01 USD", "US$ 0.01"])
def test_dollars_are_dollars_however_they_are_written(here: Path, cell: str) -> None:
    rows = [[*row[:3], cell] for row in paired(6.0)]
    path = write_csv(here / "r.csv", ("id", "model", "score", "cost"), rows)
    run = python_api.import_results(path, results=here / "results")
    assert run.sessions().cost_usd.sum() == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("header", "cell"), [("cost", "€{}"), ("cost", "{} EUR"), ("price_eur", "{}"), ("usd", "£ {}")]
)
def test_another_currency_never_becomes_dollars(
    here: Path, matrix: Matrix, header: str, cell: str
) -> None:
    rows = [
        [*row[:3], cell.format(0.01 * (1 + at % 7) + 0.05 * (row[1] == "b"))]
        for at, row in enumerate(paired(6.0))
    ]
    write_csv(here / "r.csv", ("id", "model", "score", header), rows)
    made = told(matrix, "r.csv", "--run-id", "it")
    assert f"note: {header} is in {'GBP' if '£' in cell else 'EUR'}: it is a metric" in made
    assert f"less is better: {header}" in made
    run = python_api.open_run("it", results=here / "results")
    assert run.sessions().cost_usd.sum() == 0
    found = json.loads(matrix("compare", "it", "--metric", header, "--json").stdout)
    assert found["winner"] == "a"


def test_two_currencies_in_one_column_are_no_cost(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], "$1" if at % 2 else "€1"] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", "model", "score", "cost"), rows)
    asked = told(matrix, "r.csv")
    assert "cost: has amounts in EUR and USD; write all of them in one currency" in asked


def test_a_workbook_is_told_as_one(here: Path, matrix: Matrix) -> None:
    with zipfile.ZipFile(here / "r.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<a/>")
        archive.writestr("xl/workbook.xml", "<a/>")
    assert told(matrix, "r.xlsx") == "r.xlsx: is an Excel workbook; save the sheet as CSV"


def test_a_first_line_may_say_what_is_between_cells(here: Path, matrix: Matrix) -> None:
    lines = [";".join(map(str, row)) for row in (HEADERS, *paired(6.0))]
    (here / "r.csv").write_text("\n".join(["sep=;", *lines]))
    assert "Verdict: b beats a" in told(matrix, "r.csv")
    (here / "s.csv").write_text("\n".join(["sep=;", *lines[:3], "q;a;no;1;1"]).replace("no", "so"))
    assert "s.csv:5: score: found 'so'" in told(matrix, "s.csv")


def test_two_columns_of_one_name_stop_only_what_would_read_them(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], 1, at % 3] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", "model", "score", "note", "note"), rows)
    made = told(matrix, "r.csv")
    assert "Verdict: b beats a" in made
    assert "note (two columns are called so), note (two columns are called so)" in made
    write_csv(here / "s.csv", ("id", "model", "score", "score", "note"), rows)
    assert "has two columns called 'score'" in told(matrix, "s.csv")


def test_a_wide_table_is_told_how_it_is_made_long(
    here: Path, matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[f"q{at}", "x", at % 7, at % 7 + 1 + at % 3] for at in range(30)]
    write_csv(here / "r.csv", ("id", "topic", "gpt", "claude"), rows)
    asked = told(matrix, "r.csv")
    [code] = re.findall(r"made long first: `(.*?)`", asked)
    assert "value_vars=['gpt', 'claude']" in code
    monkeypatch.chdir(here)
    exec(code)
    assert len(pd.read_csv(here / "long.csv")) == 60
    assert "Verdict: claude beats gpt" in told(matrix, "long.csv")


@pytest.mark.parametrize("status", ["started", "error", "cancelled"])
def test_a_log_of_inspect_that_came_to_no_end_is_told(here: Path, status: str) -> None:
    for name, how in (("a", "success"), ("b", status)):
        samples = [
            {"id": at, "epoch": 1, "scores": {"match": {"value": at % 3 + at % 2}}}
            for at in range(20)
        ]
        log = {"status": how, "eval": {"task": "t", "model": name}, "samples": samples}
        (here / f"{name}.json").write_text(json.dumps(log))
    run = python_api.import_results([here / "a.json", here / "b.json"], results=here / "results")
    [said] = [one for one in run.compare().caveats if "came to its end" in one]
    assert said.startswith(f"The log 'b' says '{status}' of itself")


def test_the_readme_tells_the_usual_names_and_words() -> None:
    text = (CHECKOUT / "README.md").read_text()
    [paragraph] = [one for one in text.split("\n\n") if one.startswith("Usual names, in any case")]
    known = set(re.findall(r"`([^`]+)`", paragraph.replace("\n", " ")))
    tables = (
        names.UNIT, names.VARIANT, names.SCORE, names.COST, names.SCENARIO, names.REPEAT,
        names.FLAG, names.ERROR, names.STATUS, names.YES, names.NO, names.BROKE,
        names.FELL_SHORT, names.ENDED_WELL, names.NO_RESULT,
    )  # fmt: skip
    assert known == {word for table in tables for word in table}
