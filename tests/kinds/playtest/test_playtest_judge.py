"""Laws of the judge's material: complete, marked, bounded."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.table.judge import QUALITIES, rubric_of, transcript
from matrix.model.records import Message
from tests.kinds.fakes import Asked, FakeLog, make_prelude, play_session
from tests.kinds.playtest.script import PROSE, Script, binding, label, plan
from tests.kinds.playtest.test_playtest_session import GROUP, play

HASH = "335eaf1b0fd604af"
"""What is in the results of every run so far: scores of another rubric could not be mixed in."""


def test_the_rubric_asks_for_the_seven_dimensions() -> None:
    assert (
        rubric_of().names
        == QUALITIES
        == (
            "coherence",
            "atmosphere",
            "player_agency",
            "pacing",
            "story_guide_adherence",
            "character_integration",
            "fun_factor",
        )
    )


def test_the_transcript_has_every_voice_and_marks_what_was_private() -> None:
    log = FakeLog(
        [
            Message("persona/Sam", "system", "You are Sam.", 0, "persona"),
            Message("table", "narrator", "Welcome.", 0, "welcome"),
            Message("table", "Sam", "Hello.", 0, "introduction"),
            Message("table", "narrator", "[PULSE 1]\nThe bus stops.", 1, "pulse"),
            Message("private/Sam", "narrator", "[To Sam only] You know it.", 1, "private-moment"),
            Message("private/Sam", "Sam", "I say nothing.", 1, "reaction"),
            Message("table", "system", "[The narrator speaks to Sam alone.]", 1, "note"),
            Message("table", "spokesperson", "We get off.", 1, "relay"),
        ]
    )
    assert transcript(log).strip().split("\n") == [
        "[before the story]",
        "Narrator: Welcome.",
        "Sam: Hello.",
        "",
        "[turn 1]",
        "Narrator: The bus stops.",
        "Narrator (to Sam alone): You know it.",
        "Sam (aside): I say nothing.",
        "[The narrator speaks to Sam alone.]",
        "The group to the narrator: We get off.",
    ]


def test_the_judge_is_given_guide_group_and_transcript_as_fenced_parts() -> None:
    whole = json.dumps(dict.fromkeys(QUALITIES, 4))
    labels = {2: label("private-moment", private_target="x")}
    played = play(Script(labels=labels, verdicts=[whole]), max_turns=3)
    (asked,) = [asked for asked in played.asked if asked.role == "judge"]
    for heading in ("## Story guide\n<<<", "## The group\n<<<", "## Transcript\n<<<"):
        assert heading in asked.request
    assert all(text in asked.request for text in PROSE[:3])
    assert asked.schema is not None


def test_what_is_asked_by_default_is_what_it_always_was() -> None:
    played = play(Script(verdicts=["no", "no"]), max_turns=2)
    asked = [asked for asked in played.asked if asked.role == "judge"]
    assert [one.slot for one in asked] == ["0", "1"]
    assert rubric_of().hash == HASH
    assert not [name for name in played.values if name.startswith("judge.")]
    assert "judge_repeats" not in PlaytestOptions().model_dump(mode="json"), "ids are made of it"


SCORED = json.dumps(dict.fromkeys(QUALITIES, 4))
HALF = json.dumps(dict.fromkeys(QUALITIES[1:], 4))


def repeated(*said: str) -> dict[str, float | None]:
    """Name -> score of a session whose repeats of the judge say this."""
    script = Script()

    def handler(asked: Asked) -> str:
        return said[int(asked.slot.split(".")[1])] if asked.role == "judge" else script(asked)

    options = {**GROUP, "judge_repeats": len(said)}
    bound, session = binding(options=json.dumps(options)), plan(max_turns=3, options=options)
    prelude = make_prelude(KIND, session, bound.resources, script)
    return dict(play_session(KIND, session, bound.resources, handler, prelude=prelude).values)


@pytest.mark.parametrize("said", [("no", "no"), (HALF, "no"), (HALF, HALF)])
def test_without_any_repeat_that_gives_the_quality_there_is_no_score(said: tuple[str, str]) -> None:
    whole, lost = repeated(SCORED, SCORED), repeated(*said)
    assert whole["score"] is not None
    judged = ("score", "part_quality", "judge.1", "judge.2")
    assert [lost[name] for name in judged] == [None] * 4
    others = {name for name in whole if name not in judged and "quality_" not in name}
    assert {name: lost[name] for name in others} == {name: whole[name] for name in others}


@pytest.mark.parametrize("lost", ["no", HALF])
def test_a_repeat_that_does_not_give_the_quality_moves_nothing(lost: str) -> None:
    whole, some = repeated(SCORED, SCORED, SCORED), repeated(SCORED, lost, SCORED)
    assert some["score"] == pytest.approx(whole["score"])
    assert some["judge.2"] is None


@pytest.mark.parametrize("answer", ["no", HALF])
def test_a_single_judging_that_does_not_give_the_quality_leaves_no_score(answer: str) -> None:
    values = play(Script(verdicts=[answer, answer]), max_turns=3).values
    assert (values["score"], values["part_quality"]) == (None, None)
    assert values["part_progress"] is not None
    unasked = play(Script(), max_turns=3, with_judge=False).values
    assert unasked["score"] is not None


def test_the_score_is_the_mean_of_what_each_repeat_that_could_be_read_makes_of_it() -> None:
    answers = {"0": 2, "1": 5, "2": None, "3": 3}
    script = Script()

    def handler(asked: Asked) -> str:
        if asked.role != "judge":
            return script(asked)
        given = answers[asked.slot.split(".")[1]]
        return "no" if given is None else json.dumps(dict.fromkeys(QUALITIES, given))

    options = {**GROUP, "judge_repeats": 4}
    bound, session = binding(options=json.dumps(options)), plan(max_turns=3, options=options)
    prelude = make_prelude(KIND, session, bound.resources, script)
    values = play_session(KIND, session, bound.resources, handler, prelude=prelude).values
    alone = [values[f"judge.{number}"] for number in (1, 2, 3, 4)]
    assert alone[2] is None
    read = [value for value in alone if value is not None]
    assert len(set(read)) == 3
    assert values["score"] == pytest.approx(sum(read) / 3)
    assert values["quality_pacing"] == pytest.approx(10 / 3)
    assert values["judge.2.quality_pacing"] == 5.0
    (once,) = {
        play(Script(verdicts=[SCORED]), max_turns=3, judge_repeats=count).values["score"]
        for count in (1, 3)
    }
    assert once is not None, "a judge that does not waver gives the same score, however often"


@pytest.mark.parametrize("repeats", [0, 21, 1.5, "many", None])
def test_a_number_of_repeats_that_makes_no_sense_is_refused(repeats: object) -> None:
    with pytest.raises(ValidationError, match="judge_repeats"):
        PlaytestOptions.model_validate({"judge_repeats": repeats})


def test_options_survive_being_written_down() -> None:
    for repeats in (1, 4):
        options = PlaytestOptions(judge_repeats=repeats, stuck_after=9)
        assert PlaytestOptions.model_validate_json(options.model_dump_json()) == options
        assert PlaytestOptions.model_validate(options.model_dump()) == options
