"""One verdict in one line: exactly once, whatever is around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.judging.forms import Unread
from matrix.judging.verdict_line import LineVerdict, read_verdict, verdict_form

WORDS = ("PASS", "FAIL", "UNCERTAIN")
NONE_OF = "its VERDICT line does not say one of PASS, FAIL, UNCERTAIN, then a dash"


@given(st.sampled_from(WORDS), st.sampled_from(["it ends", "no: nothing", "a - b"]))
def test_the_line_is_read_as_it_is_written(word: str, reason: str) -> None:
    assert read_verdict(f"VERDICT: {word} - {reason}") == LineVerdict(word, reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "I thought about it.\n\n**VERDICT: PASS** - it ends",
        "**Verdict:** PASS \u2014 it ends",
        "verdict: pass: it ends\n",
        "VERDICT: [PASS] - it ends\n\n---\n",
        "<think>VERDICT: FAIL - or not?</think>\nVERDICT: PASS - it ends",
        "> VERDICT: FAIL - it says\nVERDICT: PASS - it ends",
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
        ("VERDICT: PASSABLE - hm", NONE_OF),
        ("VERDICT: PASS - a\nVERDICT: FAIL - b", "it has 2 VERDICT lines"),
        ("VERDICT: PASS - a\nVERDICT: PASS - a", "it has 2 VERDICT lines"),
        ("VERDICT: PASS\nVERDICT: FAIL", "it has 2 VERDICT lines"),
        ("VERDICT:\nPASS", "it goes on after its VERDICT line"),
        ("VERDICT: PASS - it ends\nThank you.", "it goes on after its VERDICT line"),
        ("It says\nVERDICT: PASS - ok\nand I refuse.", "it goes on after its VERDICT line"),
        ("VERDICT: PASS|FAIL|UNCERTAIN - reason", NONE_OF),
        ("VERDICT: PASS/FAIL - reason", NONE_OF),
        ("VERDICT: PASS or FAIL - who knows", NONE_OF),
        ("VERDICT: PASS is not deserved, so FAIL", NONE_OF),
        ("VERDICT: PASS - no, FAIL", "its VERDICT line says PASS and FAIL"),
        ("VERDICT: FAIL: PASS", "its VERDICT line says FAIL and PASS"),
        (
            "VERDICT: PASS - wait, it is a FAIL, as 2 is missing",
            "its VERDICT line says PASS and FAIL",
        ),
        ("VERDICT: PASS - it reads well. FAIL.", "its VERDICT line says PASS and FAIL"),
        ("VERDICT: FAIL - rereading [3] I would say PASS", "its VERDICT line says FAIL and PASS"),
        (
            "VERDICT: PASS - the verdict should be UNCERTAIN",
            "its VERDICT line says PASS and UNCERTAIN",
        ),
        ("> VERDICT: PASS - it says", "it has no VERDICT line"),
        ("<think>I could say\nVERDICT: PASS - a", "it has no VERDICT line"),
        ("URTEIL: BESTANDEN - gut", "it has no VERDICT line"),
    ],
)
def test_none_or_two_are_unread(text: str, why: str) -> None:
    assert read_verdict(text) == Unread(why)


@given(st.sampled_from(WORDS), st.sampled_from(WORDS))
def test_a_reason_may_quote_another_verdict(word: str, quoted: str) -> None:
    """What is judged may have written one, and the reason tells of it."""
    for opens, closes in ('""', "''", "``", "\u201c\u201d"):
        found = read_verdict(f"VERDICT: {word} - it wrote {opens}VERDICT: {quoted}{closes} itself")
        assert isinstance(found, LineVerdict)
        assert found.word == word


@given(st.text())
def test_any_text_is_a_verdict_or_unread(text: str) -> None:
    assert isinstance(read_verdict(text), LineVerdict | Unread)


def test_an_uncertain_judge_gives_no_number() -> None:
    assert [LineVerdict(word, "").value for word in WORDS] == [1.0, 0.0, None]  # type: ignore[arg-type]


def test_the_hash_is_of_the_instructions() -> None:
    assert verdict_form("a").hash != verdict_form("b").hash
    assert verdict_form("a").hash == verdict_form("a").hash


@pytest.mark.parametrize(
    "said",
    [
        "VERDICT: PASS - no FAIL condition of the rubric is met",
        "VERDICT: PASS - nothing UNCERTAIN about it",
        "VERDICT: FAIL - it does not PASS",
        "VERDICT: FAIL - two of the three conditions for PASS are missing",
        "VERDICT: FAIL - it lacks what it takes to PASS.",
        "VERDICT: PASS - none of the conditions under FAIL holds, see [4]",
        "VERDICT: UNCERTAIN - neither PASS nor FAIL",
    ],
)
def test_a_reason_may_speak_of_another_word(said: str) -> None:
    found = read_verdict(said)
    assert isinstance(found, LineVerdict)
    assert found.word == said.split()[1]
