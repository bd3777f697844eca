"""Laws of a session: who is asked what, how it ends, and that it can go on from any turn."""

from __future__ import annotations

import json

import pytest

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup import prompts
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.model.errors import BadInput, CallFailed
from tests.kinds.fakes import Asked, Played, make_prelude, play_session
from tests.kinds.playtest.script import BEATS, PROSE, Script, binding, label, plan

LOOPED = f"{PROSE[0]} {PROSE[1]} {PROSE[2]}"
GROUP = {"group": ["joker", "engaged", "drifter"]}


def play(script: Script, *, max_turns: int = 40, **options: object) -> Played:
    chosen = {**GROUP, **options}
    bound = binding(options=json.dumps(chosen))
    session = plan(max_turns=max_turns, options=chosen)
    prelude = make_prelude(KIND, session, bound.resources, script)
    return play_session(KIND, session, bound.resources, script, prelude=prelude)


def test_an_output_that_reached_its_most_tokens_is_no_breakdown_and_names_the_setting() -> None:
    """Two torn outputs in a row are, where nothing cut them: the session fails."""
    torn = [f"{text} And then the" for text in PROSE[:3]]
    cut = play(Script(narrator=torn, cut={1, 2, 3}), max_turns=3)
    assert cut.ended == ("timeout", "3 turns")
    assert cut.of_kind("breakdown") == []
    assert [one.turn for one in cut.of_kind("cut_short")] == [1, 2, 3]
    assert "max_tokens" in cut.of_kind("cut_short")[0].detail
    itself = play(Script(narrator=torn), max_turns=3)
    assert itself.ended is not None
    assert (itself.ended[0], itself.of_kind("cut_short")) == ("failed", [])


def test_the_same_short_answer_to_the_same_question_is_no_loop() -> None:
    told = ["It is 1963, and it snows.", PROSE[1], "It is 1963, and it snows."]

    def loops(first: str, again: str) -> int:
        asks = {1: f'Ann asks: "{first}"', 3: f'And from me: "{again}"'}
        script = Script(narrator=[PROSE[0], *told], relay=lambda turn: asks.get(turn, "We go on."))
        return len(play(script, max_turns=4).of_kind("loop"))

    assert loops("What year is it?", "Which year is it now?") == 0
    assert loops("What year is it?", "Who owns the samovar?") == 1


def asked_of(played: Played, role: str, turn: int) -> list[Asked]:
    return [asked for asked in played.asked if asked.role == role and asked.turn == turn]


def test_character_creation_is_welcome_introductions_question_answers() -> None:
    played = play(Script(), max_turns=1)
    labels = [m.label for m in played.log.channel("table") if m.turn == 0]
    assert labels == ["welcome", *["introduction"] * 3, "question", *["answer"] * 3]
    first, second = asked_of(played, "narrator", 0)
    assert first.request.startswith("[table] 3 people")
    assert second.request.endswith("Do not start the story yet.")
    for seat in played.prelude:
        assert f"{seat['name']}: I go along" in second.request
    assert [(p.name, p.is_spokesperson) for p in played.players] == [
        (seat["name"], seat["spokesperson"]) for seat in played.prelude
    ]


def test_a_turn_is_narrator_classifier_players_in_parallel_spokesperson() -> None:
    played = play(Script(), max_turns=2)
    roles = [(asked.role, asked.slot) for asked in played.asked if asked.turn == 2]
    assert roles[:6] == [
        ("narrator", "0"),
        ("classifier", "1"),
        ("players", "2.0.0"),
        ("players", "2.1.0"),
        ("players", "2.2.0"),
        ("spokesperson", "3"),
    ]
    assert asked_of(played, "classifier", 2)[0].schema is not None


def test_the_narrator_reads_the_whole_story_as_an_alternation() -> None:
    played = play(Script(), max_turns=4)
    messages = asked_of(played, "narrator", 4)[0].messages
    assert [m.role for m in messages] == ["system", *["user", "assistant"] * 5, "user"]
    assert messages[0].content.startswith(prompts.NARRATOR)
    assert messages[5].content.endswith("[table] Begin the story now.")
    assert [m.content for m in messages if m.role == "assistant"][2:] == list(PROSE[:3])
    assert messages[-1].content == "We go along, for the 3. time."


