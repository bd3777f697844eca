"""`matrix import`: cells, headers and files as people write them; and what the docs say of it."""

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_two_columns_of_one_name_stop_only_what_would_read_them(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], 1, at % 3] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", "model", "score", "note", "note"), rows)
    made = told(matrix, "r.csv")
    assert "Verdict: b beats a" in made
    assert "note (two columns are called so), note (two columns are called so)" in made
    write_csv(here / "s.csv", ("id", "model", "score", "score", "note"), rows)
    assert "has two columns called 'score'" in told(matrix, "s.csv")


@pytest.mark.slow
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


@pytest.mark.slow
def test_how_a_table_is_made_long_says_how_it_is_read_and_what_to_keep(
    here: Path, matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"q{at};{at % 7},5;{at % 7 + 1 + at % 3},5;{at % 4}" for at in range(30)]
    (here / "r.csv").write_text("\n".join(["id;gpt;claude;n_words", *lines]))
    asked = told(matrix, "r.csv")
    assert "keep the columns of variants alone in value_vars" in asked
    [code] = re.findall(r"made long first: `(.*?)`", asked)
    assert "value_vars=['gpt', 'claude', 'n_words']" in code
    monkeypatch.chdir(here)
    exec(code.replace(", 'n_words']", "]"))
    assert "Verdict: claude beats gpt" in told(matrix, "long.csv")


@pytest.mark.slow
def test_a_long_table_without_a_variant_is_asked_for_it_and_not_made_longer(
    here: Path, matrix: Matrix
) -> None:
    rows = [[row[0], ".2" if row[1] == "a" else ".7", row[2]] for row in paired(6.0)]
    write_csv(here / "r.csv", ("id", "temperature", "score"), rows)
    asked = told(matrix, "r.csv")
    assert "name it: --variant COLUMN, perhaps temperature, of id, temperature, score" in asked
    assert "made long" not in asked
    assert "Verdict: .7 beats .2" in told(matrix, "r.csv", "--variant", "temperature")


@pytest.mark.slow
def test_a_currency_in_a_column_beside_is_that_of_the_cost(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], 0.3 + at % 3, "EUR"] for at, row in enumerate(paired(6.0))]
    headers = ("id", "model", "score", "cost", "currency")
    write_csv(here / "r.csv", headers, rows)
    assert "note: cost is in EUR: it is a metric" in told(matrix, "r.csv", "--run-id", "it")
    assert "$" not in matrix("list").stdout
    write_csv(here / "s.csv", headers, [[*row[:4], "usd"] for row in rows])
    assert "cost cost, in US dollars" in told(matrix, "s.csv")
    rows[0][-1] = "GBP"
    write_csv(here / "t.csv", headers, rows)
    assert "cost: has amounts in EUR and GBP" in told(matrix, "t.csv")


@pytest.mark.slow
def test_a_price_of_a_variant_is_no_cost_of_its_rows(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], 3 if row[1] == "a" else 15] for row in paired(6.0)]
    write_csv(here / "r.csv", ("id", "model", "score", "price"), rows)
    made = told(matrix, "r.csv")
    assert "price (the same in every row of a variant, as prices of so many tokens are" in made
    assert "15.0000" not in made
    assert "15.0000" in told(matrix, "r.csv", "--cost", "price")


@pytest.mark.slow
def test_results_that_cost_nothing_are_told_so(here: Path, matrix: Matrix) -> None:
    rows = [[*row[:3], 0] for row in paired(6.0)]
    path = write_csv(here / "r.csv", ("id", "model", "score", "cost"), rows)
    run = python_api.import_results(path, results=here / "results", run_id="it")
    assert run.sessions().cost_usd.tolist() == [0.0] * 120
    assert [row.cost_per_completed_usd for row in run.compare().rows] == [0.0, 0.0]
    assert "$0.00 elsewhere, as the files say" in matrix("show", "it").stdout
    assert json.loads(matrix("show", "it", "--json").stdout)["spent_usd"] == 0
    assert "$0.00" in matrix("list").stdout


