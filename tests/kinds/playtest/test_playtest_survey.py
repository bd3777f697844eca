"""Laws of surveys and interviews: who is asked what, from which memory, and what is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.detect.history import NARRATOR, REACTION, SYSTEM, TABLE, private_channel
from matrix.kinds.playtest.detect.memory import CHARS_PER_TOKEN, remembered, turns_heard
from matrix.kinds.playtest.detect.moments import TOLD
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup import prompts
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.table.judge import QUALITIES
from matrix.kinds.playtest.table.survey import keyed, read_answers
from matrix.kinds.protocol import INTERVIEWED
from matrix.model.errors import CallFailed
from matrix.model.records import Message
from tests.kinds.fakes import Asked, FakeLog, Played, make_prelude, play_session
from tests.kinds.playtest.script import PROSE, Script, binding, plan

GROUP = ["joker", "engaged", "drifter"]
OPEN = "Which moment stays with you?"
SURVEY = ["fun", "play_again", OPEN]

Answer = Callable[[Asked], str]


def whole(asked: Asked) -> str:
    return json.dumps({"fun": 4, "play_again": True, "answer_3": "The soup."})


def play(answer: Answer = whole, **options: object) -> Played:
    chosen = {"group": GROUP, "survey": SURVEY, **options}
    verdict = json.dumps(dict.fromkeys(QUALITIES, 4))
    script = Script(narrator=PROSE[:3], verdicts=[verdict])

    def handler(asked: Asked) -> str:
        by_a_player = asked.system.startswith(prompts.PLAYER)
        if by_a_player and asked.phase == "finish":
            return answer(asked)
        return script(asked)

    bound, session = binding(options=json.dumps(chosen)), plan(options=chosen)
    prelude = make_prelude(KIND, session, bound.resources, handler)
    return play_session(KIND, session, bound.resources, handler, prelude=prelude)


def asked_at_the_end(played: Played) -> list[Asked]:
    return [one for one in played.asked if one.phase == "finish" and one.role == "players"]


def test_every_player_is_asked_the_same_once_the_story_is_over() -> None:
    played = play()
    names = [seat["name"] for seat in played.prelude]
    asked = asked_at_the_end(played)
    assert len(asked) == 3
    for one, name in zip(asked, names, strict=True):
        assert f"Name: {name}\n" in one.system
        assert one.request.startswith("The story is over.")
        assert OPEN in one.request
        assert PROSE[0].split(".")[0] in one.request  # what was played
        assert one.schema is not None
        assert list(one.schema["properties"]) == ["fun", "play_again", "answer_3"]
    rows = [(e.subject, e.detail, e.value) for e in played.of_kind("survey")]
    assert rows[:3] == [
        (names[0], "fun: 4", 4.0),
        (names[0], "play_again: yes", 1.0),
        (names[0], f"{OPEN} The soup.", None),
    ]
    assert len(rows) == 9
    assert played.of_kind("survey")[2].data == {"question": OPEN, "answer": "The soup."}
    assert (played.values["survey_fun"], played.values["survey_play_again"]) == (4.0, 1.0)
    assert {"survey_fun", "survey_play_again"} <= KIND.score_names


def test_nobody_is_asked_who_need_not_be() -> None:
    played = play(survey=[])
    assert not asked_at_the_end(played)
    assert not any(name.startswith("survey") for name in played.values)
    assert "survey_fun" not in play(survey=["play_again"]).values


def test_a_mean_is_of_all_of_the_group_or_missing() -> None:
    def one_mumbles(asked: Asked) -> str:
        return "Great, thanks!" if asked.slot.startswith("0.1.") else whole(asked)

    played = play(one_mumbles)
    assert len(asked_at_the_end(played)) == 4  # who cannot be read is asked once more
    assert played.values["survey_fun"] is None
    (score,) = [one for one in played.scores if one.name == "survey_fun"]
    assert played.prelude[1]["name"] in score.reason
    mute = [e for e in played.of_kind("survey") if e.subject == played.prelude[1]["name"]]
    assert [(e.value, e.severity) for e in mute] == [(None, "warning")] * 3
    assert played.values["score"] is not None


def test_a_player_who_cannot_be_asked_costs_the_survey_and_not_the_session() -> None:
    def fails(asked: Asked) -> str:
        if asked.slot.startswith("0.2."):
            raise CallFailed("ProviderUnavailable", "nobody answers", "players")
        return whole(asked)

    played = play(fails)
    assert played.values["survey_fun"] is None
    assert played.values["score"] is not None
    assert played.ended is not None
    assert played.ended[0] == "completed"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"fun": 5, "play_again": false}', {"fun": 5.0, "play_again": 0.0}),
        ('Well:\n```json\n{"fun": 2.5}\n```', {"fun": 2.5}),
        ('{"fun": 6, "play_again": "yes"}', {}),
        ('{"fun": true, "play_again": 1}', {}),
        ('{"fun": "4"}', {}),
        ("Four out of five.", {}),
        ("[]", {}),
    ],
)
def test_what_is_off_its_scale_is_no_answer(text: str, found: dict[str, float]) -> None:
    read = read_answers(text, keyed(["fun", "play_again"]))
    assert {key: one.value for key, one in read.items()} == found


@pytest.mark.parametrize("survey", [["funn"], ["fun", "fun"], [""], ["x " * 600], ["a b"] * 13])
def test_questions_are_checked_before_anything_starts(survey: list[str]) -> None:
    with pytest.raises(ValueError, match=r"survey|funn"):
        PlaytestOptions.model_validate({"survey": survey})


def test_a_survey_is_in_the_estimate_and_nobody_pays_without_one() -> None:
    plain = binding(options=json.dumps({"group": GROUP}))
    asked = binding(options=json.dumps({"group": GROUP, "survey": SURVEY}))
    more = asked.profile[len(asked.profile) - len(plain.profile) :]
    assert len(asked.profile) > len(plain.profile)
    new = [use for use in asked.profile if use not in plain.profile]
    assert {use.role for use in new} == {"players"}
    assert sum(use.calls[1] for use in new) == 3
    assert sum(use.calls[2] for use in new) == 6
    assert all(use.input_tokens > 300 for use in new)
    assert more


def test_an_interview_asks_one_player_and_plays_nothing() -> None:
    before = play(survey=[])
    options = {"group": GROUP, "interview": {"player": "x", "question": "Why did you stay?"}}
    name = before.prelude[2]["name"]
    options["interview"] = {"player": name.lower(), "question": "Why did you stay?"}
    bound = binding(options=json.dumps({"group": GROUP}))
    session = plan(options=options)
    played = play_session(
        KIND,
        session,
        bound.resources,
        lambda asked: "Somebody had to.",
        prelude=before.prelude,
        resume=before.checkpoints[2],
    )
    (asked,) = played.asked
    assert (asked.role, asked.phase) == ("players", "finish")
    assert f"Name: {name}\n" in asked.system
    assert '"""\nWhy did you stay?\n"""' in asked.request
    assert PROSE[0].split(".")[0] in asked.request
    assert PROSE[2].split(".")[0] not in asked.request  # it has not happened yet
    assert [(m.speaker, m.text) for m in played.log.channel(INTERVIEWED)] == [
        ("system", "Why did you stay?"),
        (name, "Somebody had to."),
    ]
    assert not played.scores


def story(turns: int, words: int = 12) -> FakeLog:
    log = FakeLog([Message(TABLE, "Ned", "I keep my promises.", 0, "answer")])
    for turn in range(1, turns + 1):
        told = " ".join(f"word{turn}x{n}" for n in range(words)).capitalize() + ". More."
        log.append(Message(TABLE, NARRATOR, told, turn, "pulse"))
        log.append(Message(TABLE, "Ned", f"I do number {turn}.", turn, REACTION))
        log.append(Message(TABLE, "Ada", f"Ada does {turn}.", turn, REACTION))
    return log


@given(st.integers(0, 60), st.integers(0, 400), st.integers(1, 60))
def test_a_memory_never_takes_more_than_its_room(turns: int, tokens: int, words: int) -> None:
    log = story(turns, words)
    log.append(Message(private_channel("Ned"), NARRATOR, "[To Ned only] " + "s" * 900, turns))
    memory = remembered(log, turns_heard(log, tokens), "Ned", tokens)
    assert len(memory) <= tokens * CHARS_PER_TOKEN


def test_a_memory_holds_own_words_secrets_and_the_newest_turns_best() -> None:
    log = story(40)
    log.append(Message(private_channel("Ned"), NARRATOR, "[To Ned only] The locket hums.", 40))
    log.append(Message(private_channel("Ada"), NARRATOR, "[To Ada only] A key turns.", 40))
    log.append(Message(TABLE, SYSTEM, "The key is for the mill.", 40, TOLD))
    memory = remembered(log, turns_heard(log, 300), "Ned", 300)
    assert "- I keep my promises." in memory
    assert "Turn 40, the narrator: The locket hums." in memory
    assert "A key turns." not in memory
    assert "The key is for the mill." in memory
    assert "You: I do number 40." in memory
    assert "Ada does" not in memory
    assert "Turn 33: Word33x0" in memory
    assert "I do number 33" not in memory  # so long ago, in a few words
    assert "Turn 1:" not in memory
    lines = [line for line in memory.splitlines() if line.startswith("- Turn 3")]
    assert lines == sorted(lines)
