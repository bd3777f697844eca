"""`matrix import`: several files of one form, folders of them, and what of them is not told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import matrix as python_api
from tests.cli.program import Matrix
from tests.cli.tables import write_csv
from tests.cli.test_import import inspect_log, promptfoo_results


def promptfoo(path: Path, passes: float, prompts: int = 1, **more: Any) -> Path:
    """Results of 60 tests: of every ten, the first so many pass."""
    results = [
        {
            "provider": {"id": "openai:gpt"},
            "prompt": {"raw": "x", "label": f"p{prompt}.txt"},
            "promptIdx": prompt,
            "vars": {"x": test},
            "success": test % 10 < 10 * passes,
            "score": float(test % 10 < 10 * passes),
            "failureReason": 0,
            "cost": 0.001,
            **more,
        }
        for test in range(60)
        for prompt in range(prompts)
    ]
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}))
    return path


@pytest.mark.parametrize("prompts", [1, 2])
def test_files_of_promptfoo_with_the_same_variants_and_tests_are_variants(
    here: Path, prompts: int
) -> None:
    files = [promptfoo(here / f"{name}.json", passes, prompts) for name, passes in
             (("before", 0.3), ("after", 0.8))]  # fmt: skip
    run = python_api.import_results(files, results=here / "results")
    assert run.file.plan.factors["file"] == ("before", "after")
    study = run.compare()
    assert (study.factor, study.winner) == ("file", "after")
    assert study.pairs[0].difference == pytest.approx(0.5)


def test_logs_of_inspect_of_several_models_before_and_after_are_each_a_variant(here: Path) -> None:
    logs = []
    for when, more in (("before", 0.0), ("after", 0.15)):
        (here / when).mkdir()
        for model in ("a", "b"):
            log = inspect_log(here / when / f"{when}-{model}.eval", model, 0.4 + more, "samples")
            logs.append(log)
    run = python_api.import_results(logs, results=here / "results")
    assert run.file.plan.factors == {
        "log": ("before-a: a", "before-b: b", "after-a: a", "after-b: b")
    }
    assert run.compare().pairs[0].rounds == 60


def test_a_file_that_is_given_twice_is_told_without_a_flag_that_is_refused(
    here: Path, matrix: Matrix
) -> None:
    promptfoo(here / "pf.json", 0.5)
    told = matrix("import", "pf.json", "pf.json")
    assert told.code == 2
    assert "is given twice" in told.stderr
    assert "--repeat" not in told.stderr
    samples = [{"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}}}] * 2
    head = {"status": "success", "eval": {"task": "sums", "model": "a"}, "samples": samples}
    (here / "twice.json").write_text(json.dumps(head))
    told = matrix("import", "twice.json")
    assert told.code == 2
    assert "its epoch" in told.stderr
    assert "--repeat" not in told.stderr
    assert not (here / "results").exists()


def test_a_mistake_of_many_results_is_told_once(here: Path, matrix: Matrix) -> None:
    promptfoo(here / "pf.json", 0.5, cost="much", score="high")
    told = matrix("import", "pf.json").stderr
    assert "60 rows: results 0, 1, 2 ..." in told
    assert len(told.splitlines()) == 2
    scores = {"match": {"value": "C"}, "tone": {"value": "X"}}
    samples: list[Any] = [{"id": at, "scores": scores} for at in range(9)]
    head = {"status": "success", "eval": {"task": "sums", "model": "a"}}
    (here / "log.json").write_text(json.dumps({**head, "samples": [*samples, 1, 2]}))
    told = matrix("import", "log.json").stderr
    assert "is no object (2 rows: samples 9, 10)" in told


@pytest.mark.slow
@pytest.mark.parametrize("missing", [1, 120])
def test_a_cost_that_promptfoo_does_not_tell_is_not_taken_for_nothing(
    here: Path, matrix: Matrix, missing: int
) -> None:
    found = promptfoo_results(3)
    for one in found["results"]["results"][:missing]:
        one["cost"] = None
    (here / "pf.json").write_text(json.dumps(found))
    told = " ".join(matrix("import", "pf.json", "--run-id", "it").stdout.split())
    assert f"left out cost (not told of {missing} of 240 results" in told
    study = json.loads(matrix("compare", "it", "--json").stdout)
    assert [one["cost_per_completed_usd"] for one in study["variants"]] == [None, None]


@pytest.mark.slow
def test_a_folder_stands_for_the_logs_in_it(here: Path, matrix: Matrix) -> None:
    (here / "logs" / "deeper").mkdir(parents=True)
    for model, chance in (("a", 0.4), ("b", 0.95)):
        inspect_log(here / "logs" / f"{model}.eval", model, chance, "summaries")
    (here / "logs" / "eval-set.json").write_text("{}")
    done = matrix("import", "logs", "--run-id", "it")
    assert "imported 240 results of a.eval, b.eval" in done.stdout
    told = matrix("import", "logs/deeper", "nowhere.csv")
    assert told.code == 2
    assert "logs/deeper: is a folder without logs (.eval or .json)" in told.stderr


@pytest.mark.slow
def test_tests_that_did_not_pass_are_failures_of_a_build(here: Path, matrix: Matrix) -> None:
    results = json.loads(promptfoo(here / "pf.json", 0.5).read_text())
    again = [{**one, "success": True} for one in results["results"]["results"]]
    results["results"]["results"] += again
    (here / "pf.json").write_text(json.dumps(results))
    assert matrix("import", "pf.json", "--run-id", "it").code == 0
    suite = ElementTree.fromstring(matrix("report", "it", "--format", "junit").stdout)[0]
    assert suite.get("failures") == "30"
    names = [case.get("name", "") for case in suite.iter("testcase")]
    assert len(set(names)) == 120
    assert {name.rpartition(", ")[2] for name in names} == {"repeat 1", "repeat 2"}


def halves_of(here: Path, before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Two files of the same questions with these columns; ``correct`` is worse in the second."""
    values: dict[str, Callable[[int, bool], Any]] = {
        "question": lambda at, _: f"q{at}",
        "id": lambda at, _: f"i{at}",
        "correct": lambda at, late: int(at % 3 > 0 and not (late and at % 4 == 0)),
        "score": lambda at, late: 0.5 + (at % 5) / 10,
        "accuracy": lambda at, late: (at * 7 % 10) / 10,
        "status": lambda at, late: "error" if at % 5 == 0 else "ok",
    }
    for name, headers in (("before", before), ("after", after)):
        rows = [[values[one](at, name == "after") for one in headers] for at in range(60)]
        write_csv(here / f"{name}.csv", headers, rows)