@pytest.mark.parametrize("between", [";", "\t"])
def test_decimal_commas_are_read_where_no_comma_is_between_cells(
    here: Path, matrix: Matrix, between: str
) -> None:
    rows = [[*row[:3], f"{0.002 * (1 + at % 3):.4f} $"] for at, row in enumerate(paired(6.0))]
    lines = [between.join(map(str, row)).replace(".", ",") for row in rows]
    head = between.join(("id", "model", "score", "cost"))
    (here / "r.csv").write_text("\n".join([head, *lines]))
    made = told(matrix, "r.csv", "--run-id", "it")
    assert "numbers have a decimal comma in score, cost, 0,5 for 0.5" in made
    found = python_api.open_run("it", results=here / "results").sessions()
    assert found.score.sum() == pytest.approx(sum(float(str(row[2])) for row in rows))
    assert found.cost_usd.sum() == pytest.approx(0.48)


@pytest.mark.parametrize(
    ("scores", "told_of"),
    [
        (("1,250", "2,500"), "found '1,250', '2,500' in 20 rows"),
        (("1.250,5", "2,5"), "which is no number; write it as in 1096.5, a point before"),
        (("1,5", "2.5"), "which is no number; write it as in 1096.5"),
    ],
)
def test_commas_that_may_mean_several_things_are_refused(
    here: Path, matrix: Matrix, scores: tuple[str, str], told_of: str
) -> None:
    lines = [f"q{at};{'ab'[way]};{scores[way]}" for at in range(10) for way in (0, 1)]
    (here / "r.csv").write_text("\n".join(["id;model;score", *lines]))
    assert told_of in told(matrix, "r.csv")


def test_points_that_may_be_between_thousands_are_refused(here: Path, matrix: Matrix) -> None:
    lines = [f"q{at};{one};0,{at}5;1.0{at}0" for at in range(10) for one in "ab"]
    (here / "r.csv").write_text("\n".join(["id;model;score;latency_ms", *lines]))
    asked = told(matrix, "r.csv")
    assert "latency_ms: found '1.000' in a file whose numbers have decimal commas" in asked


@pytest.mark.parametrize(
    ("yes", "no"), [("WAHR", "FALSCH"), ("ja", "nein"), ("oui", "non"), ("si", "no"),
                    ("vrai", "faux")],
)  # fmt: skip
def test_yes_and_no_of_other_languages_are_numbers_in_scores(here: Path, yes: str, no: str) -> None:
    rows = [[*row[:2], yes if row[2] > 60 else no] for row in paired(6.0)]  # type: ignore[operator]
    path = write_csv(here / "r.csv", ("id", "model", "passed"), rows)
    run = python_api.import_results(path, results=here / "results")
    assert run.sessions().score.sum() == sum(row[2] == yes for row in rows)


@pytest.mark.slow
def test_a_column_that_is_called_as_scores_are_is_told_with_its_words(
    here: Path, matrix: Matrix
) -> None:
    rows = [[*row[:2], "timeout" if at % 9 == 4 else row[2]] for at, row in enumerate(paired(6.0))]
    write_csv(here / "r.csv", ("id", "model", "accuracy"), rows)
    asked = told(matrix, "r.csv")
    assert "accuracy is called as scores are, but no score: found 'timeout'" in asked
    assert "no column of the usual names for the score" not in asked
    write_csv(here / "s.csv", ("id", "model", "score"), rows)
    asked = told(matrix, "s.csv")
    assert "which is no number; say --failed timeout where the variant failed" in asked
    assert "10 scores" not in asked
    blank = [[*row[:2], "#N/A" if row[2] == "timeout" else row[2]] for row in rows]
    write_csv(here / "t.csv", ("id", "model", "score"), blank)
    assert "13 of 120 rows have no score" in told(matrix, "t.csv")


def test_a_file_that_is_given_twice_is_refused(here: Path, matrix: Matrix) -> None:
    for name in ("r.csv", "copy.csv"):
        write_csv(here / name, HEADERS, paired(6.0))
    for other in ("r.csv", "copy.csv"):
        done = matrix("import", "r.csv", other)
        assert done.code == 2
        assert f"{other}: is given twice: r.csv has the same content" in done.stderr


def test_rows_that_are_there_twice_are_told(here: Path, matrix: Matrix) -> None:
    rows = paired(6.0)
    write_csv(here / "r.csv", HEADERS, [*rows, *rows[:10]])
    made = told(matrix, "r.csv")
    assert "note: 10 rows are the same in every column as an earlier one" in made


