"""The page about one's own kinds: its files are written, its commands run, its test tests."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_documentation import ROOT, code_blocks
from tests.executors.programs import Project

PAGE = ROOT / "docs" / "kinds.md"
FILE = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("page")
    files = FILE.findall(PAGE.read_text(encoding="utf-8"))
    assert [name for name, _ in files] == [
        "support.py", "questions.csv", "questions.py", "refunds.py",
    ]  # fmt: skip
    for name, text in files:
        (folder / name).write_text(text, encoding="utf-8")
    return Project(folder)


@pytest.mark.slow
def test_every_command_of_the_page_does_what_it_says(project: Project) -> None:
    lines = [one for block in code_blocks(PAGE, "sh") for one in block.splitlines()]
    commands = [shlex.split(one, comments=True)[1:] for one in lines]
    assert len(commands) == 9
    for command in commands:
        where = ["--executor", "in-process"] if command[0] == "run" else []
        done = project.matrix(*command, *where)
        assert done.code == 0, (command, done.err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "options", "scores"),
    [
        ("support.py", [], {"resolved", "replies", "score"}),
        ("questions.py", ["--set", "factors.top=[1, 3]"], {"exact", "polite", "score"}),
        ("refunds.py", ["--set", "factors.manner=[kind, strict]"], {"right", "score"}),
    ],
)
def test_each_example_scores_something_offline(
    project: Project, file: str, options: list[str], scores: set[str]
) -> None:
    run = f"scored-{file.removesuffix('.py')}"
    command = [
        "run",
        file,
        "--executor",
        "in-process",
        "--quiet",
        "--run-id",
        run,
        "--per-cell",
        "20",
    ]
    done = project.matrix(*command, *options)
    assert done.code == 0, done.err
    tables = project.tables(run)
    assert set(tables.frame("sessions").outcome) == {"completed"}
    found = tables.frame("scores")
    assert set(found.name) == scores
    assert 0 < tables.frame("sessions").score.mean() < 1 or file == "support.py"


@pytest.mark.slow
def test_the_test_of_the_page_passes(project: Project) -> None:
    (block,) = [one for one in code_blocks(PAGE, "python") if "matrix.testing" in one]
    (project.folder / "test_support.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_support.py"]
    done = subprocess.run(
        command, cwd=project.folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_first_example_takes_under_thirty_lines() -> None:
    (first, *_) = code_blocks(PAGE, "python")
    assert len([one for one in first.splitlines() if one.strip()]) < 30


@pytest.mark.slow
def test_what_init_writes_is_played_compared_and_tested(tmp_path: Path) -> None:
    project = Project(tmp_path)
    done = project.matrix("init", "--kind", "helpdesk", "mine")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == [
        "helpdesk.csv", "helpdesk.py", "matrix.yaml", "rubric.md", "test_helpdesk.py",
    ]  # fmt: skip
    mine = Project(tmp_path / "mine")
    played = mine.matrix(
        "run", "--executor", "in-process", "--quiet", "--run-id", "it", "--per-cell", "20"
    )
    assert played.code == 0, played.err
    assert {"resolved", "replies", "manners"} <= set(mine.tables("it").frame("scores").name)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tested = subprocess.run(
        command, cwd=mine.folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert tested.returncode == 0, tested.stdout
    again = project.matrix("init", "--kind", "helpdesk", "mine")
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.parametrize("name", ["", "a-b"])
def test_init_writes_no_kind_that_cannot_be_called_so(tmp_path: Path, name: str) -> None:
    done = Project(tmp_path).matrix("init", "--kind", name, "mine")
    assert (done.code, done.out) == (2, "")
    assert f"--kind: found {name!r}; a function is called so, and its file: " in done.err
    assert not (tmp_path / "mine").exists()
