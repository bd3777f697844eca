"""A run, and the program to export it with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import run_program
from tests.cli.talking import DECLARED, FACTORS, TALK


@pytest.fixture(scope="session")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run ``talk`` and what it is exported to: ``logs`` and ``set``."""
    folder = tmp_path_factory.mktemp("talked")
    (folder / "talk.py").write_text(TALK)
    play = ("run", "talk.py", "--executor", "in-process", "--per-cell", "12", "--run-id", "talk")
    done = run_program(folder, *play, *FACTORS, *DECLARED)
    assert done.code == 0, done.stderr
    for form, place in (("inspect", "logs"), ("hf", "set")):
        done = run_program(folder, "export", "talk", "--to", form, "-o", place)
        assert done.code == 0, done.stderr
    return folder
