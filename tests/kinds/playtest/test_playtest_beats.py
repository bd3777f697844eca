"""Laws of pulses: each is one of the guide's, told once, and named by the guide's own title."""

from __future__ import annotations

import json

import pytest

from matrix.kinds.playtest.detect.story.beats import beats_of, stands_still, told_by, touched
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.guide import parse_guide
from matrix.kinds.playtest.setup.state import PlaytestState
from tests.kinds.fakes import Played, make_prelude, play_session
from tests.kinds.playtest.script import BEATS, PROSE, SCENARIO, Script, binding, label, plan

GROUP = {"group": ["joker", "engaged"]}
TITLES = [
    item.name
    for item in parse_guide(str(binding(SCENARIO, json.dumps(GROUP)).resources["guide"])).pulses
]


def play(script: Script, *, max_turns: int = 40, guide: str = "", **options: object) -> Played:
    chosen = {**GROUP, **options}
    bound = binding(options=json.dumps(chosen))
    resources = {**bound.resources, **({"guide": guide} if guide else {})}
    session = plan(max_turns=max_turns, options=chosen)
    prelude = make_prelude(KIND, session, resources, script)
    return play_session(KIND, session, resources, script, prelude=prelude)


def pulses(played: Played) -> list[tuple[int, str, float | None]]:
    return [(event.turn, event.subject, event.value) for event in played.of_kind("pulse")]


def test_a_pulse_is_named_by_the_guides_title_and_numbered_as_there() -> None:
    played = play(Script(narrator=BEATS[:5]), max_turns=5)
    assert pulses(played) == [(at, TITLES[at - 1], float(at)) for at in range(1, 6)]


def test_a_pulse_is_dated_by_the_output_that_tells_it_not_by_one_that_shares_words() -> None:
    guide = (
        "# The Hour\n\n## Pulses\n\n"
        "1. **The tide** - The sea, which has had no hour to turn, comes up Station Road.\n"
        "2. **The price** - The clock will give the hour back for minutes that are freely given.\n"
        "3. **The hour** - The hands go back, and the hour comes in over the town like a breath.\n"
    )
    tide, price, hour = (item.detail for item in parse_guide(guide).pulses)
    asked = f"To answer that: there is time to go back for an hour, if you like. {tide}"
    told = play(Script(narrator=[asked, price, hour]), max_turns=3, guide=guide)
    assert [(turn, value) for turn, _, value in pulses(told)] == [(1, 1.0), (2, 2.0), (3, 3.0)]
    both = play(Script(narrator=[f"{tide} {price}", hour]), max_turns=2, guide=guide)
    assert [(turn, value) for turn, _, value in pulses(both)] == [(1, 1.0), (1, 2.0), (2, 3.0)]


def test_a_beat_counts_however_it_is_led_to_and_whatever_the_classifier_calls_it() -> None:
    told = ["Anyway, back to the story. " + BEATS[0], BEATS[1]]
    played = play(Script(narrator=told, labels={1: label("clarification")}), max_turns=2)
    assert [(turn, value) for turn, _, value in pulses(played)] == [(1, 1.0), (2, 2.0)]


def test_a_pulse_told_again_is_counted_once_and_a_loop_is_no_progress() -> None:
    told = [BEATS[0], BEATS[1], BEATS[0], BEATS[2]]
    played = play(Script(narrator=told), max_turns=4)
    assert [value for _, _, value in pulses(played)] == [1.0, 2.0, 3.0]
    assert [event.turn for event in played.of_kind("loop")] == [3]
    assert not [turn for turn, _, _ in pulses(played) if turn == 3]


def test_no_more_pulses_are_counted_than_the_guide_lists() -> None:
    played = play(Script(narrator=[*BEATS, *PROSE]), max_turns=36)
    assert played.values["pulses_detected"] == len(BEATS) == 20.0


def test_a_loop_is_no_pulse_of_a_guide_without_a_list_either() -> None:
    told = [f"{PROSE[0]} {PROSE[1]}", f"{PROSE[0]} {PROSE[1]}", PROSE[2]]
    played = play(Script(narrator=told), max_turns=3, guide="A night on a train.")
    assert [turn for turn, _, _ in pulses(played)] == [1, 3]


def test_a_marker_names_the_pulse_and_is_shown_nowhere() -> None:
    told = [f"[PULSE 1]\n{PROSE[0]}", f"[PULSE 2: A Letter]\n{PROSE[1]}"]
    played = play(Script(narrator=told), max_turns=2)
    assert pulses(played) == [(1, TITLES[0], 1.0), (2, TITLES[1], 2.0)]
    assert not [event for event in played.events if "PULSE" in f"{event.subject} {event.detail}"]


def test_a_later_beat_told_out_of_turn_leaves_the_guide() -> None:
    played = play(Script(narrator=[BEATS[0], BEATS[15], BEATS[1]]), max_turns=3)
    found = [event.subject for event in played.of_kind("guide_deviation")]
    assert found == [TITLES[15]]


def test_an_ending_before_half_of_the_pulses_is_too_early_and_one_after_them_is_not() -> None:
    early = play(Script(narrator=[BEATS[0], f"{PROSE[1]}\n\nTHE END"]))
    (found,) = early.of_kind("early_end")
    assert found.severity == "error"
    assert found.value is not None
    assert found.value < 0.5
    assert early.ended == ("completed", "concluded")
    ending = "Rooke studies the sliver of pearwood, and Iveta plays.\n\nTHE END"
    late = play(Script(narrator=[*BEATS[:12], ending]))
    assert late.of_kind("early_end") == []
    assert late.ended == ("completed", "concluded")


