"""Laws of private moments: they reach their target, and nobody else reads them."""

from __future__ import annotations

import json

import pytest

from matrix.kinds.playtest.detect.asides import (
    Aside,
    addressed_alone,
    heard,
    match_name,
    split_tagged,
    tells_others,
)
from matrix.kinds.playtest.detect.moments import (
    Placing,
    find_payoffs,
    is_read_out,
    open_moment,
    placing_of,
)
from matrix.kinds.playtest.detect.reading import read
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.state import MomentBook, PlaytestState, Seat, TangentBook
from matrix.model.records import Message
from tests.kinds.fakes import FakeLog, Played, make_prelude, play_session
from tests.kinds.playtest.script import PROSE, Script, binding, label, plan

GROUP = {"group": ["joker", "engaged", "drifter"]}
NAMES = ["Odette", "Sam", "Anne-Marie"]
SECRET = "A moth-eaten glove in your pocket hums your grandmother's lullaby."


def cast(*names: str) -> list[str]:
    return [json.dumps({"name": n, "backstory": "B.", "character": "C."}) for n in names]


def play(output: str, classified: str, *, private: str = "I keep it to myself.") -> Played:
    script = Script(
        narrator=[PROSE[0], output, PROSE[1]],
        labels={2: classified},
        private=private,
        personas=cast(*NAMES),
    )
    bound = binding(options=json.dumps(GROUP))
    session = plan(options=GROUP)
    prelude = make_prelude(KIND, session, bound.resources, script)
    return play_session(KIND, session, bound.resources, script, prelude=prelude)


def heard_by(played: Played, name: str) -> str:
    return "\n".join(
        asked.request
        for asked in played.asked
        if asked.role == "players" and f"Name: {name}\n" in asked.system
    )


private = label("private-moment", private_target="sam.")

CASES = [
    pytest.param(SECRET, private, id="classifier names the target"),
    pytest.param(f"[To Sam only] {SECRET}", private, id="tagged and classified"),
    pytest.param(f"[To Sam only] {SECRET}", label("pulse"), id="tagged, classifier missed it"),
    pytest.param(f"[ASIDE -> Sam]\n[To Sam only] {SECRET}", private, id="structured prompt"),
    pytest.param(f"{PROSE[2]}\n\n[To Sam only] {SECRET}", label("pulse"), id="beside a pulse"),
    pytest.param(f"[To Sam only] {SECRET}\n\n{PROSE[2]}", private, id="before a pulse"),
    *(
        pytest.param(f"{PROSE[2]}\n\n{tag} {SECRET}", label("pulse"), id=tag)
        for tag in (
            "(whispered to Sam)",
            "(privately to Sam):",
            "(To Sam only)",
            "(Sam, privately)",
            "**To Sam, privately:**",
            "**(To Sam only):**",
            "*To Sam, in private:*",
            "To Sam alone:",
            "Privately, to Sam:",
            "**Whisper to Sam:**",
            "[WHISPER: Sam]",
            "[ASIDE -> Sam]",
            "[Sam only]",
        )
    ),
]


@pytest.mark.parametrize(("output", "classified"), CASES)
def test_a_private_moment_reaches_only_its_target(output: str, classified: str) -> None:
    played = play(output, classified)
    assert "grandmother's lullaby" in heard_by(played, "Sam")
    for other in ("Odette", "Anne-Marie"):
        assert "lullaby" not in heard_by(played, other)
    relays = [asked.request for asked in played.asked if asked.role == "spokesperson"]
    assert not any("lullaby" in request for request in relays)
    assert all("lullaby" not in line for line in played.said())
    assert any("lullaby" in line for line in played.said("private/Sam"))
    assert [event.subject for event in played.of_kind("private_moment")] == ["Sam"]


@pytest.mark.parametrize(("output", "classified"), CASES[:4])
def test_the_others_notice_and_the_narrator_hears_the_reply(output: str, classified: str) -> None:
    played = play(output, classified)
    assert "speaks to Sam alone, who keeps it to themself" in heard_by(played, "Odette")
    next_ask = next(a for a in played.asked if a.role == "narrator" and a.turn == 3)
    assert next_ask.request == "[private] Sam, to you alone: I keep it to myself."
    assert not [a for a in played.asked if a.role == "spokesperson" and a.turn == 2]


