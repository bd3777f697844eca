"""The program, projects to run it in, and golden files of its whole output.

After a change that was meant: ``pytest tests/cli --update-golden``, then read the difference.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from matrix import api
from tests.cli.program import GOLDEN, Golden, GoldenRun, Matrix, Result, run_program, shown


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """An empty folder to run the program in."""
    return tmp_path


@pytest.fixture
def matrix(here: Path) -> Matrix:
    """``matrix(*args)`` runs the real program in ``here``."""

    def run(*args: str, **more: object) -> Result:
        return run_program(here, *args, **more)  # type: ignore[arg-type]

    return run


@pytest.fixture
def project(here: Path) -> Path:
    """``here``, as ``matrix init`` makes it."""
    api.init(here)
    return here


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A project in which two rounds were played as the run ``first``, and what that printed."""
    folder = tmp_path_factory.mktemp("played")
    api.init(folder)
    return folder, run_program(folder, *PLAY)


PLAY = ("run", "--executor", "in-process", "--per-cell", "2", "--run-id", "first")


@pytest.fixture
def finished(here: Path, played: tuple[Path, Result]) -> Path:
    """``here``, with a copy of the project and its run ``first``."""
    shutil.copytree(played[0], here, dirs_exist_ok=True)
    return here


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden(name, text)`` compares with a golden file, or writes it when asked to."""
    update = request.config.getoption("--update-golden", default=False)

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if update:
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"no {path.name}; make it: pytest tests/cli --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def golden_run(here: Path, matrix: Matrix, golden: Golden) -> GoldenRun:
    """``golden_run(name, *args)`` runs a command and compares all that it printed."""

    def run(name: str, *args: str, **more: object) -> Result:
        result = matrix(*args, **more)
        golden(name, shown(here, args, result))
        return result

    return run
