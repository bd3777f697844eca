"""Laws of repeats: calls of their own, bounded, and pooled within transcripts only."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.judging.asking import TRIES, Judge, Judged, judge_transcript
from matrix.judging.recording import record_criteria, record_repeats
from matrix.judging.repeats import MAX_REPEATS, mean_of, repeat_name, spread
from matrix.judging.request import Part
from matrix.judging.rubric import Criterion, Rubric
from matrix.judging.verdict import UNREADABLE, RubricVerdict, scores_form
from tests.kinds.fakes import FakeContext, Handler
from tests.kinds.playtest.script import plan

RUBRIC = Rubric("Judge it.", (Criterion("clarity", "Clear?"), Criterion("fun", "Fun?")))
JUDGE = Judge("judge", "sim/judge", scores_form(RUBRIC), 600)
GOOD = json.dumps({"clarity": 4, "fun": 2, "reason": "so"})


def judged(handler: Handler, repeats: int) -> tuple[list[Judged[RubricVerdict]], FakeContext]:
    """A transcript judged so often, and the context that it was judged in."""
    ctx = FakeContext(plan(), {}, handler, phase="finish")
    material = [Part("Transcript", "Narrator: It rains.")]
    return asyncio.run(judge_transcript(ctx, JUDGE, material, repeats)), ctx


def slots(ctx: FakeContext) -> list[str]:
    return sorted(asked.slot for asked in ctx.record.asked)


def test_a_single_judging_is_asked_in_the_scope_it_is_called_from() -> None:
    found, ctx = judged(lambda _: GOOD, 1)
    assert slots(ctx) == ["0"]
    assert found == [Judged(RubricVerdict({"clarity": 4.0, "fun": 2.0}, "so", {}), "sim/judge")]


def test_repeats_ask_the_same_in_places_of_their_own() -> None:
    found, ctx = judged(lambda _: GOOD, 3)
    assert slots(ctx) == ["0.0.0", "0.1.0", "0.2.0"]
    assert len({asked.messages for asked in ctx.record.asked}) == 1
    assert found == [found[0]] * 3


def test_each_repeat_is_asked_again_by_itself_and_never_more_than_the_bound() -> None:
    found, ctx = judged(lambda asked: "Nice!" if asked.slot.startswith("0.1.") else GOOD, 3)
    assert slots(ctx) == ["0.0.0", *(f"0.1.{attempt}" for attempt in range(TRIES)), "0.2.0"]
    assert [one.verdict is None for one in found] == [False, True, False]
    (event,) = ctx.record.events
    assert (event.kind, event.subject, event.detail) == ("judge_unparsed", "sim/judge", "Nice!")


@pytest.mark.parametrize("repeats", [0, -1, MAX_REPEATS + 1])
def test_a_number_of_repeats_that_is_not_allowed_asks_nobody(repeats: int) -> None:
    with pytest.raises(ValueError, match="1 to 20"):
        judged(lambda _: GOOD, repeats)


def recorded(*verdicts: RubricVerdict | None) -> dict[str, tuple[float | None, str]]:
    """Name -> value and reason of what is recorded of these repeats."""
    ctx = FakeContext(plan(), {}, lambda _: "")
    given = [Judged(verdict, "sim/judge") for verdict in verdicts]
    record_criteria(ctx, RUBRIC, given, "quality_")
    record_repeats(ctx, RUBRIC, given, [50.0 + at for at in range(len(given))], "quality_")
    assert {score.rubric_hash for score in ctx.record.scores} == {RUBRIC.hash}
    assert len({score.name for score in ctx.record.scores}) == len(ctx.record.scores)
    return {score.name: (score.value, score.reason) for score in ctx.record.scores}


WHOLE = RubricVerdict({"clarity": 4.0, "fun": 2.0}, "so", {})
HALF = RubricVerdict({"clarity": 2.0}, "hm", {"fun": "nothing was given"})


def test_of_one_judging_nothing_but_its_criteria_is_recorded() -> None:
    assert recorded(WHOLE) == {"quality_clarity": (4.0, "so"), "quality_fun": (2.0, "so")}
    assert recorded(HALF)["quality_fun"] == (None, "nothing was given")
    assert recorded(None)["quality_fun"] == (None, UNREADABLE)


def test_a_criterion_is_the_mean_over_the_repeats_that_gave_it() -> None:
    found = recorded(HALF, None, WHOLE)
    said = "mean of 2 of 3 repeats; the first read: hm"
    assert found["quality_clarity"] == (3.0, said)
    assert found["quality_fun"] == (2.0, said)
    assert recorded(None, None)["quality_fun"] == (None, UNREADABLE)


def test_every_repeat_has_rows_of_its_own_and_a_missing_one_says_why() -> None:
    found = recorded(HALF, None, WHOLE)
    assert [found[repeat_name(number)] for number in (1, 2, 3)] == [
        (50.0, "hm"),
        (None, UNREADABLE),
        (52.0, "so"),
    ]
    assert found["judge.1.quality_fun"] == (None, "nothing was given")
    assert found["judge.2.quality_fun"] == (None, UNREADABLE)
    assert found["judge.3.quality_fun"] == (2.0, "")


def test_names_of_repeats() -> None:
    assert repeat_name(3) == repeat_name(3, "score") == "judge.3"
    assert repeat_name(12, "quality_pacing") == "judge.12.quality_pacing"


def test_the_mean_is_over_what_is_there() -> None:
    assert mean_of([1.0, None, 4.0]) == 2.5
    assert mean_of([None, None]) is mean_of([]) is None


def test_the_spread_is_pooled_within_transcripts() -> None:
    found = spread([[1.0, 3.0], [11.0, 14.0, math.nan, 11.0], [5.0, None], []])
    assert (found.df, found.transcripts) == (3, 2)
    assert found.variance == pytest.approx((2.0 + 6.0) / 3)
    assert spread([[1.0], [None, math.nan]]) == (None, 0, 0)


@given(
    st.lists(st.lists(st.floats(0, 100), min_size=2, max_size=5), min_size=1, max_size=5),
    st.floats(-50, 50),
)
def test_the_spread_knows_nothing_of_how_transcripts_differ(
    rows: list[list[float]], shift: float
) -> None:
    moved = [[value + shift * at for value in row] for at, row in enumerate(rows)]
    before, after = spread(rows), spread(moved)
    assert before.variance is not None
    assert after.variance == pytest.approx(before.variance, abs=1e-6)