def test_beside_a_pulse_the_group_plays_on() -> None:
    played = play(f"{PROSE[2]}\n\n[To Sam only] {SECRET}", label("pulse"))
    next_ask = next(a for a in played.asked if a.role == "narrator" and a.turn == 3)
    assert next_ask.request.startswith("[private] Sam, to you alone:")
    assert next_ask.request.endswith("We go along, for the 2. time.")
    assert PROSE[2] in heard_by(played, "Odette")


def test_a_player_who_tells_the_others_is_heard_and_so_is_the_secret() -> None:
    played = play(SECRET, private, private="I show everybody the glove and shrug.")
    assert "Sam: I show everybody the glove and shrug." in played.said()
    told = "Sam tells the others what the narrator said"
    for other in ("Odette", "Anne-Marie"):
        assert told in heard_by(played, other)
        assert "grandmother's lullaby" in heard_by(played, other)
    assert [event.value for event in played.of_kind("private_reply")] == [1.0]
    assert (played.values["private_shared"], played.values["private_spoiled"]) == (1.0, 0.0)


def told_later(
    out: str,
    kind: str,
    *,
    reply: str = "I keep it to myself.",
    secret: str = SECRET,
    at_last: str = PROSE[5],
) -> Played:
    """A secret in turn 2, and an output of turn 4 that has something of it, of a kind."""
    script = Script(
        narrator=[PROSE[0], f"[To Sam only] {secret}", PROSE[1], out, at_last],
        labels={4: label(kind), 5: label(kind)},
        private=reply,
        personas=cast(*NAMES),
    )
    bound, session = binding(options=json.dumps(GROUP)), plan(options=GROUP)
    prelude = make_prelude(KIND, session, bound.resources, script)
    return play_session(KIND, session, bound.resources, script, prelude=prelude)


PLAIN = "You know what they sang, and who she was, and where it came from."
"""No word of it is long and rare enough to set it apart."""


@pytest.mark.parametrize("secret", [SECRET, PLAIN])
@pytest.mark.parametrize("kind", ["pulse", "clarification", "recap", "tangent-response"])
@pytest.mark.parametrize("reply", ["I keep it to myself.", "I tell the others at once."])
def test_a_secret_that_is_read_out_pays_off_or_is_spoiled_once_and_never_both(
    secret: str, kind: str, reply: str
) -> None:
    """The story makes it everybody's, or it slips out in passing while its player keeps it."""
    out = f"It matters now. {secret} Everybody has heard it."
    played = told_later(out, kind, reply=reply, secret=secret, at_last=f"Again: {secret}")
    spoiled = kind != "pulse" and reply.startswith("I keep")
    found = played.of_kind("private_spoiled" if spoiled else "private_payoff")
    assert [(one.turn, one.subject, one.value) for one in found] == [(4, "Sam", 2.0)]
    assert played.of_kind("private_payoff" if spoiled else "private_spoiled") == []
    assert played.values["private_spoiled"] == float(spoiled)
    assert played.values["private_payoff_rate"] == float(not spoiled)


def test_what_all_had_heard_before_is_no_secret_that_is_read_out() -> None:
    told = PROSE[0].removesuffix(".")
    played = told_later(f"Once more: {told}, says he.", "clarification", secret=f"{told}, again.")
    assert played.of_kind("private_spoiled") == played.of_kind("private_payoff") == []


def test_a_moment_that_cannot_be_followed_is_in_no_share_of_payoffs() -> None:
    played = told_later(PROSE[3], "pulse", secret="It is so.")
    assert played.values["private_moments"] == 1.0
    assert played.values["private_payoff_rate"] is None
    (score,) = [one for one in told_later(PROSE[3], "pulse").scores if "payoff_rate" in one.name]
    assert (score.value, score.reason) == (0.0, "0 of 1 private moments paid off")


def test_a_secret_that_is_read_out_beside_the_aside_is_spoiled_at_once() -> None:
    played = play(f"{PROSE[2]} {SECRET}\n\n[To Sam only] {SECRET}", label("pulse"))
    assert [event.turn for event in played.of_kind("private_spoiled")] == [2]


