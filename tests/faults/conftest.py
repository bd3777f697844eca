"""One undisturbed run of the slow counter, which every disturbed one is compared with.

At the end of the tests the counts of all faults are printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.executors.programs import SLOW, Project, counter_spec, entries_of, undisturbed
from tests.faults.counting import chaos, lines

__all__ = ["chaos"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was hurt, and how much was looked at."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call"
    ]
    if counted := lines(reports):
        terminalreporter.section("chaos")
        for line in counted:
            terminalreporter.write_line(line)


def slow_counter(**changes: Any) -> dict[str, Any]:
    """About a second of play, with a few retries: some attempts fail, none for good."""
    faults = {"server_error": 0.005, "timeout": 0.01}
    return counter_spec(
        options={"turns": 20, "width": 2, "shared_start": True},
        simulation={**SLOW, "faults": faults},
        **changes,
    )


@pytest.fixture(scope="session", name="undisturbed")
def the_undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's folder."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), slow_counter())


@pytest.fixture(scope="session")
def length(undisturbed: Path) -> int:
    """Entries of the undisturbed run's journal."""
    return entries_of(undisturbed)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with the same spec."""
    project = Project(tmp_path)
    project.write(slow_counter())
    return project
