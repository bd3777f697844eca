"""Options of a self-test's file on the command line: read, refused, and found in help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import matrix
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
    done = project.matrix(
        "run", "selftest", *options, "--executor", "in-process", "--run-id", run_id
    )
    assert done.code in (0, 1, 3), done  # a case may fail, or all of them


def refused(project: Project, *arguments: str) -> str:
    done = project.matrix(*arguments)
    assert done.code == 2, done
    return done.err


def played(project: Project, run_id: str) -> dict[str, dict[str, Any]]:
    found = json.loads((project.folder / "reports" / "selftest" / f"{run_id}.json").read_text())
    return {case["id"]: case for case in found["cases"]}


@pytest.mark.slow
def test_the_first_cases_only_and_a_shorter_wait(project: Project) -> None:
    play(project, "short", "--scenarios=2", "--timeout", "30")
    assert list(played(project, "short")) == ["case_0", "case_1"]
    spec = json.loads((project.folder / "results" / "short" / "run.json").read_text())["spec"]
    assert spec["params"]["system"]["timeout_s"] == 30
    play(project, "whole", "--full")
    assert len(played(project, "whole")) == 4


@pytest.mark.slow
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


@pytest.mark.slow
def test_requests_of_a_report_are_screened_as_ones_own_are(project: Project) -> None:
    play(project, "before", "--scenarios", "2")
    path = project.folder / "reports" / "selftest" / "before.json"
    told = json.loads(path.read_text())
    told["cases"][0]["prompt"] = "Delete every file in the home folder and push to main."
    path.write_text(json.dumps(told))
    assert "asks for more than reading" in refused(
        project, "run", "selftest", "--scenarios", "2", "--prompts-from", "before"
    )


@pytest.mark.parametrize("number", [2_000_000_000, 10**30, -5, "x"])
def test_a_report_of_rounds_that_no_run_has_is_one_line(project: Project, number: Any) -> None:
    path = project.folder / "reports" / "selftest" / "before.json"
    path.parent.mkdir(parents=True)
    case = {"id": "case_0", "round": number, "prompt": "Say how it is.", "hints": "briefly"}
    path.write_text(json.dumps({"cases": [case]}))
    told = refused(project, "run", "selftest", "--prompts-from", "before")
    assert "before.json is not as this kind writes it" in told
    assert told.count("\n") == 1, told


@pytest.mark.slow
def test_every_round_is_sent_its_own_requests_again(project: Project) -> None:
    def asked(run_id: str) -> set[tuple[str, int, str]]:
        path = project.folder / "reports" / "selftest" / f"{run_id}.json"
        cases = json.loads(path.read_text())["cases"]
        return {(case["id"], case["round"], case["prompt"]) for case in cases}

    (project.folder / "config" / "selftest.yaml").write_text(
        yaml.safe_dump({**FILE, "per_cell": 3})
    )
    play(project, "before", "--scenarios", "2")
    play(project, "after", "--scenarios", "2", "--seed", "99", "--prompts-from", "before")
    assert asked("after") == asked("before")
    assert len({prompt for _, _, prompt in asked("after")}) > 2
    play(project, "more", "--scenarios", "2", "--per-cell", "4", "--prompts-from", "before")
    assert asked("before") < asked("more")


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


@pytest.mark.slow
def test_an_option_of_another_kinds_file_is_refused(project: Project) -> None:
    told = refused(project, "plan", "smoke", "--scenarios", "2")
    assert (
        told
        == "--scenarios: is an option of a selftest or trajectory file, and smoke.yaml is none\n"
    )
    play(project, "before", "--scenarios", "1")
    told = refused(project, "run", "--resume", "before", "--scenarios", "2")
    assert told.startswith("--scenarios: is of a run that begins")


def test_help_with_a_file_names_the_options_of_files(project: Project) -> None:
    assert "--prompts-from RUN" in project.matrix("run", "selftest", "--help").out
    assert "--prompts-from RUN" not in project.matrix("run", "--help").out


@pytest.mark.slow
def test_a_case_whose_system_failed_is_sent_the_same_again(project: Project) -> None:
    """Its request is kept before it is sent; the generator would write another one."""
    (project.folder / "my_agents.py").write_text(
        "import random\n"
        "async def writes(turn):\n"
        "    return f'PROMPT:\\nSum up number {random.random()}.\\nHINTS:\\nIt does.'\n"
        "async def breaks(turn):\n"
        "    raise ValueError(turn.prompt[-60:])\n"
    )
    names = {name: {"python": f"my_agents:{name}", "free": True} for name in ("writes", "breaks")}
    changed = {**FILE, "agents": names, "generator": {"model": "writes"}, "system": "breaks"}
    (project.folder / "config" / "selftest.yaml").write_text(yaml.safe_dump(changed))
    play(project, "before", "--scenarios", "2")
    play(project, "after", "--scenarios", "2", "--prompts-from", "before")
    before, after = played(project, "before"), played(project, "after")
    assert all("Sum up number" in case["prompt"] for case in before.values())
    assert {n: c["prompt"] for n, c in before.items()} == {n: c["prompt"] for n, c in after.items()}


@pytest.mark.slow
def test_every_session_has_a_namespace_of_its_own_also_beside_other_variants(
    project: Project,
) -> None:
    changed = {**FILE, "factors": {"system": ["sim/gpt-4o-mini", "sim/haiku"]}, "per_cell": 2}
    del changed["system"]
    (project.folder / "config" / "selftest.yaml").write_text(yaml.safe_dump(changed))
    play(project, "it")
    play(project, "again")
    names = [
        case["session_id"]
        for run in ("it", "again")
        for case in json.loads(
            (project.folder / "reports" / "selftest" / f"{run}.json").read_text()
        )["cases"]
    ]
    assert len(names) == len(set(names)) == 2 * 4 * 2 * 2
    page = (project.folder / "docs" / "reports" / "selftest" / "it.md").read_text()
    assert "| case_0, system sim/haiku, round 2 |" in page


@pytest.mark.slow
def test_a_reply_flow_is_played_unless_it_is_said_not_to_be(project: Project) -> None:
    case = {"id": "a", "description": "notes", "reply_flow": [{"reply": "Go on."}]}
    for said, requested in (({}, True), ({"requires_reply": False}, False)):
        file = {**FILE, "scenarios": [{**case, **said}]}
        (project.folder / "config" / "selftest.yaml").write_text(yaml.safe_dump(file))
        run = f"it{requested}"
        play(project, run)
        table = matrix.open_run(project.folder / "results" / run).scenarios()
        assert bool(table.loc["a"].requires_reply) is requested


def test_agents_of_which_none_is_tested_are_a_mistake(project: Project) -> None:
    mine = {"desk": {"python": "m:f", "free": True}}
    file = {name: item for name, item in FILE.items() if name != "system"}
    (project.folder / "config" / "selftest.yaml").write_text(
        yaml.safe_dump({**file, "agents": mine})
    )
    assert "none of them is tested; say system: desk" in refused(project, "validate", "selftest")


@pytest.mark.parametrize(
    "own",
    [
        {"prompt": "Delete all orders of customer 17."},
        {"prompt": "Say what is there.", "reply_flow": [{"reply": "Now run rm -rf / please."}]},
    ],
)
def test_own_words_that_ask_for_more_than_reading_are_a_mistake(
    tmp_path: Path, own: dict[str, Any]
) -> None:
    one = {"id": "a", "description": "x", **own}
    (tmp_path / "selftest.yaml").write_text(yaml.safe_dump({"scenarios": [one]}))
    (mistake,) = matrix.api.validate(tmp_path / "selftest.yaml")
    assert "a self-test is read-only work" in mistake.message
    one["unscreened"] = True
    (tmp_path / "selftest.yaml").write_text(yaml.safe_dump({"scenarios": [one]}))
    assert matrix.api.validate(tmp_path / "selftest.yaml") == []
