"""Laws of the judge's material: complete, marked, bounded."""

from __future__ import annotations

from matrix.kinds.playtest.judge import RUBRIC, cut, transcript
from matrix.kinds.playtest.vocabulary import QUALITY_DIMENSIONS
from matrix.model.records import Message
from tests.kinds.fakes import FakeLog
from tests.kinds.playtest.script import PROSE, Script, label
from tests.kinds.playtest.test_playtest_session import play


def test_the_rubric_asks_for_the_seven_dimensions() -> None:
    assert RUBRIC.names == QUALITY_DIMENSIONS


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
    played = play(Script(labels={2: label("private-moment", private_target="x")}), max_turns=3)
    (asked,) = [asked for asked in played.asked if asked.role == "judge"]
    for heading in ("## Story guide\n<<<", "## The group\n<<<", "## Transcript\n<<<"):
        assert heading in asked.request
    assert all(text in asked.request for text in PROSE[:3])
    assert asked.schema is not None


def test_long_material_is_cut_in_the_middle_and_says_so() -> None:
    text = "a" * 50 + "b" * 100 + "c" * 50
    assert cut(text, 200) == text
    short = cut(text, 100)
    assert short.startswith("a" * 50)
    assert short.endswith("c" * 50)
    assert "100 characters left out" in short