@pytest.mark.parametrize(
    "public",
    [
        "A glove lies on the seat, and somewhere a lullaby is hummed.",
        "Your grandmother's lullaby, thinks the porter.",
        PROSE[4],
        "",
    ],
)
def test_a_hint_gives_nothing_away(public: str) -> None:
    assert not is_read_out(f"[To Sam only] {SECRET}", public)


def test_how_a_moment_is_placed_is_measured() -> None:
    sheet = (
        "# You are a player\n\n## Who you are\nSam mends clarinets and keeps bees.\nAn heir."
        "\n\n## How you play\n- You wait."
    )
    log = FakeLog([Message("persona/Sam", "system", sheet, 0)])
    log.append(Message("table", "Sam", "I was raised by my grandparents.", 0, "answer"))
    log.append(Message("table", "narrator", "The corridor lamp swings.", 1, "pulse"))
    seat = Seat(name="Sam", archetype="joker", persona=0)
    state = PlaytestState(
        seats=(seat,), spokesperson=0, relay_prompt=0, story_at=2, pulses=1, turns=1
    )
    guide = "- **The Night Mail** - a train with a whistle"

    def placed(text: str, state: PlaytestState = state) -> Placing:
        return placing_of(state, Aside("Sam", text), 4, log, guide, "")

    assert placed("A clarinet plays your grandmother's tune.") == (1.0, 0.0, 1.0)
    assert placed("A swinging lamp; the whistle of the train.") == (0.0, 1.0, 1.0)
    assert placed("Somebody coughs.") == (0.0, 0.0, 1.0)
    away = state.model_copy(update={"tangents": TangentBook(since=3), "pulses": 0})
    assert placed("Somebody coughs.", away)[2] == pytest.approx(1 / 3)
    log.append(Message("private/Sam", "narrator", "[To Sam only] A moth.", 3, "private-moment"))
    assert placed("Somebody coughs.")[2] == pytest.approx(2 / 3)


def test_placing_and_payoff_are_scores_of_the_session() -> None:
    played = play(f"[To Sam only] {SECRET}", private)
    (event,) = played.of_kind("private_moment")
    assert event.data is not None
    assert set(event.data) == {"alignment", "appropriateness", "timing"}
    for name, value in event.data.items():
        assert played.values[f"private_{name}"] == value
    assert played.values["private_payoff_rate"] == 0.0
    quiet = play(PROSE[2], label("pulse"))
    assert quiet.values["private_timing"] is None
    assert quiet.values["private_shared"] is None


@pytest.mark.parametrize("target", ["Barnabas", "", "the whole group", "Sam and Odette"])
def test_an_unknown_target_falls_back_to_the_group(target: str) -> None:
    played = play(PROSE[3], label("private-moment", private_target=target or None))
    assert not played.of_kind("private_moment")
    for name in NAMES:
        assert PROSE[3] in heard_by(played, name)


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        ("Sam", "Sam"),
        ("sam", "Sam"),
        ("SAM!", "Sam"),
        ("player Sam (the drifter)", "Sam"),
        ("Ode", "Odette"),
        ("Odette's", "Odette"),
        ("anne-marie", "Anne-Marie"),
        ("Sam and Odette", None),
        ("everyone", None),
        ("", None),
        ("S", None),
    ],
)
def test_names_are_matched_leniently_but_never_guessed(requested: str, found: str | None) -> None:
    assert match_name(requested, NAMES) == found


@pytest.mark.parametrize(
    "text",
    [
        "[To Sam only] You see it.",
        "[TO SAM ONLY] You see it.",
        "[Sam only: you see it.]",
        "[For Sam alone] You see it.",
        "[To Sam] You see it.",
        "[ASIDE -> Sam]\nYou see it.",
        "[PRIVATE: Sam] You see it.",
        "[PRIVATE] Sam: You see it.",
        "**[Whisper] To Sam:** you see it.",
        "**Private \u2014 Sam:** You see it.",
        "> **Sam only:** You see it.",
        "**Sam alone:** You see it.",
        "### For Sam only\n\nYou see it.",
        "## Sam, privately\nYou see it.",
        "[To Sam only]\n\nYou see it.",
        "**To Sam, privately:**\n\nYou see it.",
    ],
)
def test_private_tags_are_recognised_in_many_shapes(text: str) -> None:
    parts = split_tagged(text, NAMES)
    assert parts.public == ""
    assert [aside.target for aside in parts.asides] == ["Sam"]
    assert heard(parts.asides[0].text).lower().startswith("you see it")


