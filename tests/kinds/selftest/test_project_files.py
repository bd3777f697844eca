"""A self-test's system reads the project; a run in which it does more says so, and fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from matrix.store.upkeep.project_guard import changes, survey
from tests.executors.programs import Project

SYSTEM = """
from pathlib import Path

async def reads(turn):
    Path("notes.md").read_text()
    return "It is so.\\nSTATUS: COMPLETE"

async def writes(turn):
    Path("notes.md").write_text("mine now")
    Path("more.md").write_text("and this")
    return "It is so.\\nSTATUS: COMPLETE"

async def rewrites(turn):
    for folder in ("reports", "docs/reports"):
        Path(folder, "selftest", "earlier.json").write_text("all passed")
    return "It is so.\\nSTATUS: COMPLETE"

async def adds(turn):
    Path("reports/selftest/later.json").write_text("of a run that ended meanwhile")
    return "It is so.\\nSTATUS: COMPLETE"
"""


@pytest.mark.parametrize(
    ("system", "guarded", "touched"),
    [
        ("reads", True, []),
        ("writes", True, ["more.md was added", "notes.md was changed"]),
        ("writes", False, []),
        (
            "rewrites",
            True,
            [
                "docs/reports/selftest/earlier.json was changed",
                "reports/selftest/earlier.json was changed",
            ],
        ),
        ("adds", True, []),
    ],
)
def test_a_system_that_writes_into_the_project_fails_the_run(
    system: str, guarded: bool, touched: list[str], tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("Day one.")
    for folder in ("reports", "docs/reports"):
        (tmp_path / folder / "selftest").mkdir(parents=True)
        (tmp_path / folder / "selftest" / "earlier.json").write_text("{}")
    (tmp_path / "system_of_mine.py").write_text(SYSTEM)
    file = {
        "version": 1,
        "min_score_to_pass": 0,
        "strictness": 0,
        "project_files_must_stay": guarded,
        "agents": {system: {"python": f"system_of_mine:{system}", "free": True}},
        "system": system,
        "scenarios": [{"id": "one", "description": "notes", "prompt": "Read the notes."}],
    }
    (tmp_path / "selftest.yaml").write_text(yaml.safe_dump(file))
    project = Project(tmp_path)
    done = project.matrix("run", "selftest.yaml", "--executor", "in-process", "--run-id", "it")
    assert done.code == (3 if touched else 0), done
    report = json.loads((tmp_path / "reports" / "selftest" / "it.json").read_text())
    assert report["project_files"] == touched
    for one in touched:
        assert f"FAIL project files: {one}" in done.out
        assert one in (tmp_path / "docs" / "reports" / "selftest" / "it.md").read_text()


def test_what_runs_and_tools_write_is_not_the_projects_own(tmp_path: Path) -> None:
    for name in ("a.py", "results/x/run.json", ".git/index", "src/__pycache__/a.pyc", "src/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "loop").symlink_to(tmp_path)
    found = survey(tmp_path, [tmp_path / "results"])
    assert found is not None
    assert sorted(found) == ["a.py", "src/b.py"]
    many = {str(n): (1, 1) for n in range(50)}
    assert changes({}, many)[-1] == "and 30 more"


def test_what_is_printed_into_the_project_is_no_change_of_it(tmp_path: Path) -> None:
    (tmp_path / "ci.log").write_text("begun")
    before = survey(tmp_path, [])
    (tmp_path / "ci.log").write_text("begun, and gone on")
    (tmp_path / "run.out").write_text("all of it")
    after = survey(tmp_path, [])
    assert before == after == {}
