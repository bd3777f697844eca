"""`matrix import`: several files of one form, folders of them, and what of them is not told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import matrix as python_api
from tests.cli.program import Matrix
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
