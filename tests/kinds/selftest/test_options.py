"""Options of a self-test's file on the command line: read, refused, and found in help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.executors.programs import Project

FILE: dict[str, Any] = {
    "version": 1,
    "strictness": 0.5,
    "generator": {"model": "sim/gpt-4o-mini"},
    "judge": {"model": "sim/gpt-4o-mini"},
    "system": "sim/gpt-4o-mini",
    "scenarios": [{"id": f"case_{n}", "description": f"notes of day {n}"} for n in range(4)],
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "selftest.yaml").write_text(yaml.safe_dump(FILE))
    return Project(tmp_path)


def play(project: Project, run_id: str, *options: str) -> None:
    done = project.matrix("run", "selftest", *options, "--in-process", "--run-id", run_id)
    assert done.code in (0, 3), done  # a case may fail


def refused(project: Project, *arguments: str) -> str:
    done = project.matrix(*arguments)
    assert done.code == 2, done
    return done.err


def played(project: Project, run_id: str) -> dict[str, dict[str, Any]]:
    found = json.loads((project.folder / "reports" / "selftest" / f"{run_id}.json").read_text())
    return {case["id"]: case for case in found["cases"]}


def test_the_first_cases_only_and_a_shorter_wait(project: Project) -> None:
    play(project, "short", "--scenarios=2", "--timeout", "30")
    assert list(played(project, "short")) == ["case_0", "case_1"]
    spec = json.loads((project.folder / "results" / "short" / "run.json").read_text())["spec"]
    assert spec["params"]["system"]["timeout_s"] == 30
    play(project, "whole", "--full")
    assert len(played(project, "whole")) == 4


def test_requests_of_an_earlier_run_are_sent_again(project: Project) -> None:
    play(project, "before", "--scenarios", "3")
    play(project, "after", "--prompts-from", "befo", "--seed", "99")
    before, after = played(project, "before"), played(project, "after")
    assert [name for name in after if name not in before] == ["case_3"]
    for name, case in before.items():
        assert (after[name]["prompt"], after[name]["hints"]) == (case["prompt"], case["hints"])
    play(project, "anew", "--seed", "99")
    anew = played(project, "anew")
    assert all(anew[name]["prompt"] != case["prompt"] for name, case in before.items())


MISTAKES = {
    ("--scenarios", "0"): "--scenarios: found '0'; it is a number of cases from 1 on",
    ("--scenarios", "two"): "--scenarios: found 'two'; it is a number of cases from 1 on",
    ("--scenarios", "1", "--full"): "--scenarios: is given with --full; give one of the two",
    ("--timeout", "nan"): "--timeout: found 'nan'; it is a number of seconds above 0",
    ("--timeout", "0"): "--timeout: found '0'; it is a number of seconds above 0",
    ("--prompts-from", "x"): "--prompts-from: found 'x'; no such run; in reports/selftest there",
    ("--scnarios", "1"): "No such option: --scnarios",
}


@pytest.mark.parametrize("given", MISTAKES, ids=" ".join)
def test_what_cannot_be_meant_is_refused(project: Project, given: tuple[str, ...]) -> None:
    assert MISTAKES[given] in refused(project, "plan", "selftest", *given)
    assert not (project.folder / "results").exists()


def test_every_mistake_of_file_and_options_is_told_at_once(project: Project) -> None:
    path = project.folder / "config" / "selftest.yaml"
    path.write_text(yaml.safe_dump({**FILE, "strictness": 7}))
    told = refused(project, "run", "selftest", "--scenarios", "0", "--timeout", "x").splitlines()
    places = [line.partition(":")[0] for line in told]
    assert sorted(places) == ["--scenarios", "--timeout", "selftest.yaml"]


@pytest.mark.parametrize("text", ["", "[]", '{"cases": 3}', '{"cases": [{"prompt": "a"}]}', "{"])
def test_a_report_that_is_none_is_refused(project: Project, text: str) -> None:
    folder = project.folder / "reports" / "selftest"
    folder.mkdir(parents=True)
    (folder / "odd.json").write_text(text)
    told = refused(project, "plan", "selftest", "--prompts-from", "odd")
    assert "odd.json is not as this kind writes it" in told


def test_an_option_of_another_kinds_file_is_refused(project: Project) -> None:
    told = refused(project, "plan", "smoke", "--scenarios", "2")
    assert told == "--scenarios: is an option of a selftest file, and smoke.yaml is none\n"
    play(project, "before", "--scenarios", "1")
    told = refused(project, "run", "--resume", "before", "--scenarios", "2")
    assert told.startswith("--scenarios: is of a run that begins")


def test_help_with_a_file_names_the_options_of_files(project: Project) -> None:
    assert "--prompts-from RUN" in project.matrix("run", "selftest", "--help").out
    assert "--prompts-from RUN" not in project.matrix("run", "--help").out
