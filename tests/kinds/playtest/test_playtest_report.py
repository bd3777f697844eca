"""Laws of a play-test's report: what belongs together is told in one place, and nothing is lost."""

from __future__ import annotations

import json

import pytest

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.vocabulary import ISSUE_TYPES
from matrix.kinds.reporting import SessionSections, SessionSoFar, TimelineEntry
from tests.kinds.fakes import Played
from tests.kinds.playtest.script import PROSE, Script, label, plan
from tests.kinds.playtest.test_playtest_private import SECRET, private
from tests.kinds.playtest.test_playtest_private import play as play_with_secret
from tests.kinds.playtest.test_playtest_session import play
from tests.kinds.playtest.test_playtest_tangents import off_until

OFF = label("tangent-response", group_off_story=True)
ANYWAY = "Anyway, back to the story: the train still stands at the platform."


def sections(played: Played) -> SessionSections:
    last = played.checkpoints[-1]
    return KIND.sections(
        SessionSoFar(
            run_id="it",
            plan=plan(),
            turn=last.turn,
            players=tuple(played.players),
            messages=tuple(played.log[place] for place in range(len(played.log))),
            events=tuple(played.events),
            state=json.loads(last.state),
            texts={},
            prelude=played.prelude,
            times={},
            scores=tuple(played.scores),
        )
    )


def timeline(played: Played) -> list[TimelineEntry]:
    return list(sections(played).timeline or ())


def entry(played: Played, title: str) -> TimelineEntry:
    (found,) = [one for one in timeline(played) if one.title.startswith(title)]
    return found


def told(found: TimelineEntry) -> list[tuple[str, str]]:
    return [(line.label, line.text) for line in found.lines]


def with_tangent(back: str, said: str = PROSE[4]) -> tuple[Played, str]:
    """A tangent of turns 3 to 5 that one player began in turn 2, and that player's name."""

    def say(name: str, turn: int) -> str:
        return "Off topic, but who ordered the pizza?" if turn == 2 and name == who else "I nod."

    who = ""
    who = play(Script(), max_turns=1).prelude[1]["name"]
    outputs = [*PROSE[:4], said, *PROSE[5:]]
    labels = {3: OFF, 4: label("clarification"), 5: back}
    script = Script(narrator=outputs, labels=labels, say=say, relay=off_until(4))
    return play(script, max_turns=7), who


def test_a_tangent_is_told_over_its_turns_with_who_left_how_it_ended_and_how_well() -> None:
    played, who = with_tangent(label(segue="natural", segue_quality=4))
    found = entry(played, "Tangent")
    assert (found.first, found.last) == (3, 5)
    texts = dict(told(found))
    assert texts[who] == "Off topic, but who ordered the pizza?"
    assert texts["Recovery"] == "Turn 5, after 3 outputs, by what happened next."
    assert PROSE[4].startswith(texts["Segue"].removesuffix("..."))
    assert told(found)[0] == ("", f"{who} left the story for everyday things (medium).")
    assert told(found)[-1] == ("", "\u2192 Natural recovery, good (4 of 5).")


def test_the_segue_of_a_forced_return_is_where_it_was_announced() -> None:
    played, _ = with_tangent(label(segue="forced", segue_quality=1), said=ANYWAY)
    found = entry(played, "Tangent")
    assert dict(told(found))["Segue"] == ANYWAY
    assert told(found)[-1] == ("", "\u2192 Forced recovery, poor (1 of 5).")


def test_a_tangent_that_the_end_of_the_session_cuts_off_is_told_once_as_not_recovered() -> None:
    played = play(Script(labels=dict.fromkeys(range(3, 9), OFF)), max_turns=5)
    found = entry(played, "Tangent")
    assert (found.first, found.last) == (3, 5)
    assert told(found)[-1] == ("", "\u2192 Not recovered.")


def test_a_pulse_is_told_with_what_the_group_decided_then() -> None:
    played = play(Script(), max_turns=3)
    found = entry(played, "Pulse 1 - Eleven Minutes to Departure")
    speaker = next(player.name for player in played.players if player.is_spokesperson)
    assert found.first == found.last == 1
    quote, decision = found.lines
    assert quote.quoted
    assert PROSE[0].startswith(quote.text.removesuffix("..."))
    assert decision.label == f"Group decision, told by {speaker}"
    assert decision.text == "We go along, for the 1. time."


def test_markers_of_the_structured_prompt_are_in_no_timeline() -> None:
    outputs = [f"[PULSE 1: Start]\n{PROSE[0]}", PROSE[1]]
    played = play(Script(narrator=outputs), max_turns=2)
    aside = play_with_secret(f"[ASIDE -> Sam]\n[To Sam only] {SECRET}", private)
    texts = [
        line.text for one in (played, aside) for found in timeline(one) for line in found.lines
    ]
    assert any("[To Sam only]" in text for text in texts), "which is part of what is said"
    assert not [text for text in texts if "[PULSE" in text or "[ASIDE" in text]


@pytest.mark.parametrize(
    ("reply", "fate"),
    [
        ("I keep it to myself.", "Sam kept it secret from the group."),
        ("I show everybody the glove and shrug.", "Sam told the others."),
    ],
)
def test_a_private_moment_is_told_with_what_became_of_it(reply: str, fate: str) -> None:
    played = play_with_secret(SECRET, private, private=reply)
    found = entry(played, "Private Moment \u2192 Sam")
    assert told(found)[:3] == [("", SECRET), ("Sam", reply), ("", fate)]
    assert told(found)[3][1].startswith("\u2192 No payoff; backstory alignment ")


def test_every_problem_is_in_the_timeline_under_its_turn_and_nothing_is_found_twice() -> None:
    outputs = [PROSE[0], f"{ANYWAY} I am only a language model.", PROSE[1], PROSE[1], PROSE[2]]
    played = play(Script(narrator=outputs), max_turns=5)
    issues = [event for event in played.events if event.kind in ISSUE_TYPES]
    assert {event.kind for event in issues} >= {"loop", "character_break", "forced_segue"}
    entries = [one for one in timeline(played) if "Detected" in one.title]
    assert [one.first for one in entries] == sorted({event.turn for event in issues})
    lines = [(one.first, line) for one in entries for line in one.lines]
    assert sorted((turn, line.label.split(" (")[0]) for turn, line in lines) == sorted(
        (event.turn, event.kind.replace("_", " ").capitalize()) for event in issues
    )
    assert all(event.detail in line.text for event, (_, line) in zip(issues, lines, strict=True))


def test_metrics_have_every_score_of_the_session_but_single_judgements() -> None:
    played = play(Script(), max_turns=3)
    shown = dict(sections(played).metrics or ())
    text = ", ".join(shown.values())
    names = [name for name, value in played.values.items() if value is not None]
    for name in names:
        if not name.startswith("judge."):
            short = name.removeprefix("quality_").removeprefix("part_").replace("_", " ")
            assert f"{short} {played.values[name]:.4g}" in text
    assert "fine" in shown["Quality"], "and why the judge says so"


def test_every_finding_with_a_severity_is_an_issue_of_the_report() -> None:
    """Page and JUnit go by severity: a secret that was given away is one there as well."""
    secret = "A moth-eaten glove in your pocket hums your grandmother's lullaby."
    played = play_with_secret(f"{PROSE[2]} {secret}\n\n[To Sam only] {secret}", label("pulse"))
    assert [event.severity for event in played.of_kind("private_spoiled")] == ["warning"]
    own = sections(played)
    assert own.issues is None or "private_spoiled" in own.issues