@pytest.mark.parametrize("turned", [False, True])
def test_files_are_compared_by_the_score_that_all_of_them_have(
    here: Path, matrix: Matrix, turned: bool
) -> None:
    columns = ("question", "correct"), ("question", "score", "correct")
    halves_of(here, *(columns[::-1] if turned else columns))
    made = " ".join(matrix("import", "before.csv", "after.csv").stdout.split())
    assert "score correct (more is better" in made
    assert "before beats after" in made


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (("question", "correct"), ("question", "accuracy"), "scores in 'accuracy', and before.csv"),
        (("question", "correct"), ("id", "correct"), "units in 'id', and before.csv in 'question'"),
        (("question", "correct"), ("correct",), "units in no column, and before.csv in 'question'"),
    ],
)
def test_scores_and_units_of_other_names_are_asked_for(
    here: Path, matrix: Matrix, before: tuple[str, ...], after: tuple[str, ...], told: str
) -> None:
    halves_of(here, before, after)
    asked = matrix("import", "before.csv", "after.csv")
    assert asked.code == 2
    assert f"after.csv: has {told}" in " ".join(asked.stderr.split())
    assert not (here / "results").exists()


def test_units_that_only_one_file_has_are_no_units(here: Path, matrix: Matrix) -> None:
    halves_of(here, ("question", "correct"), ("id", "question", "correct"))
    made = " ".join(matrix("import", "before.csv", "after.csv").stdout.split())
    assert "unit question (60)" in made


@pytest.mark.parametrize("turned", [False, True])
def test_failures_that_one_file_tells_of_decide_nothing(
    here: Path, matrix: Matrix, turned: bool
) -> None:
    columns = ("question", "score"), ("question", "score", "status")
    halves_of(here, *(columns[::-1] if turned else columns))
    made = " ".join(matrix("import", "before.csv", "after.csv").stdout.split())
    silent = "after" if turned else "before"
    assert f"{silent}.csv does not say what failed, as others do" in made
    assert "on scores alone, as the files do not say what failed" in made
    assert "fails more often" not in made
