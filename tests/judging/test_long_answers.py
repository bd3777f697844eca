"""Answers of judges that are long and lead nowhere: read in a time that grows as they do.

There is no deadline here. What used to take time with the square of the length took half an hour
for some of these, in which no other session of the worker went on.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.judging.answers import (
    closing_json_object,
    own_words,
    quotations,
    read_json_object,
    read_json_objects,
    says_nothing,
    unquoted,
)
from matrix.judging.choice import read_choice
from matrix.judging.criteria import read_evaluation
from matrix.judging.marks import quoted_from_nowhere
from matrix.judging.verdict_line import read_verdict
from tests.sampling import examples

READERS = (
    *(closing_json_object, own_words, read_json_object, read_json_objects, says_nothing, unquoted),
    *(read_choice, read_verdict),
    lambda text: read_evaluation(text, ["It is short", "It is right"]),
    lambda text: quoted_from_nowhere(text, ["It is short"]),
)
LONG = {
    "objects that never close": '{"a":' * 100_000,
    "braces": "{" * 500_000,
    "a list that never closes": '{"a":[' + "1," * 200_000,
    "quotation marks that never close": ' "a' * 100_000,
    "apostrophes": "'x " * 100_000,
    "empty lines": "\n" * 300_000,
    "spaces": " " * 400_000,
    "thoughts": "<think>" * 50_000,
    "ends of thoughts": "</think> " * 50_000,
    "verdicts in one line": "VERDICT: " * 50_000,
    "verdict lines": "VERDICT: PASS - x\n" * 20_000,
    "criteria": "1. It is short: MET - x\n" * 20_000,
    "colons": "1." + ": " * 100_000,
    "marks": "#*_-`" * 60_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_every_reader_comes_to_the_end_of_a_long_answer(text: str) -> None:
    for read in READERS:
        read(text)


def test_an_object_after_braces_that_open_nothing_is_read() -> None:
    assert read_json_objects('if (a) { b; } {"score": 4}') == [{"score": 4}]
    assert closing_json_object("{ {" * 50 + '{"score": {"of": 5}}') == {"score": {"of": 5}}
    assert read_json_objects('{"score": NaN} {"score": 3}') == [{"score": 3}]


PLAIN = re.compile(
    r"""(?<!\w)(["'`])(?=\S).*?(?<!\\)\1(?!\w)|“.*?”|„.*?[“”]|«.*?»""",
    re.DOTALL,
)
"""What counts as a quotation, as one expression; its time grows with the square of the length."""


@settings(max_examples=examples(500))
@given(st.text(alphabet="\"'` a\\.\n“”„«»", max_size=14))
def test_quotations_are_those_of_the_plain_expression(text: str) -> None:
    assert list(quotations(text)) == [found.span() for found in PLAIN.finditer(text)]
    assert unquoted(text) == PLAIN.sub(" ", text)
