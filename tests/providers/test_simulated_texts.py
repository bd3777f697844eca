"""Laws of what simulated play-tests say: whole nouns, few repeats, choices and secrets taken up."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.texts import GUIDES, broken
from matrix.kinds.playtest.detect.issues import detect_people_breaks
from matrix.kinds.playtest.detect.reading import read
from matrix.kinds.playtest.setup import prompts
from matrix.kinds.playtest.setup.options import MAX_GROUP
from matrix.providers.simulated.language.grammar import listed, you_to_i
from matrix.providers.simulated.language.phrasebook import narration
from matrix.providers.simulated.provider import answer
from matrix.providers.simulated.settings import SimulationSettings, TraitsByCell
from matrix.providers.simulated.story.habits import under_headings
from matrix.providers.simulated.story.scene import chosen_in, scene_of
from matrix.providers.simulated.story.speech import speech_in
from matrix.providers.simulated.story.story import story_of
from tests.providers.loop import POOL, SCENARIOS, Archetype, Session, call_of, play_session

TRAITS = TraitsByCell(SimulationSettings(traits={"shares_secret": 1.0})).of({})
PLAIN = sorted(GUIDES.glob("*/guide.md"))


def system(backstory: str, name: str = "Sam", archetype: Archetype = POOL[0]) -> str:
    return prompts.player_system(
        archetype,  # type: ignore[arg-type]
        name=name,
        backstory=backstory,
        character="Sam is a retired mechanic who distrusts boats.",
        mood="focused",
        title="The Ferry",
    )


@pytest.mark.parametrize(
    ("told", "things"),
    [
        ("A moment ago a lamp stood at the foot of the stairs.", ("the lamp",)),
        ("You take the last alike, and the high, and the told.", ()),
        ("The narrator shrugs at the deal and at the season.", ()),
        ("The old key lies by the half-open door.", ("the old key", "the half-open door")),
    ],
)
def test_only_what_can_be_touched_is_a_thing(told: str, things: tuple[str, ...]) -> None:
    assert scene_of(told).things == things


def test_names_that_stand_side_by_side_stay_apart() -> None:
    scene = scene_of("In the Vestibule Iveta Soll asks why. Here lies Finch's Letter, sealed.")
    assert scene.places == ("the Vestibule",)
    assert "the Vestibule Iveta Soll" not in (*scene.people, *scene.things)
    assert "Finch's Letter" in scene.things
    assert scene_of("By the door waits Ruth Adair-Lund, who counts.").people == ("Ruth Adair-Lund",)


def test_the_measure_of_broken_nouns_can_fail() -> None:
    assert broken("I move closer to the ago.")
    assert broken("I crouch beside the narrator and run my fingers along the edge of it.")
    assert broken("I poke the Vestibule Iveta Soll with one finger.")
    assert broken("I touch Iveta Soll, just to be sure it's real.")
    assert not broken("I move closer to the old lamp and ask Iveta Soll about it.")


@pytest.mark.parametrize("guide", PLAIN, ids=lambda path: path.parent.name)
def test_a_guide_in_other_habits_is_told_whole(guide: Path) -> None:
    markdown = guide.read_text(encoding="utf-8")
    story = story_of(markdown)
    assert len(story.beats) in (8, 10)
    assert len(story.people) == len(story.places) == 3
    assert len(story.devices) == 2
    assert story.ending
    for seed in range(3):
        session = play_session(seed, guide=markdown)
        assert session.concluded
        told = " ".join(session.outputs)
        assert all(beat.narration[0] in told for beat in story.beats)
        assert not re.search(r"[<>*{}]|  |\bplayers\b", told)


def test_a_guide_with_headings_is_left_as_it_is() -> None:
    for guide in SCENARIOS.glob("*/guide.md"):
        markdown = guide.read_text(encoding="utf-8")
        assert under_headings(markdown) == markdown


def test_a_list_in_a_list_is_told_with_its_entry() -> None:
    guide = "# T\n\n## People\n\n- Marta\n  - the baker\n  - wants money\n- Bo: shy\n"
    assert [one.name for one in story_of(guide).people] == ["Marta", "Bo"]


@pytest.mark.parametrize(
    "text", ["<a><b></a></b></c></d></e>", "<x><x><x></y></y></y></y>", "- a\n\t- b\n - c\n- who\n"]
)
def test_broken_markup_is_told_all_the_same(text: str) -> None:
    assert story_of(text).beats


def test_few_lines_of_a_session_are_said_twice(sessions: list[Session]) -> None:
    said = Counter[bool]()
    for session in sessions:
        heard = set[str]()
        for line in re.findall(r"^\w+: (I .+)$", session.transcript, re.MULTILINE):
            said[line in heard] += 1
            heard.add(line)
    assert said[True] < 0.05 * said.total()


def test_two_of_one_archetype_answer_in_words_of_their_own() -> None:
    asked = prompts.question_request("What is in your pockets tonight?")
    nudges = ("fond of old maps", "always early", "new in town", "the eldest of five")
    answers = {
        answer(call_of(system(f"Sam sells. Sam, who is {nudge}, came."), asked, 1), TRAITS)
        for nudge in nudges
    }
    assert len(answers) == len(nudges)


@pytest.mark.parametrize("asked", narration.CHARACTER_QUESTIONS.lines)
@pytest.mark.parametrize("greeting", narration.GREETINGS.lines)
def test_no_two_of_a_full_table_open_alike_whoever_they_are(greeting: str, asked: str) -> None:
    names = [f"{name}a" for name in ("Ann", "O'Br", "Éli", "Jo-An", "Sam", "Sama", "Uz", "Wr")]
    assert len(names) == MAX_GROUP
    request = prompts.question_request(f"{greeting.format(names=listed(names))} {asked}")
    for table in [[archetype] * MAX_GROUP for archetype in POOL] + [list(POOL[2:])]:
        openings = {
            answer(call_of(system("Sam sells.", name, archetype), request, 1), TRAITS).partition(
                ". "
            )[0]
            for name, archetype in zip(names, table, strict=True)
        }
        assert len(openings) == MAX_GROUP


def test_a_secret_is_told_with_what_it_is() -> None:
    secret = "Your name is on the list, and you are not to say so. Do you tell the others?"
    said = answer(call_of(system("Sam sells."), prompts.private_request(secret, "Sam"), 4), TRAITS)
    assert "My name is on the list." in said
    assert "not to say" not in said


def test_nobody_is_good_with_the_hands_of_others() -> None:
    asked = prompts.question_request("What is in your pockets tonight?")
    past = "Sam sells. Sam, who is good with their hands, came."
    said = [answer(call_of(system(past, name), asked, 1), TRAITS) for name in ("Ann", "Bo", "Cy")]
    assert any("with my hands" in one for one in said)
    assert not any("their hands" in one for one in said)


def test_a_relay_says_all_of_us_only_of_what_all_were_for() -> None:
    split = [("Ann", "Let's go in."), ("Bo", "Let's go in."), ("Cy", "Let's wait outside.")]
    request = prompts.relay_request("The door is open.", split)
    speaker = prompts.spokesperson_system(POOL[0], "Sam")  # type: ignore[arg-type]
    told = [answer(call_of(speaker, request, at), TRAITS) for at in range(80)]
    assert any(relay.startswith("We go in") for relay in told)
    assert not [relay for relay in told if "All of us" in relay]


def test_what_one_was_told_is_retold_in_the_first_person() -> None:
    assert you_to_i("You know the man. You were at his funeral, and he saw you.") == (
        "I know the man. I was at his funeral, and he saw me."
    )
    assert you_to_i("She passes you a cup of tea.") == "She passes me a cup of tea."
    assert you_to_i("The Duke offers you the thing you most want.") == (
        "The Duke offers me the thing I most want."
    )
    assert you_to_i("Somebody left you your mother's ring.") == "Somebody left me my mother's ring."


def test_what_the_group_chose_is_found_among_what_it_was_offered() -> None:
    told = "The bell rings.\n\nDo you ask Silas Orme outright, or wait and see?"
    assert chosen_in(told, "We ask Silas Orme outright. Sam nods.") == "You ask Silas Orme outright"
    assert chosen_in(told, "We wait and see, on balance.") == "You wait and see"
    assert chosen_in(told, "We look at the bell.") == ""


def test_a_choice_is_taken_up_by_what_comes_next(sessions: list[Session]) -> None:
    taken = []
    for session in sessions:
        told = [one.content for one in session.messages[1:]]
        for before, relay, after in zip(told[1::2], told[2::2], told[3::2], strict=False):
            looped = before == after
            chosen = chosen_in(before, relay)
            if chosen and relay.startswith("We ") and not looped and "[To " not in after:
                taken.append(chosen[4:] in after)
    assert len(taken) > len(sessions)
    assert sum(taken) > 0.95 * len(taken)


def test_who_never_uses_more_than_a_few_words_does_not() -> None:
    guide = (SCENARIOS / "lost-temper" / "guide.md").read_text("utf-8")
    story = story_of(guide)
    temper = next(person for person in story.people if "Temper" in person.name)
    lines = [
        speech_in(story, index, position, {"name": "Sam"})
        for index, beat in enumerate(story.beats)
        if [one for one in beat.people if one.speaks] == [temper]
        for position in range(len(narration.SPEECH.lines))
    ]
    assert lines
    assert all(lines)
    assert not [line for line in lines if detect_people_breaks(read(line), guide)]
