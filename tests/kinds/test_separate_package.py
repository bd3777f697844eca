"""A kind of somebody else's package has all that ours have, and the core knows no kind's words."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executors.programs import Project

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "tests" / "plugins"
CORE = (
    "model", "stats", "admission", "telemetry", "dialects", "judging", "store", "agents",
    "gateway", "serving", "engine", "report", "api",
)  # fmt: skip
"""Rooms that are there for every kind; what commands show as examples are sessions of some kind."""
WORDS = re.compile(
    r"play-?test|trajector|self-?test|tangent|pulse|spokes|archetype|narrat"
    r"|(?<![a-z])stor(?:y|ies)(?![a-z])",
    re.IGNORECASE,
)
"""What kinds are called, and what theirs alone is made of.

To interview is no such word: any kind whose sessions have somebody to ask can be asked.
"""
KNOWN = {
    "archetype": "a column of the players table, whose schema only grows",
    "is_spokesperson": "likewise",
    "Archetype the player was made from.": "what that column is",
    "by-archetype": "the level of a role that its kind resolves for each player",
    "BY_ARCHETYPE": "its name",
    "playtest": "the kind of a spec that names none",
    "story": "what `--by` takes for a scenario",
    "STORY": "its name",
}
"""The words that are left, and why."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])
    (tmp_path / "guests.yaml").write_text("guests: [ann, bob, cid]\nquestions: 3\n")
    return Project(tmp_path, {"PYTHONPATH": path})


@pytest.mark.slow
def test_it_brings_a_file_form_with_options_and_a_report_of_its_runs(project: Project) -> None:
    done = project.matrix(
        "run", "guests.yaml", "--guests", "ann,bob", "--executor", "in-process", "--run-id", "it"
    )
    assert done.code == 0, done.err
    assert "\n4 guests went on air\n" in done.out
    assert set(project.tables("it").frame("sessions").scenario) == {"ann", "bob"}
    told = (project.folder / "broadcast" / "it.txt").read_text()
    assert told == "ann: 3\nann: 3\nbob: 4\nbob: 4\n"
    options = project.matrix("run", "guests.yaml", "--help").out
    assert "--guests A,B" in options
    assert "interview: Only these guests." in options


@pytest.mark.slow
def test_its_mistakes_are_told_as_ours_are(project: Project) -> None:
    done = project.matrix("run", "guests.yaml", "--guests", "zoe", "--executor", "in-process")
    assert (done.code, done.out) == (2, "")
    assert done.err == "--guests: found 'zoe'; there are: ann, bob, cid\n"
    (project.folder / "guests.yaml").write_text("guests: []\nquestion: 3\n")
    done = project.matrix("run", "guests.yaml", "--executor", "in-process")
    assert done.code == 2
    assert "guests.yaml:1: guests: found []" in done.err
    assert "guests.yaml:2: question: unknown key; allowed: guests, questions" in done.err
    assert not (project.folder / "results").exists()


@pytest.mark.slow
def test_its_variables_are_known_only_where_they_are_declared(project: Project) -> None:
    for name, known in (("MATRIX_STUDIO", True), ("MATRIX_STUDI", False)):
        other = Project(project.folder, {**project.environment, name: "north"})
        done = other.matrix("validate", "guests.yaml")
        assert (done.code == 0) == known, done.err
        assert known or "did you mean 'MATRIX_STUDIO'" in done.err


@pytest.mark.long
@pytest.mark.slow
def test_its_sessions_are_exported_with_its_words_and_played_on(project: Project) -> None:
    project.matrix(
        "run", "guests.yaml", "--guests", "bob", "--executor", "in-process", "--run-id", "it"
    )
    project.matrix("export", "it", "best", "--turn", "1", "-o", "bob.json")
    kept = json.loads((project.folder / "bob.json").read_text())
    assert (kept["guest"], kept["answers"]) == ("bob", ["2"])
    done = project.matrix("replay", "--checkpoint", "bob.json", "--executor", "in-process")
    assert done.code == 0, done.err
    project.matrix("export", "it", "best", "--all", "bob")
    report = (project.folder / "bob" / "report.md").read_text()
    for line in ("- Guest: bob", "## What was answered", "1. 4", "- Answers: 3"):
        assert f"\n{line}\n" in report
    assert "### Turn 0: In the green room" in report
    assert "### Turn 2: Said 3" in report
    kept["answers"] = ["x" * 201]
    (project.folder / "bob.json").write_text(json.dumps(kept))
    refused = project.matrix("replay", "--checkpoint", "bob.json", "--executor", "in-process")
    assert refused.code == 2
    assert "answers" in refused.err


@pytest.mark.long
@pytest.mark.slow
def test_its_parts_are_listed_and_its_sessions_are_grouped(project: Project) -> None:
    listed = project.matrix("list", "studios", "--json")
    assert json.loads(listed.out) == [
        {"name": "north", "about": "by the harbour", "seats": 4},
        {"name": "south", "about": ""},
    ]
    unknown = project.matrix("list", "studio")
    assert (unknown.code, unknown.out) == (2, "")
    assert "did you mean 'studios'" in unknown.err
    project.matrix("run", "guests.yaml", "--executor", "in-process", "--run-id", "it", "--quiet")
    for name in ("guest", "who"):
        told = json.loads(project.matrix("show", "it", "--by", name, "--json").out)
        groups = {group: one["sessions"] for group, one in told["by"]["guest"].items()}
        assert groups == {"ann": 2, "bob": 2, "cid": 2}


@pytest.mark.long
@pytest.mark.slow
def test_a_replay_takes_its_changes(project: Project) -> None:
    project.matrix(
        "run", "guests.yaml", "--guests", "bob", "--executor", "in-process", "--run-id", "it"
    )
    replay = ("replay", "it", "best", "--turn", "1", "--executor", "in-process", "--quiet")
    assert "--strides N" in project.matrix("replay", "it", "--help").out
    done = project.matrix(*replay, "--strides", "5", "--run-id", "by-5")
    assert done.code == 0, done.err
    shown = project.matrix("show", "by-5", "best").out
    assert "after turn 1, with step=5;" in shown
    assert "\n  cell      step 5\n" in shown


@pytest.mark.parametrize("room", CORE)
def test_the_core_speaks_of_no_kind(room: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in (ROOT / "matrix" / room).rglob("*.py")
        for line, text in _said(path)
        if WORDS.search(text) and text not in KNOWN
    }
    assert not found, "\n".join(sorted(found))


def _said(path: Path) -> Iterator[tuple[int, str]]:
    """Names and texts of a module, without what explains it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    explains = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield line, name
            case ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield line, name
            case ast.Constant(value=str(text)) if id(node) not in explains:
                yield line, text