def test_players_see_the_last_table_talk_and_their_own_persona_only() -> None:
    played = play(Script(), max_turns=3, recent_messages=4)
    for asked, seat in zip(asked_of(played, "players", 3), played.prelude, strict=True):
        assert f"Name: {seat['name']}\n" in asked.system
        assert PROSE[2] in asked.request
        lately = asked.request.partition("What the table heard lately:")[2]
        assert lately.count("I go along") == 3
        assert "To the narrator: We go along, for the 2. time." in asked.request
        assert PROSE[1] not in lately  # five messages back


def test_players_are_asked_by_their_archetypes_models_and_the_spokesperson_too() -> None:
    played = play(Script(), max_turns=1)
    bound = binding(options=json.dumps(GROUP))
    models = [f"sim/{bound.resources['archetypes'][id_]['model']}" for id_ in GROUP["group"]]
    assert [asked.model for asked in asked_of(played, "players", 1)] == models
    speaker = next(i for i, seat in enumerate(played.prelude) if seat["spokesperson"])
    assert asked_of(played, "spokesperson", 1)[0].model == models[speaker]


def test_a_conclusion_ends_the_session_and_gets_no_reactions() -> None:
    played = play(Script(labels={3: label("clarification", concluded=True)}))
    assert played.ended == ("completed", "concluded")
    assert played.checkpoints[-1].turn == 3
    assert asked_of(played, "players", 3) == []
    assert asked_of(played, "spokesperson", 3) == []
    assert played.values["concluded"] == 1.0


def test_the_closing_line_concludes_even_if_the_classifier_misses_it() -> None:
    played = play(Script(narrator=PROSE[:2]))
    assert played.ended == ("completed", "concluded")
    assert played.checkpoints[-1].turn == 3


def test_a_narrator_that_repeats_itself_three_times_has_failed() -> None:
    played = play(Script(narrator=[PROSE[0], *[PROSE[1]] * 8]))
    why = "3 of its last 5 outputs repeat earlier ones (turns 3, 4, 5)"
    assert played.ended == ("failed", f"the narrator repeated itself: {why}")
    assert played.checkpoints[-1].turn == 5  # said at 2, again at 3, 4 and 5
    assert len(played.of_kind("loop")) == 3
    assert played.values["loops"] == 3.0  # counted although finish is never reached
    assert "score" not in played.values


def test_short_forced_returns_are_forced_segues_alone() -> None:
    same = "Back to the story: nothing has changed. You still have to decide. What do you do?"
    returns = [f"{opening} {same}" for opening in ("Moving on.", "Right.", "Okay, enough of that.")]
    played = play(Script(narrator=[*PROSE[:2], *returns, *PROSE[2:]]))
    assert played.ended == ("completed", "concluded")
    assert played.of_kind("loop") == []
    assert len(played.of_kind("forced_segue")) == 3


def test_a_forced_return_that_tells_its_scene_again_is_a_loop_as_well() -> None:
    scene = " ".join(PROSE[1:4])
    played = play(Script(narrator=[PROSE[0], scene, f"Back to the story. {scene}", *PROSE[4:]]))
    assert [event.turn for event in played.of_kind("loop")] == [3]
    assert [event.turn for event in played.of_kind("forced_segue")] == [3]


def test_a_contradiction_quotes_both_statements_as_they_were_told() -> None:
    before = 'Bohl, who asks twice, says: "Decide together." The cellar hatch will not open.'
    after = 'Bohl says: "Mind what you promise." The cellar hatch stands open.'
    played = play(Script(narrator=[PROSE[0], before, PROSE[1], after, *PROSE[2:]]))
    (found,) = played.of_kind("contradiction")
    assert found.detail == (
        "turn 2: 'The cellar hatch will not open.' against: 'The cellar hatch stands open.'"
    )


def test_an_occasional_repetition_is_an_issue_but_no_failure() -> None:
    told = [*PROSE[:4], PROSE[3], *PROSE[4:9], PROSE[8], *PROSE[9:14], PROSE[13]]
    played = play(Script(narrator=told))
    assert played.ended == ("completed", "concluded")
    assert len(played.of_kind("loop")) == 3


@pytest.mark.parametrize("blank", ["", "   \n", "...", "[ANSWER]"])
def test_two_unusable_outputs_in_a_row_fail_and_one_does_not(blank: str) -> None:
    once = play(Script(narrator=[PROSE[0], blank, *PROSE[1:4]]))
    assert once.ended == ("completed", "concluded")
    assert len(once.of_kind("breakdown")) == 1
    twice = play(Script(narrator=[PROSE[0], blank, blank, *PROSE[1:4]]))
    assert twice.ended == ("failed", "no usable output 2 times in a row")
    assert asked_of(twice, "players", 2) == []