def test_what_stands_before_the_names_of_columns_is_told_once(here: Path, matrix: Matrix) -> None:
    path = write_csv(here / "r.csv", HEADERS, paired(6.0))
    path.write_text("An eval of November\n\n" + path.read_text())
    done = matrix("import", "r.csv")
    assert done.stderr.count("\n") == 1
    assert "found 5 cells in 121 rows (lines 3, 4, 5 ...); the first line has 1 column" in (
        done.stderr
    )
    assert "delete what stands before the names of the columns" in done.stderr


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


def test_a_score_of_a_common_name_is_taken_where_it_stands_alone(
    here: Path, matrix: Matrix
) -> None:
    rows = [[at, model, at % 7 / 7, at % 5 / 5] for at in range(40) for model in ("a", "b")]
    write_csv(here / "one.csv", ("id", "model", "faithfulness", "foo"), rows)
    made = matrix("import", "one.csv")
    assert (made.code, "score    faithfulness (more" in made.stdout) == (0, True)
    write_csv(here / "two.csv", ("id", "model", "faithfulness", "relevance"), rows)
    asked = matrix("import", "two.csv")
    assert (asked.code, "no column of the usual names for the score" in asked.stderr) == (2, True)


def test_the_documentation_tells_the_usual_names_and_words() -> None:
    text = (CHECKOUT / "docs" / "import.md").read_text()
    [paragraph] = [one for one in text.split("\n\n") if one.startswith("Usual names, in any case")]
    known = set(re.findall(r"`([^`]+)`", paragraph.replace("\n", " ")))
    tables = (
        names.UNIT, names.VARIANT, names.SCORE, names.COST, names.SCENARIO, names.REPEAT,
        names.FLAG, names.ERROR, names.STATUS, names.YES, names.NO, names.BROKE,
        names.FELL_SHORT, names.ENDED_WELL, names.NO_RESULT,
    )  # fmt: skip
    assert known == {word for table in tables for word in table}
    [sole] = [one for one in text.split("\n\n") if one.startswith("Scores of which tables have")]
    assert set(re.findall(r"`([^`]+)`", sole)) == names.SOLE_SCORE
    [owners] = [one for one in text.split("\n\n") if one.startswith("Whose rows they are")]
    assert set(re.findall(r"`([^`]+)`", owners)) == {
        *names.WHOSE,
        "_id",
        "gespräch",
    } - {"gespr_ch"}
    [asked] = [one for one in text.split("\n\n") if one.startswith("What was asked, a unit")]
    assert set(re.findall(r"`([^`]+)`", asked)) == {*names.REQUESTS}


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 0.01, 100], ids=["as-it-is", "smaller", "larger"])
def test_means_have_the_figures_that_their_intervals_are_worth(
    here: Path, matrix: Matrix, scale: float
) -> None:
    rows = [
        [f"q{at}", model, scale * (more + (at * 7 % 10) / 50 + (at % 3) * place / 60)]
        for at in range(60)
        for place, (model, more) in enumerate((("a", -0.1), ("b", 0.6)))
    ]
    write_csv(here / "r.csv", ("id", "model", "score"), rows)
    made = matrix("import", "r.csv", "--run-id", "it").stdout
    for model in ("a", "b"):
        (line,) = (one for one in made.splitlines() if one.startswith(f"{model} "))
        mean, low, high = (float(line.split()[at]) for at in (1, 2, 4))
        true = sum(row[2] for row in rows if row[1] == model) / 60  # type: ignore[misc]
        assert low < mean < high
        assert abs(mean - true) < (high - low) / 10
    compared, kept = matrix("compare", "it").stdout, matrix("report", "it", "--format", "md").stdout
    difference = json.loads(matrix("compare", "it", "--json").stdout)["pairs"][0]["difference"]
    said = [
        abs(float(found[1]))
        for text, pattern in ((compared, r"b +a +60 +(\S+)"), (kept, r"\| b \| a \| 60 \| (\S+)"))
        if (found := re.search(pattern, text)) is not None
    ]
    assert said[0] == said[1] == pytest.approx(difference, rel=0.02)