def test_a_tag_that_stands_alone_is_of_the_paragraph_below_it() -> None:
    parts = split_tagged(f"{PROSE[0]}\n\n[To Sam only]\n\nOne.\n\n{PROSE[1]}", NAMES)
    assert [(a.target, heard(a.text)) for a in parts.asides] == [("Sam", "One.")]
    assert PROSE[1] in parts.public
    assert "One." not in parts.public


def test_a_heading_for_one_player_is_of_its_whole_section() -> None:
    text = f"{PROSE[0]}\n\n### For Sam only\n\nOne.\n\nTwo.\n\n---\n\n{PROSE[1]}"
    parts = split_tagged(text, NAMES)
    assert [(a.target, heard(a.text)) for a in parts.asides] == [("Sam", "One.\n\nTwo.")]
    assert PROSE[1] in parts.public
    assert "One." not in parts.public
    assert "Two." not in parts.public


def test_two_asides_in_one_output_go_to_two_players() -> None:
    text = f"{PROSE[0]}\n\n[To Sam only] One.\n\n[To Odette only] Two.\n\n{PROSE[1]}"
    parts = split_tagged(text, NAMES)
    assert [(a.target, heard(a.text)) for a in parts.asides] == [
        ("Sam", "One."),
        ("Odette", "Two."),
    ]
    assert PROSE[0] in parts.public
    assert PROSE[1] in parts.public


@pytest.mark.parametrize(
    "text",
    [
        "[PULSE 3]\nThe door opens.",
        "[1] A list.",
        "[a quiet note] is heard.",
        "No tag.",
        "## The porter only\n\nHe waits.",
        "Sam only\nlaughs at that.",
        "The one who knows is Sam alone: he laughs.",
    ],
)
def test_other_brackets_are_no_private_tags(text: str) -> None:
    assert split_tagged(text, NAMES).asides == ()


def test_an_untagged_text_can_single_somebody_out() -> None:
    assert addressed_alone("Sam, you alone notice the draught.", NAMES) == "Sam"
    assert addressed_alone("Only Odette hears the whistle.", NAMES) == "Odette"
    assert addressed_alone("Only the porter hears the whistle.", NAMES) is None


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("I tell the others straight away.", True),
        ("I wait for a quiet moment and then I tell the others.", True),
        ("I show everyone the card.", True),
        ("I don't tell the others. Not yet.", False),
        ("I keep it to myself for now.", False),
        ("I say nothing about it to anybody.", False),
        ("I won't share this with the group.", False),
        ("I look at my shoes.", False),
    ],
)
def test_telling_and_keeping_are_told_apart(reply: str, told: bool) -> None:
    assert tells_others(reply) is told


def test_a_later_output_that_takes_up_the_secret_pays_it_off_once() -> None:
    log = FakeLog([Message("private/Sam", "narrator", SECRET, 4, "private-moment")])
    book = open_moment(MomentBook(), Aside("Sam", SECRET), 4, [PROSE[0]])
    hint = read("From the dining car comes a lullaby, and every glove on the rack begins to sway.")
    assert find_payoffs(book, hint, 5, log)[1] == ()  # the answer to the aside itself
    paid_book, paid = find_payoffs(book, hint, 9, log)
    assert [secret.target for secret, _ in paid] == ["Sam"]
    assert (paid_book.paid, paid_book.open) == (1, ())
    owned = read("The lullaby's last note, and the glove's own shadow on the wall.")
    assert find_payoffs(book, owned, 9, log)[1], "whose it is makes no other word of it"
    assert find_payoffs(paid_book, hint, 10, log)[1] == ()
    assert find_payoffs(book, read(PROSE[5]), 9, log)[1] == ()


def test_words_of_the_table_do_not_set_a_secret_apart() -> None:
    book = open_moment(MomentBook(), Aside("Sam", SECRET), 4, [SECRET])
    assert [secret.words for secret in book.open] == [()]