@pytest.mark.parametrize(
    "guide",
    [
        "Story\n\n1. The bridge burns\n2. The ferryman lies\n3. The bell drowns\n\nIt ends at sea.",
        "| Beat | What |\n|---|---|\n| The bridge | burns |\n| The ferryman | lies |\n| Bell | d |",
        "the story goes\n(a) The bridge burns\n(b) The ferryman lies\n(c) The bell drowns",
        "Beat 1: The bridge burns\nBeat 2: The ferryman lies\nBeat 3: The bell drowns",
        "<beats>\n- The bridge burns\n- The ferryman lies\n- The bell drowns\n</beats>",
        "Beats: The bridge burns; the ferryman lies; the bell drowns.",
        "-> The bridge burns\n-> The ferryman lies\n-> The bell drowns",
        "1 the bridge burns / 2 the ferryman lies / 3 the bell drowns",
        "Beats:\nOne. The bridge burns.\nTwo. The ferryman lies.\nThree. The bell drowns.",
        "First the bridge burns. Then the ferryman lies. Finally the bell drowns.",
        "<c1>The bridge burns</c1>\n<c2>The ferryman lies</c2>\n<c3>The bell drowns</c3>",
        "Quietly told. (i) the bridge burns (ii) the ferryman lies (iii) the bell drowns",
        "Parts\n  A  the bridge burns\n  B  the ferryman lies\n  C  the bell drowns",
        ":: HOW IT GOES\n   > the bridge burns\n   > the ferryman lies\n   > the bell drowns",
        "## Acts\n### 1. The bridge\nburns\n### 2. The ferryman\nlies\n### 3. The bell\ndrowns",
    ],
)
def test_beats_are_read_out_of_many_forms_of_guides(guide: str) -> None:
    assert len(beats_of(guide)) == 3
    assert touched(["The ferryman tells you one of his lies."], beats_of(guide)) == {1}


@pytest.mark.parametrize(
    "guide",
    [
        "A ruin.\n\n- The bridge burns\n- The ferryman lies\n- The bell drowns\n- Dawn comes",
        "I'd like this sequence: the bridge burns; the ferryman lies; the bell drowns; dawn comes.",
    ],
)
def test_four_bullets_or_clauses_in_order_are_beats(guide: str) -> None:
    assert len(beats_of(guide)) == 4


def test_bullets_of_something_else_are_no_beats() -> None:
    four = "\n- Ada, a nurse\n- Bram, a smith\n- Cy, a cook\n- Dot, a dog"
    assert beats_of(f"A ruin.\n\nThe people here\n{four}") == ()
    assert beats_of("- **Hook:** a\n- **Twist:** b\n- **Tone:** c\n- **Rule:** d") == ()


def test_who_introduces_the_cast_does_not_jump_to_the_beat_that_names_them() -> None:
    guide = (
        "1. The Major lies shot\n2. A telegram in code\n3. The gun room\n4. A lost ledger\n"
        "5. Nurse Abel says that Mrs Lamb owed money to Mr Orr"
    )
    told = "Here are Nurse Abel, Mrs Lamb and Mr Orr. The Major is dead."
    assert told_by(told, beats_of(guide), (), 1).jumped_to is None


def test_a_guide_of_prose_lists_no_beats() -> None:
    assert beats_of("A night on a train. Somebody has stolen a violin. Then there is a dog.") == ()


CORRIDOR = (
    "Nothing here has changed. The passage goes on, quiet and empty, and nobody answers your call"
    " into it. You wait, and wait again, and still there is no sound at all."
)


def test_outputs_that_say_that_nothing_changes_stand_still_and_others_do_not() -> None:
    guide = "1. The bridge burns\n2. The ferryman lies\n3. The bell drowns"
    begun = "The bridge burns behind you."
    assert stands_still([begun, *[CORRIDOR] * 4], 4, guide)
    assert not stands_still([CORRIDOR] * 4, 4, guide)  # a story has to begin
    told = f"{CORRIDOR} The ferryman lies, and his bell drowns, drowning, while he lies on."
    assert not stands_still([begun, CORRIDOR], 1, guide)  # too short to tell
    assert not stands_still([begun, CORRIDOR, CORRIDOR, told], 3, guide)


def test_clauses_that_deny_and_guess_stand_still_where_nothing_of_the_guide_is_new() -> None:
    guide = "1. The bridge burns\n2. The ferryman lies\n3. The bell drowns"
    begun = "The bridge burns behind you."
    idle = (
        "You try the shed, and it isn't a shed that opens. A gull walks along the gutter and has"
        " opinions that it does not share. The evening is the colour of slate; no one comes down"
        " the lane. You might knock, perhaps, on the other side."
    )
    assert stands_still([begun, *[idle] * 3], 3, guide)
    busy = idle.replace("no one comes down", "the ferryman and his bell come down")
    assert not stands_still([begun, idle, idle, f"{busy} He lies, he drowns."], 3, guide)


@pytest.mark.parametrize(("turns", "told"), [((), 0), ((1, 1, 3), 3), (tuple(range(1, 121)), 140)])
def test_the_newest_pulse_is_known_also_where_there_are_more_than_are_kept(
    turns: tuple[int, ...], told: int
) -> None:
    state = PlaytestState(
        seats=(), spokesperson=0, relay_prompt=0, story_at=0, pulse_turns=turns, last_pulse=140
    )
    assert state.last_told == told
