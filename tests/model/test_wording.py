"""Errors speak of flags to those who typed them, and of arguments to those who call functions."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import matrix
from matrix.api import archive_older, export_snapshot
from matrix.model.errors import BadInput, Mistake, StoreError
from matrix.model.wording import ARGUMENTS, speaking_of_flags, with_arguments

FLAG = st.sampled_from(
    [*ARGUMENTS, "--inputs", "`matrix resume last --max-cost 8`", "`--margin X`"]
)


ROOT = Path(matrix.__file__).parent
OF_THE_PROGRAM = {
    "--session": "of a command line that a comment for a pull request shows",
}
"""Flags in messages that only the program can say, though some argument has their name."""


def taken() -> set[str]:
    functions = [getattr(matrix, name) for name in matrix.__all__]
    functions += [*vars(matrix.Run).values(), matrix.ExecutorChoice, archive_older, export_snapshot]
    return {
        name for one in functions if callable(one) for name in inspect.signature(one).parameters
    }


def test_every_word_of_python_is_an_argument_that_something_takes() -> None:
    said = {re.split("=", word)[0] for word in ARGUMENTS.values()}
    assert said - taken() == set()


@pytest.mark.slow
def test_every_flag_of_a_message_that_an_argument_has_the_name_of_has_its_word() -> None:
    """What is said of commands, in a text that begins with the program's name, stays a flag."""
    arguments, left = taken(), dict[str, str]()
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] in ("cli", "kinds", "__main__.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            for flag in re.findall(r"(?<![\w`-])--[a-z][a-z-]*[a-z]", node.value):
                name = flag.removeprefix("--").replace("-", "_")
                if name in arguments and flag not in {*ARGUMENTS, *OF_THE_PROGRAM}:
                    left.setdefault(flag, f"{path.relative_to(ROOT)}:{node.lineno}")
    assert left == {}


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("--max-cost: found -1", "max_cost: found -1"),
        ("give --sd, or --sd-a and --sd-b", "give sd, or sd_a and sd_b"),
        ("say `--margin 2` or compare.margin", "say `margin 2` or compare.margin"),
        ("`matrix resume it --max-cost 8` goes on", "`matrix resume it --max-cost 8` goes on"),
        ("--inputs is of its file", "--inputs is of its file"),
        ("a--margin, --margins and ---margin", "a--margin, --margins and ---margin"),
    ],
)
def test_flags_become_arguments_and_commands_stay(flags: str, arguments: str) -> None:
    assert with_arguments(flags) == arguments


@given(st.lists(FLAG | st.text("ab-` \n", max_size=6), max_size=8).map(" ".join))
def test_saying_it_twice_changes_nothing(text: str) -> None:
    assert with_arguments(with_arguments(text)) == with_arguments(text)


def test_an_error_is_worded_when_it_is_read_and_keeps_its_own_words() -> None:
    error = BadInput([Mistake("--metric", None, "", "found 'x'; leave --metric out")])
    assert str(error) == "metric: found 'x'; leave metric out"
    with speaking_of_flags():
        assert str(error) == "--metric: found 'x'; leave --metric out"
        assert str(StoreError("say --results")) == "say --results"
    assert str(error.mistakes[0]) == str(error)
    assert error.mistakes[0].source == "--metric"


def test_all_that_the_package_gives_is_listed() -> None:
    assert set(matrix.__all__) <= set(dir(matrix))
