"""Errors speak of flags to those who typed them, and of arguments to those who call functions."""

from __future__ import annotations

import inspect
import re

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


def test_every_word_of_python_is_an_argument_that_something_takes() -> None:
    functions = [getattr(matrix, name) for name in matrix.__all__]
    functions += [*vars(matrix.Run).values(), matrix.ExecutorChoice, archive_older, export_snapshot]
    taken = {
        name for one in functions if callable(one) for name in inspect.signature(one).parameters
    }
    said = {re.split("=", word)[0] for word in ARGUMENTS.values()}
    assert said - taken == set()


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
