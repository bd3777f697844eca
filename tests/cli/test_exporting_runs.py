"""`matrix export --to`: whole runs for other programs; a CSV comes back to the same comparison."""

from __future__ import annotations

import csv
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import matrix as python_api
from matrix.model.errors import BadInput
from matrix.model.lines import formula_again, no_formula
from matrix.report.study.study import Study
from matrix.report.study.study_data import study_as_data
from matrix.store.foreign.exported import FIXED, score_header
from tests.cli.program import GoldenRun, Matrix
from tests.cli.talking import DECLARED, FACTORS, TALK
from tests.executors.programs import counter_spec


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run ``talk``: two factors, two scenarios, failures, less is better."""
    from tests.cli.program import run_program

    folder = tmp_path_factory.mktemp("talked")
    (folder / "talk.py").write_text(TALK)
    play = ("run", "talk.py", "--executor", "in-process", "--per-cell", "12", "--run-id", "talk")
    done = run_program(folder, *play, *FACTORS, *DECLARED)
    assert done.code == 0, done.stderr
    return folder


@pytest.fixture
def there(here: Path, talked: Path) -> Path:
    """``here`` with a copy of the run."""
    shutil.copytree(talked, here, dirs_exist_ok=True)
    return here


def figures(study: Study) -> Any:
    """All numbers of a comparison, without words."""
    data = json.loads(json.dumps(study_as_data(study)))

    def numbers(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: numbers(one) for key, one in value.items() if key != "seconds"}
        if isinstance(value, list):
            return [numbers(one) for one in value]
        return None if isinstance(value, str) else value

    return numbers(data)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "inspect"])
def test_results_come_back_to_the_same_comparison(there: Path, matrix: Matrix, form: Any) -> None:
    run = python_api.open_run("talk", results=there / "results")
    paths = python_api.export_results(run, form, there / "out")
    back = python_api.import_results(list(paths), results=there / "results", run_id="back")
    asked = [("mood", None), ("most", None), ("mood", "resolved"), ("mood", "unit")]
    for factor, metric in [*asked, ("mood", "failed"), ("most", "cost_usd"), ("mood", "turns")]:
        one, two = (each.compare(factor, metric) for each in (run, back))
        assert figures(one) == figures(two), (factor, metric)
        assert one.winner == two.winner
        assert one.verdict.kind == two.verdict.kind
    frames = [
        each.sessions().sort_values(["scenario", "round", "mood", "most"]) for each in (run, back)
    ]
    for column in ("outcome", "score", "cost_nano", "turns", "calls", "simulated", "round"):
        assert frames[0][column].fillna(-1).tolist() == frames[1][column].fillna(-1).tolist(), (
            column
        )
    assert set(frames[0].outcome) == {"completed", "failed"}
    assert back.file.plan.scenarios == ("=wifi", "bill")
    assert back.file.simulation == "simulated"
    shown = matrix("show", "back")
    assert "replies" in shown.stdout
    assert "simulated" in shown.stdout


@pytest.mark.slow
def test_runs_are_variants_of_one_import(there: Path, matrix: Matrix) -> None:
    play = ("run", "talk.py", "--executor", "in-process", "--per-cell", "12", "--seed", "2")
    assert matrix(*play, "--run-id", "again", *FACTORS, *DECLARED).code == 0
    for name in ("talk", "again"):
        assert matrix("export", name, "--to", "csv", "-o", f"{name}.csv").code == 0
    both = python_api.import_results(
        [there / "talk.csv", there / "again.csv"], results=there / "results"
    )
    assert both.file.plan.factors["run"] == ("talk", "again")
    together = both.compare()
    apart = python_api.compare("talk", "again", results=there / "results")
    assert figures(together)["differences"] == figures(apart)["differences"]
    assert together.verdict.rounds_used == apart.verdict.rounds_used
    with pytest.raises(BadInput, match="is given twice"):
        python_api.import_results([there / "talk.csv"] * 2, results=there / "results")


def test_no_cell_is_a_formula_and_no_row_more_than_one_line(there: Path, matrix: Matrix) -> None:
    printed = matrix("export", "talk", "--to", "csv").stdout
    rows = list(csv.reader(printed.splitlines()))
    assert len(rows) == 1 + 96
    assert not [cell for row in rows for cell in row if cell[:1] in "=+@" and cell]
    assert all(row[-1] == "" for row in rows[2:]), "what the run was is said once"


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("unit", "-1", "unit: found '-1'; the number of a round, from 0 to 19,999,999"),
        ("unit", "9" * 40, "the number of a round"),
        ("outcome", "won", "outcome: found 'won'; one of completed, timeout, failed, errored"),
        ("score", "nan", "score: found nan"),
        ("cost_usd", "-2", "cost_usd: found -2; must be from 0"),
        ("scenario", "", "scenario: is empty; every row has one"),
        ("variant.mood", "m" * 200, "a name has at most 120 characters"),
        ("matrix", "{}", "matrix: cannot be read: run: Field required; export the run again"),
        ("matrix", '{"version": 2}', "matrix: cannot be read: version"),
        ("matrix", "[" * 30_000, "is longer than 20,000 characters"),
    ],
)
def test_a_file_that_was_changed_is_told_by_line_and_column(
    there: Path, matrix: Matrix, column: str, value: str, told: str
) -> None:
    rows = list(csv.reader(matrix("export", "talk", "--to", "csv").stdout.splitlines()))
    rows[1][rows[0].index(column)] = value
    with (there / "odd.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    done = matrix("import", "odd.csv", "--run-id", "odd")
    assert done.code == 2
    assert done.stderr.startswith(f"odd.csv:2: {column}: ")
    assert told in done.stderr
    assert not (there / "results" / "odd").exists()


@pytest.mark.slow
def test_a_run_without_all_its_rounds_comes_back_without_them(here: Path, matrix: Matrix) -> None:
    (here / "talk.py").write_text(TALK)
    play = ("run", "talk.py", "--executor", "in-process", "--per-cell", "40", "--run-id", "cut")
    capped = matrix(*play, *FACTORS, "--max-cost", "0.03", "--at-cap", "spend-all")
    assert capped.code == 4, capped.stderr
    assert matrix("export", "cut", "--to", "csv", "-o", "cut.csv").code == 0
    run = python_api.open_run("cut", results=here / "results")
    back = python_api.import_results(here / "cut.csv", results=here / "results")
    used = run.compare().verdict.rounds_used
    assert 0 < used < 40
    assert back.compare().verdict.rounds_used == used
    before, after = (figures(each.compare("mood", "resolved")) for each in (run, back))
    assert before["differences"] == after["differences"]


@pytest.mark.slow
def test_what_a_file_does_not_tell_is_said(here: Path, matrix: Matrix) -> None:
    (here / "talk.py").write_text(TALK)
    play = ("run", "talk.py", "--executor", "in-process", "--per-cell", "12", "--stop-early")
    assert matrix(*play, *FACTORS).code == 0
    done = matrix("export", "last", "--to", "csv", "-o", "early.csv")
    assert done.code == 0
    assert "note: the run was looked at while it went on" in done.stderr


@pytest.mark.slow
def test_logs_of_inspect_have_turns_as_spans_and_come_back_by_import(
    there: Path, matrix: Matrix
) -> None:
    done = matrix("export", "talk", "--to", "inspect", "-o", "logs")
    assert (done.code, done.stdout) == (0, "4 files in logs\n")
    logs = sorted((there / "logs").iterdir())
    run = python_api.open_run("talk", results=there / "results")
    sessions = run.sessions().set_index("session_id")
    seen = set()
    for path in logs:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            for name in names:
                content = archive.read(name).decode()
                assert "\x1b" not in content
                assert "\\u001b" not in content
                sample = json.loads(content)
                row = sessions.loc[sample["uuid"]]
                spans = [one["name"] for one in sample["events"] if one["event"] == "span_begin"]
                assert spans == [f"turn {turn}" for turn in range(1, len(spans) + 1)]
                assert len(spans) == sample["scores"]["replies"]["value"] if sample["scores"] else 1
                assert ("error" in sample) == (row.outcome == "failed")
                assert all(len(one["content"]) < 20_100 for one in sample["messages"])
                assert sample["metadata"]["simulated"] == "simulated"
                seen.add(sample["uuid"])
    assert seen == set(sessions.index)
    back = python_api.import_results(logs, score="resolved", results=there / "results")
    assert back.file.plan.sessions == 96
    assert back.file.simulated, "what nobody played comes back as that"
    scored = run.frame("scores")
    played = scored[scored.session_id.isin(sessions.index[sessions.outcome == "completed"])]
    assert back.sessions().score.sum() == played[played.name == "resolved"].value.sum()
    assert (
        back.sessions().outcome.value_counts().to_dict()
        == sessions.outcome.value_counts().to_dict()
    )


@pytest.mark.slow
def test_a_run_makes_the_same_logs_again(there: Path, matrix: Matrix) -> None:
    for name in ("one", "two"):
        assert matrix("export", "talk", "--to", "inspect", "-o", name).code == 0
    for path in (there / "one").iterdir():
        assert path.read_bytes() == (there / "two" / path.name).read_bytes()


def test_a_data_set_is_the_tables_and_a_card_that_names_their_files(
    there: Path, matrix: Matrix
) -> None:
    assert matrix("export", "talk", "--to", "hf", "-o", "set").code == 0
    card = (there / "set" / "README.md").read_text()
    _, front, body = card.split("---\n", 2)
    head = yaml.safe_load(front)
    assert "simulated" in head["tags"]
    named = [file for one in head["configs"] for file in one["data_files"]]
    found = [str(path.relative_to(there / "set")) for path in (there / "set").rglob("*.parquet")]
    assert sorted(named) == sorted(found)
    assert head["configs"][0] == {
        "config_name": "sessions", "data_files": ["sessions/00000.parquet"], "default": True,
    }  # fmt: skip
    assert "say nothing about real ones" in body
    assert "journal" not in {path.stem for path in (there / "set").rglob("*")}


@pytest.mark.slow
def test_mistakes_of_exports_are_told_and_nothing_is_written(
    there: Path, golden_run: GoldenRun
) -> None:
    (there / "taken.csv").write_text("mine")
    for name, *words in (
        ("export-to-no-form", "export", "talk", "--to", "exel", "-o", "x"),
        ("export-to-session", "export", "talk", "best", "--to", "csv"),
        ("export-to-no-place", "export", "talk", "--to", "inspect"),
        ("export-to-taken", "export", "talk", "--to", "csv", "-o", "taken.csv"),
    ):
        assert golden_run(name, *words).code == 2
    assert (there / "taken.csv").read_text() == "mine"
    assert not (there / "x").exists()


@given(st.text(max_size=40).filter(lambda text: "'" not in text))
def test_a_name_comes_back_from_its_cell_and_is_no_formula_there(text: str) -> None:
    cell = no_formula(text)
    assert not cell.startswith(("=", "+", "-", "@"))
    assert formula_again(cell) == text


@given(st.text(min_size=1, max_size=40))
def test_a_score_takes_no_other_columns_name(name: str) -> None:
    header = score_header(name)
    assert header not in FIXED
    assert not header.startswith("variant.")
    assert no_formula(header) == header or header.startswith("score.")


@pytest.mark.slow
def test_a_session_that_a_limit_of_money_ended_is_a_failure_in_a_log_of_inspect(
    here: Path, matrix: Matrix
) -> None:
    (here / "count.yaml").write_text(json.dumps(counter_spec(per_cell=10)))
    limits = ("--set", "limits.session_usd=0.0002")
    assert matrix("run", "count.yaml", "--executor", "in-process", "--run-id", "it", *limits).code
    run = python_api.open_run("it", results=here / "results")
    assert set(run.sessions().outcome) == {"timeout"}
    assert matrix("export", "it", "--to", "inspect", "-o", "logs").code == 0
    for path in (here / "logs").iterdir():
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("samples/"):
                    assert "error" in json.loads(archive.read(name))


@pytest.mark.slow
def test_a_file_says_what_its_run_was_played_with_and_a_comparison_what_is_other(
    here: Path, matrix: Matrix
) -> None:
    code = (
        "import matrix\n@matrix.scenario(cases='cases.csv', simulated={'agent': 'four'})\n"
        "async def sums(ctx, question: str):\n"
        "    said = await ctx.ask('agent', question)\n"
        "    if FAILS and ctx.plan.round % 3 == 2:\n        raise ValueError\n"
        "    ctx.score('right', len(said.text) + ctx.plan.round % 2)\n"
    )
    play = ("run", "sums.py", "--executor", "in-process", "--per-cell", "12", "--quiet")
    for run, second, fails in (("one", "2+2?", 0), ("two", "3+3?", 0), ("mended", "2+2?", 1)):
        (here / "sums.py").write_text(code.replace("FAILS", str(fails)))
        (here / "cases.csv").write_text(f"name,question\na,1+1?\nb,{second}\n")
        assert matrix(*play, "--run-id", run).code == 0
    (here / "sums.py").write_text(code.replace("FAILS", "0"))
    assert matrix("resume", "mended", "--redo-errored", "--executor", "in-process").code == 0
    files = {}
    for run in ("one", "two", "mended"):
        files[run] = here / f"{run}.csv"
        assert matrix("export", run, "--to", "csv", "-o", f"{run}.csv").code == 0
    assert matrix("import", "one.csv", "two.csv", "--run-id", "both").code == 0
    told = " ".join(matrix("compare", "both").stdout.split())
    assert "The runs are not alike in b: what differs between them may be that." in told
    assert matrix("import", "one.csv", "--run-id", "base").code == 0
    told = " ".join(matrix("compare", "base", "two").stdout.split())
    assert "what is played in b" in told
    assert "what is played" not in matrix("compare", "base", "one").stdout
    assert matrix("import", "mended.csv", "--run-id", "again").code == 0
    assert matrix("import", "one.csv", "mended.csv", "--run-id", "with").code == 0
    told = " ".join(matrix("compare", "with").stdout.split())
    assert "sums.py was changed while the run was played" in told
    assert "Some sessions were begun anew" in told
    assert "not alike" not in told, "it was mended to the very code of the other"
