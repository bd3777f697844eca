"""Laws of what players remember in a turn, and of what a spokesperson makes of what they said."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.playtest.detect.relaying import check_relay
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.archetypes import load_archetypes
from matrix.kinds.playtest.setup.prompts import spokesperson_system
from tests.kinds.fakes import Asked, Played, make_prelude, play_session
from tests.kinds.playtest.script import PROSE, Script, binding, label, plan

GROUP = ["invested", "questioner", "drifter"]
NAMES = ["Odette", "Sam", "Mirko"]
SECRET = "[To Sam only] A moth-eaten glove in your pocket hums a lullaby."


def play(turns: int = 12, **options: object) -> Played:
    chosen = {"group": GROUP, **options}
    cast = [json.dumps({"name": n, "backstory": "B.", "character": "C."}) for n in NAMES]
    script = Script(
        narrator=[PROSE[0], SECRET, *PROSE[1:turns]],
        labels={2: label("private-moment", private_target="Sam")},
        say=lambda name, turn: f"{name} promised the porter {turn} coins.",
        personas=cast,
    )
    bound, session = binding(options=json.dumps(chosen)), plan(options=chosen, max_turns=turns)
    prelude = make_prelude(KIND, session, bound.resources, script)
    return play_session(KIND, session, bound.resources, script, prelude=prelude)


def request(played: Played, name: str, turn: int) -> Asked:
    return next(
        one
        for one in played.asked
        if one.turn == turn and one.role == "players" and f"Name: {name}\n" in one.system
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_player_is_shown_own_answers_own_deeds_and_the_story_so_far(name: str) -> None:
    """What an invested player, a questioner and a drifter can come back to, long after."""
    asked = request(play(), name, 8).request
    assert f"What you told about yourself:\n- {name} promised the porter 0 coins." in asked
    assert f"- Turn 4: {PROSE[2]} You: {name} promised the porter 4 coins." in asked
    assert f"- Turn 7: {PROSE[5]}" in asked
    assert asked.index("The story so far") < asked.index("What the table heard lately")
    assert "Turn 8" not in asked  # that is what the narrator says now
    others = [one for one in NAMES if one != name]
    memory = asked.partition("What the table heard lately")[0]
    assert not any(f"{other} promised" in memory for other in others)


def test_a_secret_is_remembered_by_who_was_told_it_and_by_nobody_else() -> None:
    played = play()
    for turn in (3, 9):
        assert "Turn 2, the narrator: A moth-eaten glove" in request(played, "Sam", turn).request
        assert "Turn 2, you: I keep it to myself." in request(played, "Sam", turn).request
        for other in ("Odette", "Mirko"):
            assert "glove" not in request(played, other, turn).request


def test_how_much_is_remembered_is_an_option_and_in_the_estimate() -> None:
    long, short, none = (
        len(request(play(14, memory_tokens=tokens), "Sam", 13).request) for tokens in (400, 60, 0)
    )
    assert long > short > none
    assert short - none <= 4 * 60 + 2
    assert "promised the porter 0" not in request(play(memory_tokens=0), "Sam", 9).request

    def expected(tokens: int) -> float:
        bound = binding(options=json.dumps({"group": GROUP, "memory_tokens": tokens}))
        return sum(use.input_tokens for use in bound.profile if use.role == "players")

    assert expected(400) > expected(60) > expected(0)


def test_every_archetype_relays_in_a_way_of_its_own() -> None:
    pool = load_archetypes(FolderLibrary(shipped_root()).archetypes())
    said = {id_: spokesperson_system(one, "Ned") for id_, one in pool.items()}
    assert all(one.relay and one.relay in said[id_] for id_, one in pool.items())
    assert len({one.relay for one in pool.values()}) == len(pool) == 10
    without = pool["joker"].model_copy(update={"relay": None})
    assert "you may colour, shorten or slightly misread" in spokesperson_system(without, "Ned")


SAID = [
    ("Ned", "I lift the green lantern off its hook. Can anybody read the brass plate?"),
    ("Ada", "I follow Ned and keep hold of the rope."),
    ("Ivo", "Random question: who brought crisps? I can't be brave on crisps alone."),
]


@pytest.mark.parametrize(
    "relay",
    [
        "Ned lifts the lantern off its hook. Ada follows Ned and keeps hold of the rope.",
        'Ned asks: "Can anybody read the brass plate?" Ada holds the rope.',
        "I follow Ned and keep hold of the rope.",
        "I think we lift the green lantern off its hook.",
        "We lift the green lantern off its hook. It was Ned's idea.",
        "We go down. It was Ivo's idea.",
        'We got sidetracked, because Ivo said: "Who brought crisps? I can\'t be brave on crisps."',
        "We lift the lantern and hold the rope.",
        "Ada has doubts, but we go down.",
        "We wait and listen.",
        "",
    ],
)
def test_words_that_are_where_they_belong_are_not_called_misattributed(relay: str) -> None:
    assert check_relay(relay, SAID, "Ada", "A lantern swings.").misattributed == ()


@pytest.mark.parametrize(
    ("relay", "claimed", "speaker"),
    [
        ("Ada lifts the green lantern off its hook.", "Ada", "Ned"),
        ('Ivo asks: "Can anybody read the brass plate?"', "Ivo", "Ned"),
        ("We go down. Ned keeps hold of the rope and follows.", "Ned", "Ada"),
        ("I lift the green lantern off its hook.", "Ada", "Ned"),
        ("I think I lift the green lantern off its hook.", "Ada", "Ned"),
        ('Ned wants to know: "Who brought crisps?"', "Ned", "Ivo"),
        ('We got sidetracked, and it was me: "Can anybody read the brass plate?"', "Ada", "Ned"),
        ("We lift the green lantern off its hook. It was Ivo's idea.", "Ivo", "Ned"),
        ("We go down. We keep hold of the rope. That was all Ivo\u2019s idea.", "Ivo", "Ada"),
    ],
)
def test_words_in_the_wrong_mouth_are_told(relay: str, claimed: str, speaker: str) -> None:
    (wrong,) = check_relay(relay, SAID, "Ada", "A lantern swings.").misattributed
    assert (wrong.claimed, wrong.speaker) == (claimed, speaker)


def test_what_is_added_and_what_is_left_out_are_shares() -> None:
    faithful = check_relay("Ned lifts the green lantern, Ada holds the rope.", SAID, "Ada", "")
    assert (faithful.added, faithful.left_out) == (0.0, 1 / 3)
    invented = check_relay("We burn the village and steal horses.", SAID, "Ada", "")
    assert (invented.added, invented.left_out) == (1.0, 1.0)
    echoed = check_relay("We look at the windmill.", SAID, "Ada", "A windmill turns.")
    assert echoed.added < 1.0


@given(
    st.text(max_size=300),
    st.lists(st.tuples(st.sampled_from(NAMES), st.text(max_size=80)), max_size=4),
)
def test_any_relay_can_be_compared(relay: str, said: list[tuple[str, str]]) -> None:
    check = check_relay(relay, said, "Sam", relay[::-1])
    assert 0.0 <= check.added <= 1.0
    assert 0.0 <= check.left_out <= 1.0


def test_a_session_says_how_often_its_relays_gave_words_to_somebody_else() -> None:
    chosen = {"group": GROUP}
    cast = [json.dumps({"name": n, "backstory": "B.", "character": "C."}) for n in NAMES]
    script = Script(
        narrator=PROSE[:4],
        personas=cast,
        say=lambda name, turn: {
            "Sam": "I polish the silver trumpet.",
            "Odette": "I count the wooden crates.",
        }.get(name, "I yawn."),
        relay=lambda turn: (
            "Odette polishes the silver trumpet."
            if turn == 2
            else "Sam polishes the silver trumpet, Odette counts the wooden crates, Mirko yawns."
        ),
    )
    bound, session = binding(options=json.dumps(chosen)), plan(options=chosen)
    prelude = make_prelude(KIND, session, bound.resources, script)
    played = play_session(KIND, session, bound.resources, script, prelude=prelude)
    (found,) = played.of_kind("misattribution")
    assert (found.turn, found.subject) == (2, "Odette")
    assert found.detail.startswith("words of Sam: ")
    assert played.values["relay_misattributed"] == 0.25
    left_out = played.values["relay_left_out"]
    assert left_out is not None
    assert 0 < left_out < 0.25


def test_moods_pass_from_reaction_to_reaction_and_are_the_same_for_every_variant() -> None:
    def moods(played: Played) -> list[list[str]]:
        said = [one.request for one in played.asked if one.role == "players" and one.turn]
        return [re.findall(r"Right now you feel (\w+)\.", request) for request in said]

    often = moods(play(16, mood_swings=0.5))
    assert often == moods(play(16, mood_swings=0.5, prompt="pulse-aware"))
    assert len({one[0] for one in often if one}) > 3
    assert 0.25 < sum(map(bool, often)) / len(often) < 0.75
    assert not any(moods(play(16, mood_swings=0.0)))
