"""A run that is killed while it is being set up was never there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.executors.programs import Project, wait_for

SPEC = {
    "kind": "counter",
    "name": "night",
    "factors": {"step": [1, 2]},
    "options": {"turns": 2},
    "per_cell": 3,
    "limits": {"cost_usd": 5, "budget": "night=6/day"},
}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_in_its_first_moment_is_there_whole_or_not_at_all(
    tmp_path: Path, how: signal.Signals
) -> None:
    project = Project(tmp_path)
    project.write(SPEC | {"per_cell": 2000, "limits": {"cost_usd": 5}, "options": {"turns": 50}})
    staging, whole = project.path(".new-it"), project.path("it")
    process = project.start("run", "--executor", "in-process", "--quiet", "--run-id", "it", "--yes")
    wait_for(lambda: staging.exists() or whole.exists() or process.poll() is not None)
    process.send_signal(how)
    process.wait()
    project.write(SPEC | {"per_cell": 2, "limits": {"cost_usd": 5}})
    if whole.exists():
        assert project.matrix("show", "it").code == 0
    else:
        done = project.matrix(
            "run", "--executor", "in-process", "--quiet", "--run-id", "it", "--yes"
        )
        assert done.code in (0, 1), done
    assert not staging.exists()


@pytest.mark.slow
def test_what_a_kill_leaves_of_a_set_up_is_no_run_and_its_budget_is_free(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(SPEC)
    assert project.matrix(
        "run", "--executor", "in-process", "--quiet", "--run-id", "first"
    ).code in (0, 4)
    spent = project.matrix("budgets").out
    dead = tmp_path / "results" / ".new-dead"
    dead.mkdir()
    (dead / "driver.lock").touch()
    (dead / "run.json").write_text("{}")
    assert "dead" not in project.matrix("list").out
    assert project.matrix("show", "last").code == 0
    reserve(project, "dead")
    assert project.matrix("budgets").out == spent
    done = project.matrix(
        "run", "--executor", "in-process", "--quiet", "--run-id", "second", "--finish-last", "--yes"
    )
    assert done.code in (0, 4), done
    assert not dead.exists()


def reserve(project: Project, run: str) -> None:
    """As a process does that is killed right after it."""
    code = (
        "import os, pathlib, time\n"
        "from matrix.model.spec.budgets import parse_budget\n"
        "from matrix.store.shared.budgets import BudgetFile\n"
        "import dataclasses\n"
        "budget = dataclasses.replace(parse_budget('night=6/day'), name='night (simulated)')\n"
        f"file = BudgetFile(pathlib.Path({str(project.folder / 'results')!r}))\n"
        f"file.reserve(budget, {run!r}, cap=5 * 10**9, now=time.time())\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
