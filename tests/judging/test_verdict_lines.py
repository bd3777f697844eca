"""One verdict in one line: exactly once, whatever is around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.judging.forms import Unread
from matrix.judging.verdict_line import LineVerdict, read_verdict, verdict_form

WORDS = ("PASS", "FAIL", "UNCERTAIN")


@given(st.sampled_from(WORDS), st.sampled_from(["it ends", "no: nothing", "a - b"]))
def test_the_line_is_read_as_it_is_written(word: str, reason: str) -> None:
    assert read_verdict(f"VERDICT: {word} - {reason}") == LineVerdict(word, reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "I thought about it.\n\n**VERDICT: PASS** - it ends",
        "**Verdict:** PASS \u2014 it ends",
        "> verdict: pass: it ends\n",
        "VERDICT: [PASS] - it ends\nThank you.",
        "- VERDICT: `PASS` - it ends",
    ],
)
def test_what_is_around_it_does_not_matter(text: str) -> None:
    assert read_verdict(text) == LineVerdict("PASS", "it ends")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no VERDICT line"),
        ("PASS", "it has no VERDICT line"),
        ("My verdict: it would pass, VERDICT PASS", "it has no VERDICT line"),
        ("VERDICT: PASSABLE - hm", "it has no VERDICT line"),
        ("VERDICT: PASS - a\nVERDICT: FAIL - b", "it has 2 verdicts"),
        ("VERDICT: PASS - a\nVERDICT: PASS - a", "it has 2 verdicts"),
        ("VERDICT: PASS\nVERDICT: FAIL", "it has 2 verdicts"),
        ("VERDICT:\nPASS", "it has no VERDICT line"),
        ("URTEIL: BESTANDEN - gut", "it has no VERDICT line"),
    ],
)
def test_none_or_two_are_unread(text: str, why: str) -> None:
    assert read_verdict(text) == Unread(why)


@given(st.text())
def test_any_text_is_a_verdict_or_unread(text: str) -> None:
    assert isinstance(read_verdict(text), LineVerdict | Unread)


def test_an_uncertain_judge_gives_no_number() -> None:
    assert [LineVerdict(word, "").value for word in WORDS] == [1.0, 0.0, None]  # type: ignore[arg-type]


def test_the_hash_is_of_the_instructions() -> None:
    assert verdict_form("a").hash != verdict_form("b").hash
    assert verdict_form("a").hash == verdict_form("a").hash
