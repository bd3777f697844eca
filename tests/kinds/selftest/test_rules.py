"""When a case passes: the figures of the design that self-tests come from, and exact arithmetic."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.selftest.judging import NAMES, overall, questions_in, rubric_of, status_of
from matrix.kinds.selftest.settings import PassRules
from matrix.kinds.selftest.state import AnswerStep, short_of

SHARES = st.integers(0, 1000).map(lambda n: n / 1000)
WEIGHTS = {
    "format_score": Fraction(1, 5),
    "factuality_score": Fraction(3, 10),
    "instruction_following_score": Fraction(3, 10),
    "safety_score": Fraction(1, 5),
}


@pytest.mark.parametrize(
    ("strictness", "threshold"), [(0.0, "0.6"), (0.5, "0.7"), (0.7, "0.74"), (1.0, "0.8")]
)
def test_strictness_raises_the_threshold_as_the_design_says(
    strictness: float, threshold: str
) -> None:
    assert PassRules(strictness=strictness, min_score_to_pass=0.6).threshold == Decimal(threshold)


@given(st.dictionaries(st.sampled_from(NAMES), SHARES))
def test_the_score_is_the_exact_weighted_sum_or_there_is_none(scores: dict[str, float]) -> None:
    found = overall(scores)
    if scores.keys() != set(NAMES):
        assert found is None
        return
    assert found is not None
    assert Fraction(found) == sum(
        weight * Fraction(str(scores[name])) for name, weight in WEIGHTS.items()
    )


@given(st.fixed_dictionaries(dict.fromkeys(NAMES, SHARES)), SHARES)
def test_a_score_at_the_threshold_passes_and_just_below_fails(
    scores: dict[str, float], strictness: float
) -> None:
    rules = PassRules(strictness=strictness, min_score_to_pass=0.6)
    step = AnswerStep(asked="?", answer="!", expected="COMPLETE", actual="COMPLETE", scores=scores)
    total = sum(weight * Fraction(str(scores[name])) for name, weight in WEIGHTS.items())
    least = Fraction("0.6") + Fraction(1, 5) * Fraction(str(strictness))
    assert step.passed(rules) is (total >= least)


@given(SHARES.map(lambda n: Decimal(str(n))), SHARES.map(lambda n: Decimal(str(n))))
def test_a_score_is_shown_on_its_own_side_of_the_threshold(score: Decimal, least: Decimal) -> None:
    assert (Decimal(short_of(score, least)) < least) == (score < least)


@pytest.mark.parametrize("must_match", [True, False])
def test_another_status_fails_at_any_score_unless_told_otherwise(must_match: bool) -> None:
    perfect = dict.fromkeys(NAMES, 1.0)
    step = AnswerStep(asked="", answer="so", expected="COMPLETE", actual="BLOCKED", scores=perfect)
    assert step.passed(PassRules(status_must_match=must_match)) is not must_match


def test_an_answer_without_a_score_says_why_it_has_none() -> None:
    step = AnswerStep(asked="", answer="so", expected="COMPLETE", actual="COMPLETE")
    assert step.why_unscored == "the judge's answer could not be read"
    assert step.model_copy(update={"unjudged": "the judge: is dead"}).why_unscored.endswith("dead")
    odd = step.model_copy(update={"reasoning": "ok", "missing": {"safety_score": "it gave 1.5"}})
    assert (odd.why_unscored, odd.passed(PassRules())) == ("it gave 1.5", None)
    scored = step.model_copy(update={"scores": dict.fromkeys(NAMES, 1.0)})
    assert scored.why_unscored == ""


def test_too_many_questions_fail_an_answer_that_awaits_a_reply() -> None:
    answer = "Which?\nWhen?\nWho?"
    step = AnswerStep(
        asked="",
        answer=answer,
        expected="AWAITING_RESPONSE",
        actual="AWAITING_RESPONSE",
        scores=dict.fromkeys(NAMES, 1.0),
    )
    assert step.passed(PassRules(max_questions_allowed=3)) is True
    assert step.faults(PassRules(max_questions_allowed=2)) == [
        "asked 3 questions; at most 2 are allowed"
    ]


@pytest.mark.parametrize(
    ("said", "output", "status"),
    [
        ("complete ", "what?", "COMPLETE"),
        ("", "Here you are.\nSTATUS: COMPLETE", "COMPLETE"),
        ("", "Which?\n**Status:** awaiting response", "COMPLETE"),
        ("", "Which?\n**STATUS:** AWAITING RESPONSE", "AWAITING_RESPONSE"),
        ("", "STATUS: BLOCKED\nno wait\nSTATUS: COMPLETE", "COMPLETE"),
        ("", "Shall I take the first (or the second)?", "AWAITING_RESPONSE"),
        ("", "Why? Because.", "COMPLETE"),
        ("", "", "EMPTY"),
        ("complete", " \n", "EMPTY"),
    ],
)
def test_the_status_is_the_systems_own_or_what_its_answer_says(
    said: str, output: str, status: str
) -> None:
    assert status_of(said, output)[0] == status


def test_addresses_have_no_questions_in_them() -> None:
    assert questions_in("See http://a.example/?q=1&b=2 for more.") == 0
    assert questions_in('Is it "red?" or blue? (or green?)') == 3


def test_lenience_of_format_is_another_rubric() -> None:
    lenient, strict = (
        rubric_of(PassRules(allow_minor_format_deviation=on)) for on in (True, False)
    )
    assert lenient.hash != strict.hash
    assert lenient.names == NAMES