def test_after_an_unusable_output_the_narrator_is_asked_the_same_again() -> None:
    played = play(Script(narrator=[PROSE[0], "", *PROSE[1:3]]))
    assert (
        asked_of(played, "narrator", 3)[0].messages == asked_of(played, "narrator", 2)[0].messages
    )


def test_silence_during_character_creation_fails_at_once() -> None:
    script = Script()

    def handler(asked: Asked) -> str:
        return "" if asked.role == "narrator" else script(asked)

    session = plan(options=GROUP)
    bound = binding(options=json.dumps(GROUP))
    prelude = make_prelude(KIND, session, bound.resources, script)
    played = play_session(KIND, session, bound.resources, handler, prelude=prelude)
    assert played.ended is not None
    assert played.ended[0] == "failed"
    assert played.checkpoints[-1].turn == 0


def test_silent_players_are_heard_as_silence_and_nobody_is_asked_to_relay_it() -> None:
    played = play(Script(say=lambda name, turn: "" if turn == 1 else "Fine."), max_turns=2)
    assert asked_of(played, "spokesperson", 1) == []
    assert asked_of(played, "narrator", 2)[0].request == "(Nobody says anything.)"


def test_a_spokesperson_without_words_lets_the_players_speak_for_themselves() -> None:
    played = play(Script(relay=lambda turn: ""), max_turns=2)
    relayed = asked_of(played, "narrator", 2)[0].request
    assert relayed == "\n".join(
        f"{seat['name']}: I go along, says {seat['name']}." for seat in played.prelude
    )


def test_an_unreadable_classification_falls_back_to_the_text_and_says_so() -> None:
    told = [f"{PROSE[0]} {PROSE[1]}", "Yes, it is."]
    script = Script(
        narrator=told,
        labels=dict.fromkeys(range(1, 9), "no idea, sorry"),
        relay=lambda turn: "Is the door locked?",
    )
    played = play(script, max_turns=2)
    assert [event.subject for event in played.of_kind("classification_fallback")] == [
        "pulse",
        "clarification",
    ]
    said = [m for m in played.log.channel("table") if m.speaker == "narrator" and m.turn]
    assert all(message.confidence is not None and message.confidence < 0.5 for message in said)


def test_what_the_wording_shows_is_asked_of_no_classifier_and_later_calls_keep_their_places() -> (
    None
):
    told = [f"[PULSE 1]\n{PROSE[0]}", f"[ANSWER]\n{PROSE[1]}", BEATS[1], f"{PROSE[2]} THE END"]
    played = play(Script(narrator=told))
    assert [asked.turn for asked in played.asked if asked.role == "classifier"] == []
    assert asked_of(played, "players", 1)[0].slot == "2.0.0"
    assert played.ended == ("completed", "concluded")
    said = [m for m in played.log.channel("table") if m.speaker == "narrator" and m.turn]
    assert [message.label for message in said] == [
        "pulse",
        "clarification",
        "pulse",
        "pulse",
    ]
    assert all(message.confidence is not None and message.confidence > 0.8 for message in said)


def test_after_a_tangent_the_classifier_is_asked_whatever_the_wording_shows() -> None:
    played = play(
        Script(narrator=BEATS[:2], relay=lambda turn: "Off topic, but who ordered the pizza?"),
        max_turns=2,
    )
    assert [asked.turn for asked in played.asked if asked.role == "classifier"] == [2]


@pytest.mark.parametrize("mark", ["", "[PULSE]\n"])
def test_how_a_narrator_writes_decides_not_whether_the_group_is_heard_to_leave_the_story(
    mark: str,
) -> None:
    """No word of the relay is a known cue, and the classifier says what it is."""
    off = label("pulse", group_off_story=True, segue="natural")
    played = play(
        Script(
            narrator=[f"{mark}{beat}" for beat in BEATS[:4]],
            relay=lambda turn: "Did anyone watch the cup final? Extra time was a joke, honestly.",
            labels={2: off, 3: off, 4: off},
        ),
        max_turns=4,
    )
    assert {asked.turn for asked in played.asked if asked.role == "classifier"} >= {2, 3, 4}
    assert played.values["tangent_count"] == 3.0, "each is met by a beat, and begun anew"
    assert played.values["explorations"] == 0.0
    assert played.values["pulses_detected"] == 4.0


