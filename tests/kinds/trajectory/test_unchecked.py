"""A scenario of which nothing would be looked at costs nothing, and never counts as passed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.executors.programs import Project
from tests.kinds.trajectory.folders import ADAPTER, ANYTHING, project, scenario

INPUTS = {"turn-01-a.md": "WRITE a.md | x", "turn-02-b.md": "y"}
JUDGED = {"judge": "said", "rubric": "judges/says.md", "expected_meaning": "asked"}
CONTENT = {"turns": [{"turn": 1, "content": [JUDGED]}]}
SECOND = {"turns": [{"turn": 2, "structural": [{"file_exists": "a.md"}]}]}
FINAL = {"final_state": {"structural": [{"file_exists": "a.md"}]}}
SKIP, STOP = ("--skip-content",), ("--stop-after-turn", "1")
PLAYED = ("--executor", "in-process", "--run-id", "it")


def junit(made: Project) -> dict[str, ET.Element]:
    """Name of a case -> the case."""
    done = made.matrix("report", "it", "--format", "junit")
    assert done.code == 0, done
    return {str(case.get("name")): case for case in ET.fromstring(done.out).iter("testcase")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expected", "flags", "told"),
    [
        ({}, (), "asserts nothing; write structural: or content: under a turn or final_state"),
        ({"turns": [{"turn": 1}]}, SKIP, "asserts nothing; write structural: or content:"),
        (CONTENT, SKIP, "has no assertion left with --skip-content; leave it out"),
    ],
)
def test_a_scenario_that_checks_nothing_is_a_mistake_before_the_start(
    tmp_path: Path, expected: Any, flags: tuple[str, ...], told: str
) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01", INPUTS, {"scenario": "01", **expected})
    for command in ("plan", "run"):
        done = made.matrix(command, "scenarios", *flags)
        assert done.code == 2, done
        assert f"01: {told}" in done.err, done
        assert "or give --keep-workdir to play it for the folders that it leaves" in done.err
    assert not (tmp_path / "results").exists(), "nothing was started"


@pytest.mark.slow
def test_validate_says_it_of_every_such_scenario_at_once(tmp_path: Path) -> None:
    made = project(tmp_path)
    for name, expected in {"01": {"scenario": "a"}, "03": {"turns": []}}.items():
        scenario(tmp_path, name, INPUTS, expected)
    done = made.matrix("validate", "scenarios")
    assert done.code == 2, done
    named = [line[:2] for line in done.err.splitlines() if "asserts nothing" in line]
    assert named == ["01", "03"], done
    scenario(tmp_path, "02", INPUTS, ANYTHING)
    done = made.matrix("plan", "scenarios")
    assert done.code == 0, "of others there is something to see"
    for name in ("01", "03"):
        assert f"{name}: asserts nothing; it is played all the same" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("expected", "flags"), [(SECOND, SKIP), (CONTENT, STOP), (FINAL, ("--stop-after-turn", "2"))]
)
def test_what_still_checks_something_is_played(
    tmp_path: Path, expected: Any, flags: tuple[str, ...]
) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01", INPUTS, expected)
    done = made.matrix("plan", "scenarios", *flags)
    assert done.code == 0, done
    turns = "1 turn" if flags == STOP else "2 turns"
    assert f"at most {turns} each" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("expected", [SECOND, FINAL])
def test_who_wants_the_first_turns_alone_is_told_that_nothing_of_them_is_checked(
    tmp_path: Path, expected: Any
) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01", INPUTS, {"scenario": "01", **expected})
    done = made.matrix("run", "scenarios", *STOP, *PLAYED)
    told = "01: has no assertion left with --stop-after-turn 1; it is played all the same"
    assert told in " ".join(done.err.split()), done
    (case,) = junit(made).values()
    assert [one.tag for one in case] == ["skipped"]


def test_options_of_the_adapter_leave_no_assertion_either(tmp_path: Path) -> None:
    made = project(tmp_path, {**ADAPTER, "options": {"skip_content": True}})
    scenario(tmp_path, "01", INPUTS, CONTENT)
    done = made.matrix("plan", "scenarios")
    assert done.code == 2, done
    assert "01: has no assertion left with --skip-content" in done.err


def test_what_listed_judges_are_asked_about_is_checked(tmp_path: Path) -> None:
    judges = [{"rubric": "file://tone.md", "model": "judge"}]
    made = project(tmp_path, {**ADAPTER, "judges": judges})
    (tmp_path / "tone.md").write_text("---\nanswer: verdict\n---\n# Tone\n\nIs it calm?\n")
    scenario(tmp_path, "01", INPUTS, {"scenario": "01"})
    done = made.matrix("plan", "scenarios")
    assert done.code == 0, done


@pytest.mark.slow
def test_what_is_played_for_its_folders_is_said_to_check_nothing_and_never_passes(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01", INPUTS, {"scenario": "01"})
    done = made.matrix("run", "scenarios", "--keep-workdir", "--runs", "2", *PLAYED)
    assert "01: asserts nothing; it is played all the same" in done.err, done
    assert "no assertion was looked at" in done.out, done
    assert len(list((made.path("it") / "workdirs").iterdir())) == 2
    cases = junit(made)
    assert len(cases) == 2
    for case in cases.values():
        (skipped,) = case
        assert skipped.tag == "skipped"
        assert "no score, so there is nothing that it passed" in str(skipped.get("message"))


@pytest.mark.slow
def test_beside_others_it_is_skipped_with_the_reason(tmp_path: Path) -> None:
    made = project(tmp_path)
    scenario(tmp_path, "01", INPUTS, ANYTHING)
    scenario(tmp_path, "02", INPUTS, {"scenario": "02"})
    done = made.matrix("run", "scenarios", *PLAYED)
    assert done.code == 0, done
    cases = junit(made)
    assert {name: [one.tag for one in case] for name, case in cases.items()} == {
        "t01.file_exists": [], "02, run 1": ["skipped"],
    }  # fmt: skip
    told = str(cases["02, run 1"][0].get("message"))
    assert told == "no assertion was looked at, so there is nothing that it passed"
    assert json.loads(made.matrix("show", "it", "--json").out)["report"]["summary"]["missed"] == 0
