"""Reading a judge's answer: lenient about what is around the JSON, strict about what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from matrix.judging.answers import closing_json_object, own_words, read_json_objects
from matrix.judging.forms import Form, Unread
from matrix.judging.request import SCORE_IT, again, judge_system, verdict_schema
from matrix.judging.rubric import Rubric, Scale

UNREADABLE: Final = "the judge's answer could not be read"
"""Why there is no score when an answer had no usable one in it, however often it was asked for."""

_REASON_CHARS = 2000
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class RubricVerdict:
    """What one reading of a transcript came to.

    Attributes:
        scores: Criterion -> score on the rubric's scale; only those that the judge gave.
        reason: The judge's reason, in its words.
        missing: Criterion -> why it has no score. Together with ``scores`` it has every criterion.
    """

    scores: Mapping[str, float]
    reason: str
    missing: Mapping[str, str]


def parse_verdict(text: str, rubric: Rubric) -> RubricVerdict | None:
    """Read an answer; ``None`` if there is no JSON object with any usable score in it.

    A criterion that is left out, off the scale or no number is missing, never a guess.
    """
    found = _the_one(text, rubric)
    if found is None:
        return None
    scores: dict[str, float] = {}
    missing: dict[str, str] = {}
    for name in rubric.names:
        score = _score(found.get(name), rubric.scale)
        if score is None:
            missing[name] = _why_missing(name, found, rubric.scale)
        else:
            scores[name] = score
    if not scores:
        return None
    return RubricVerdict(scores, str(found.get("reason", ""))[:_REASON_CHARS], missing)


def _the_one(text: str, rubric: Rubric) -> dict[str, Any] | None:
    """The object that ends the answer, if it has scores and no other one has different ones.

    A judge may quote JSON that somebody wrote into what is judged.
    """
    names = set(rubric.names)
    text = own_words(text)
    there = [one for one in read_json_objects(text) if names & one.keys()]
    told = {orjson.dumps([one.get(name) for name in rubric.names]) for one in there}
    last = closing_json_object(text)
    return last if len(told) == 1 and last in there else None


def scores_form(rubric: Rubric) -> Form[RubricVerdict]:
    """A score for each criterion of a rubric, as JSON; with one missing it is asked for again."""
    return Form(
        system=judge_system(rubric),
        closing=SCORE_IT,
        again=again(rubric),
        schema=verdict_schema(rubric),
        parse=lambda text: parse_verdict(text, rubric) or Unread(UNREADABLE),
        hash=rubric.hash,
        whole=lambda verdict: not verdict.missing,
    )


def _score(value: Any, scale: Scale) -> float | None:
    """``value`` as a score, if it is a number on the scale; JSON's true and false are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if scale.holds(value) else None


def _why_missing(name: str, found: Mapping[str, Any], scale: Scale) -> str:
    given = "nothing"
    if name in found:
        given = orjson.dumps(found[name]).decode(errors="replace")[:_SHOWN_CHARS]
    return f"the judge gave {given}; a score is a number from {scale}"
