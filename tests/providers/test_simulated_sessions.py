"""Laws of whole sessions, played by the small loop in ``loop.py``."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean

import pytest

from matrix.kinds.playtest.detect.tangents import has_forced_segue, looks_off_story
from matrix.kinds.playtest.setup import prompts
from matrix.model.records import ChatMessage
from matrix.model.seeds import stream
from matrix.providers.simulated.language.phrasebook import asides, players, tangents
from matrix.providers.simulated.provider import answer
from matrix.providers.simulated.roles.narrator import narrate
from matrix.providers.simulated.settings import SimulationSettings
from matrix.providers.simulated.story.cues import is_forced, is_off_story
from matrix.providers.simulated.story.story import story_of
from matrix.providers.simulated.traits import Traits
from tests.providers.loop import GUIDE, PROSE, SCENARIOS, Session, make_call, play_session

MEANT = {
    "pulse": {"pulse"},
    "segue": {"pulse", "tangent-response"},
    "indulge": {"tangent-response"},
    "clarification": {"clarification"},
    "linger": {"clarification"},
    "recap": {"recap"},
    "private": {"private-moment"},
    "loop": {"pulse"},
    "ending": {"clarification"},
}
SURE = SimulationSettings(traits={"misclassify": 0.0})


def beats_told(session: Session, guide: str) -> list[int]:
    """Indices of the beats in the order in which they were told for the first time."""
    found: list[int] = []
    for text in session.outputs:
        for index, beat in enumerate(story_of(guide).beats):
            if beat.mark in text and index not in found and "[To " not in text:
                found.append(index)
    return found


def test_a_story_is_told_in_order_and_ends(sessions: list[Session]) -> None:
    beats = len(story_of(GUIDE).beats)
    for session in sessions:
        assert beats_told(session, GUIDE) == list(range(beats))
        assert session.outputs[-1].endswith("THE END")
        assert not any("THE END" in text for text in session.outputs[:-1])
        assert session.concluded


def test_narrations_have_the_length_of_something_read_aloud(sessions: list[Session]) -> None:
    lengths = [
        len(text.split())
        for session in sessions
        for move, text in zip(session.moves, session.outputs, strict=True)
        if move == "pulse"
    ]
    assert max(lengths) <= 130
    assert sum(length >= 50 for length in lengths) > 0.9 * len(lengths)


def test_the_classifier_sees_what_the_narrator_meant() -> None:
    agreed = []
    for seed in range(12):
        session = play_session(seed, settings=SURE)
        for move, label in zip(session.moves[2:], session.labels, strict=True):
            agreed.append(label["type"] in MEANT[move])
    assert mean(agreed) >= 0.9


def test_a_private_moment_names_a_player_and_nobody_else_reacts() -> None:
    settings = SimulationSettings(traits={"private_moment": 0.5, "misclassify": 0.0})
    session = play_session(2, settings=settings)
    targets = [label["private_target"] for label in session.labels if label["private_target"]]
    assert targets
    assert set(targets) <= set(session.names)
    assert "Have" not in targets


def test_the_structured_prompt_gets_one_marker_before_every_output() -> None:
    prompt = "First line: `[PULSE 7]`, `[ASIDE -> Sam]`, `[ANSWER]`, `[RECAP]` or `[END]`."
    settings = SimulationSettings(traits={"private_moment": 0.3, "loop": 0.0})
    session = play_session(4, prompt=prompt, settings=settings)
    marker = re.compile(r"^\[(PULSE \d+|ASIDE -> \w+|ANSWER|RECAP|END)\]\n")
    assert all(marker.match(text) for text in session.outputs)
    numbers = [int(text[7:].split("]")[0]) for text in session.outputs if text[1] == "P"]
    assert numbers == list(range(1, len(story_of(GUIDE).beats) + 1))


def test_tangents_are_forced_or_natural_as_the_trait_has_it() -> None:
    kinds = {}
    for chance in (0.0, 1.0):
        settings = SimulationSettings(
            traits={"forced_segue": chance, "player_tangent": 5.0, "misclassify": 0.0}
        )
        played = [play_session(seed, settings=settings) for seed in range(6)]
        labels = [label["segue"] for session in played for label in session.labels]
        kinds[chance] = {segue for segue in labels if segue}
    assert kinds == {0.0: {"natural"}, 1.0: {"forced"}}


def test_a_loop_is_the_same_output_again() -> None:
    session = play_session(1, settings=SimulationSettings(traits={"loop": 0.4}))
    looped = [index for index, move in enumerate(session.moves) if move == "loop"]
    assert looped
    assert all(session.outputs[index] == session.outputs[index - 1] for index in looped)


def test_a_guide_of_plain_prose_is_told_to_its_end() -> None:
    for seed in range(8):
        session = play_session(seed, guide=PROSE)
        assert session.concluded
        assert beats_told(session, PROSE) == list(range(len(story_of(PROSE).beats)))
        assert not any("players" in text or "group" in text for text in session.outputs)


@pytest.mark.parametrize("guide", ["", "# Only a title", "One sentence without an end"])
def test_any_guide_makes_a_story(guide: str) -> None:
    assert play_session(3, guide=guide).concluded


def test_a_story_begun_by_another_narrator_goes_on() -> None:
    messages = [
        ChatMessage("system", prompts.narrator_system("Tell it.", "The Ferry", GUIDE)),
        ChatMessage("user", prompts.opening_request(2)),
        ChatMessage("assistant", "Hello, who are you?"),
        ChatMessage("user", prompts.questions_request("Ann: I am Ann.\nBo: I am Bo.")),
        ChatMessage("assistant", "What do you fear?"),
        ChatMessage("user", prompts.begin_request("Ann: Rain.\nBo: Bells.")),
    ]
    for number in range(6):
        messages.append(ChatMessage("assistant", f"My own words, part {number}."))
        messages.append(ChatMessage("user", "We go on."))
    _, text = narrate(messages, stream(1, "answer"), Traits(pulse_drive=1.0, private_moment=0.0))
    marks = [beat.mark in text for beat in story_of(GUIDE).beats]
    assert sum(marks) == 1
    assert marks.index(True) >= 3


@pytest.mark.slow
def test_planted_effects_reach_the_text() -> None:
    effect = {"factor": "prompt", "level": "calm", "trait": "forced_segue", "multiply": 0.5}
    settings = SimulationSettings.model_validate(
        {"effects": [effect], "traits": {"misclassify": 0.0, "player_tangent": 3.0}}
    )
    forced = {}
    for level in ("calm", "plain"):
        played = [
            play_session(seed, settings=settings, cell={"prompt": level}) for seed in range(60)
        ]
        labels = [label for session in played for label in session.labels if label["segue"]]
        forced[level] = mean(label["segue"] == "forced" for label in labels)
    assert 0.35 < forced["calm"] / forced["plain"] < 0.68


def test_off_story_lines_are_told_from_story_lines_here_and_in_the_kind() -> None:
    for bank in (*tangents.TANGENT.values(), tangents.CONTAGION):
        assert all(is_off_story(line) and looks_off_story(line) for line in bank.lines)
    for bank in (*players.ORDINARY.values(), *players.QUIRK.values(), players.COMMON):
        assert not any(is_off_story(line) or looks_off_story(line) for line in bank.lines)
    assert all(is_forced(line) and has_forced_segue(line) for line in asides.FORCED_SEGUES)
    assert not any(
        is_forced(line) or has_forced_segue(line) for line in asides.NATURAL_SEGUES.lines
    )


@pytest.mark.parametrize("guide", sorted(SCENARIOS.glob("*/guide.md")), ids=lambda p: p.parent.name)
def test_shipped_stories_can_be_played(guide: Path) -> None:
    markdown = guide.read_text(encoding="utf-8")
    played = [play_session(seed, guide=markdown) for seed in range(6)]
    turns = [len(session.labels) for session in played]
    assert all(session.concluded for session in played)
    assert 23 <= mean(turns) <= 36
    for session in played:
        assert not re.search(r"[{}]|  ", session.transcript)


def test_an_answer_needs_no_more_than_its_messages() -> None:
    session = play_session(7)
    again = make_call(list(session.messages[:-1]), 99)
    assert answer(again, Traits()) == answer(make_call(list(session.messages[:-1]), 99), Traits())


def test_nobody_is_thanked_for_what_another_said(sessions: list[Session]) -> None:
    """Who a way back names is whom the relay named for it; of who said "me" it knows no name."""
    thanked = 0
    for session in sessions:
        answers = session.outputs[len(session.outputs) - len(session.relays) :]
        for relay, output in zip(session.relays, answers, strict=True):
            for names in re.findall(r"What (\w+) said makes you all|closed on (\w+)'s", output):
                thanked += 1
                assert "".join(names) in relay
    assert thanked