def test_a_beat_that_is_told_is_counted_whatever_the_classifier_calls_it() -> None:
    """It is asked because of what the group said, and may take the output for something else."""
    for said in ("recap", "clarification", "tangent-response"):
        labels = {turn: label(said, group_off_story=True) for turn in range(1, 5)}
        off = Script(narrator=BEATS[:4], relay=lambda _: "Who won the match?", labels=labels)
        assert play(off, max_turns=4).values["pulses_detected"] == 4.0


def test_what_is_meant_for_one_player_is_asked_of_the_classifier_beside_any_beat() -> None:
    script = Script(narrator=BEATS[:2])
    name = str(play(script, max_turns=1).prelude[0]["name"])
    whispered = f"{BEATS[1]} {name} alone smells smoke; the others notice nothing of it."
    alone = label("private-moment", private_target=name)
    played = play(Script(narrator=[BEATS[0], whispered], labels={2: alone}), max_turns=2)
    assert [asked.turn for asked in played.asked if asked.role == "classifier"][-1] == 2
    assert played.values["private_moments"] == 1.0


def test_a_guides_own_ending_is_asked_about_when_its_pulses_are_told() -> None:
    """It has no closing line, and its beat alone does not say that the story is over."""
    ended = {turn: label("clarification", concluded=True) for turn in range(len(BEATS), 40)}
    played = play(Script(narrator=BEATS, labels=ended))
    assert played.ended == ("completed", "concluded")
    assert {m.turn for m in played.log.channel("table")} == set(range(len(BEATS) + 1))


def test_a_session_ends_on_the_failures_that_the_options_name() -> None:
    told = [f"{PROSE[0]} The gate is locked.", f"{PROSE[1]} The gate is open.", *PROSE[2:6]]
    goes_on = play(Script(narrator=told), max_turns=4)
    assert goes_on.ended == ("timeout", "4 turns")
    assert goes_on.values["contradictions"] == 1.0
    ended = play(Script(narrator=told), max_turns=4, end_on=["contradiction"])
    assert ended.ended == ("failed", "the narrator contradicted itself about gate")
    loop = play(Script(narrator=[LOOPED] * 8), max_turns=6, end_on=["breakdown"])
    assert loop.ended == ("timeout", "6 turns")


def test_a_session_has_finished_if_it_was_told_to_its_end_and_passed_if_thresholds_hold() -> None:
    ending = "Rooke studies the sliver of pearwood, and Iveta plays.\n\nTHE END"
    whole, early = [*BEATS[:12], ending], [BEATS[0], f"{PROSE[1]}\n\nTHE END"]
    assert play(Script(narrator=whole)).values["finished"] == 1.0
    assert play(Script(narrator=early)).values["finished"] == 0.0
    assert play(Script(narrator=whole)).values["passed"] is None
    for told, passed in ((whole, 1.0), (early, 0.0)):
        thresholds = {"finished": 1, "pulses_detected": 10, "loops": 0}
        assert play(Script(narrator=told), pass_if=thresholds).values["passed"] == passed
    failed = play(Script(narrator=[LOOPED] * 9), pass_if={"score": 1})
    assert (failed.ended or ("",))[0] == "failed"
    assert failed.values["passed"] == 0.0


def test_a_threshold_of_no_score_is_a_mistake() -> None:
    with pytest.raises(BadInput, match="no score is called 'scroe'"):
        binding(options=json.dumps({"pass_if": {"scroe": 3}}))


def test_markers_are_not_read_out_to_players_but_stay_in_the_narrators_own_history() -> None:
    told = [f"[PULSE 1]\n{PROSE[0]}", PROSE[1]]
    played = play(Script(narrator=told), max_turns=2)
    assert all("[PULSE" not in asked.request for asked in asked_of(played, "players", 1))
    assert "[PULSE 1]" in asked_of(played, "narrator", 2)[0].messages[-2].content


def test_a_session_taken_up_from_any_turn_goes_on_the_same() -> None:
    labels = {
        3: label("private-moment", private_target="odette"),
        5: label("tangent-response", group_off_story=True),
        6: label(segue="natural", segue_quality=4),
    }
    whole = play(Script(labels=labels))
    bound = binding(options=json.dumps(GROUP))
    session = plan(options=GROUP)
    for checkpoint in whole.checkpoints[:-1]:
        rest = play_session(
            KIND,
            session,
            bound.resources,
            Script(labels=labels),
            prelude=whole.prelude,
            resume=checkpoint,
        )
        assert rest.log.messages == whole.log.messages
        assert rest.checkpoints[-1] == whole.checkpoints[-1]
        assert rest.ended == whole.ended
        assert rest.values == whole.values
        assert rest.asked == [
            a for a in whole.asked if a.turn > checkpoint.turn or a.phase == "finish"
        ]
        assert rest.events == [event for event in whole.events if event.turn > checkpoint.turn]


