"""Help, as a new user reads it: whole, with examples, in the narrowest usual terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from matrix import __version__
from matrix.cli.main import program
from tests.cli.program import GOLDEN, GoldenRun, Matrix

COMMANDS = tuple(typer.main.get_command(program()).commands)  # type: ignore[attr-defined]
REQUIRED = {"run", "resume", "plan", "validate", "list", "show", "init", "schema", "doctor"}


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_of_a_command_is_as_it_was_agreed(golden_run: GoldenRun, command: str) -> None:
    args = (command, "--help") if command else ("--help",)
    assert golden_run(f"help-{command or 'matrix'}", *args).code == 0


@pytest.mark.parametrize("command", ["matrix", *COMMANDS])
def test_help_fits_a_terminal_of_eighty_columns(command: str) -> None:
    lines = (GOLDEN / f"help-{command}.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_help_lists_every_command_in_whole_sentences() -> None:
    assert set(COMMANDS) >= REQUIRED
    text = (GOLDEN / "help-matrix.txt").read_text(encoding="utf-8")
    listed = [line.split()[0] for line in text.split("Commands:\n")[1].splitlines()[:-1]]
    assert sorted(listed) == sorted(COMMANDS)
    assert "..." not in text.split("Commands:")[1], "a summary is cut off"


def test_without_a_command_help_is_shown_and_nothing_counts_as_done(matrix: Matrix) -> None:
    result = matrix()
    assert "Usage: matrix [OPTIONS] COMMAND" in result.stdout + result.stderr
    assert result.code == 2


def test_a_slip_in_the_command_or_an_option_is_named(golden_run: GoldenRun) -> None:
    assert golden_run("no-such-command", "rnu").code == 2
    assert golden_run("no-such-option", "run", "--sesions", "5").code == 2


def test_the_version_is_that_of_the_package(matrix: Matrix) -> None:
    assert matrix("--version") == (f"matrix {__version__}\n", "", 0)


def test_the_shell_completes_commands(matrix: Matrix, here: Path) -> None:
    variables = {"_MATRIX_COMPLETE": "complete_bash", "COMP_WORDS": "matrix r", "COMP_CWORD": "1"}
    assert set(matrix(variables=variables).stdout.split()) == {
        "run",
        "resume",
        "replay",
        "rejudge",
        "repair",
        "report",
    }