def test_a_branch_with_another_prompt_or_model_takes_effect_at_once() -> None:
    whole = play(Script())
    changed = {**GROUP, "prompt": "pulse-aware"}
    bound = binding(options=json.dumps(changed))
    branch = play_session(
        KIND,
        plan(options=changed, roles={"narrator": "sim/opus-4.5", "players": "sim/haiku"}),
        bound.resources,
        Script(),
        prelude=whole.prelude,
        resume=whole.checkpoints[5],
    )
    asked = asked_of(branch, "narrator", 6)[0]
    assert bound.resources["prompt"].strip() in asked.system
    assert asked.model == "sim/opus-4.5"
    assert {a.model for a in asked_of(branch, "players", 6)} == {"sim/haiku"}
    assert asked.messages[1:] == asked_of(whole, "narrator", 6)[0].messages[1:]


def test_state_stays_small_and_holds_no_history() -> None:
    played = play(Script(), max_turns=17)
    assert all(len(checkpoint.state) < 2048 for checkpoint in played.checkpoints)
    assert PROSE[0].encode() not in played.checkpoints[-1].state


def test_a_verdict_that_cannot_be_read_is_asked_once_more_then_missing() -> None:
    good = '{"coherence": 5, "reason": "fine"}'
    second = play(Script(verdicts=["I liked it.", good]), max_turns=2)
    assert second.values["quality_coherence"] == 5.0
    assert not second.of_kind("judge_unparsed")
    never = play(Script(verdicts=["I liked it."]), max_turns=2)
    assert len(asked_of(never, "judge", 2)) == 2
    assert never.values["quality_coherence"] is None
    assert len(never.of_kind("judge_unparsed")) == 1
    assert never.values["score"] is None, "the other parts alone are no score of a judged session"
    assert never.values["part_progress"] is not None


def test_no_judge_means_no_judge_call_and_a_score_all_the_same() -> None:
    played = play(Script(), max_turns=3, with_judge=False)
    assert not asked_of(played, "judge", 3)
    assert "quality_coherence" not in played.values
    assert played.values["part_quality"] is None
    assert played.values["score"] is not None


@pytest.mark.parametrize("role", ["narrator", "players", "classifier", "spokesperson", "judge"])
def test_a_call_that_failed_for_good_is_left_to_the_engine(role: str) -> None:
    script = Script()
    bound = binding(options=json.dumps(GROUP))
    session = plan(max_turns=2, options=GROUP)
    prelude = make_prelude(KIND, session, bound.resources, script)

    def handler(asked: Asked) -> str:
        if asked.role == role:
            raise CallFailed("ProviderTimeout", "no answer in time")
        return script(asked)

    with pytest.raises(CallFailed):
        play_session(KIND, session, bound.resources, handler, prelude=prelude)


def test_a_beat_beside_a_phrase_that_was_told_before_is_kept() -> None:
    secret = "The lamp in your hand was lit by somebody who has not been born yet, and knows it."
    told = [PROSE[0], f"{secret} {PROSE[1]}", f"{PROSE[2]} {PROSE[3]} And now it matters: {secret}"]
    played = play(Script(narrator=[*told, *PROSE[4:8], told[0]]))
    assert [event.turn for event in played.of_kind("loop")] == [8]
    assert played.of_kind("loop")[0].detail.startswith("all of the output was said in turn 1: ")


def test_phrases_of_long_ago_are_loops_but_no_circle_that_ends_a_session() -> None:
    played = play(Script(narrator=[*PROSE, *PROSE[:3]]))
    assert [event.turn for event in played.of_kind("loop")] == [17, 18, 19]
    assert [event.data for event in played.of_kind("loop")] == [{"turns": [n]} for n in (1, 2, 3)]
    assert played.ended == ("completed", "concluded")


def test_a_state_of_an_earlier_version_is_still_read() -> None:
    state = play(Script(), max_turns=2).checkpoints[-1].state
    known = PlaytestState.model_validate_json(state)
    assert PlaytestState.model_validate({**known.model_dump(), "sketches": [[1, 2]]}) == known
