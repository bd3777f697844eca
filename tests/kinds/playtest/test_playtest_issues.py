"""Laws of the detectors: what each finds, and what it must not mistake for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.detect.challenges import detect_remarks
from matrix.kinds.playtest.detect.issues import (
    detect_breakdown,
    detect_character_break,
    detect_confessions,
    detect_confusion,
    detect_contradictions,
    detect_deviations,
    detect_forced_segue,
    detect_loop,
    detect_lost_narrator,
    detect_people_breaks,
    detect_returned,
    detect_stuck,
)
from matrix.kinds.playtest.detect.reading import read, winds_up, words_of
from matrix.kinds.playtest.detect.story.deaths import deaths
from matrix.kinds.playtest.detect.story.facts import KEPT_FACTS, Utterance
from matrix.kinds.playtest.detect.story.prose import sentences
from matrix.kinds.playtest.detect.strangers import known_words
from matrix.kinds.playtest.detect.tangents import has_forced_segue
from matrix.kinds.playtest.setup.state import Fact
from tests.kinds.playtest.script import PROSE, Script
from tests.kinds.playtest.test_playtest_session import play

LONG = f"{PROSE[0]} {PROSE[1]}"
STOCK = (*PROSE[:5], *(" ".join(text.split()[:6]) for text in PROSE[5:]), "What do you do?")
"""Sentences and halves of them, of which outputs share some."""


# --- loops ---------------------------------------------------------------------------------------


def loops(*outputs: str) -> list[bool]:
    told: dict[int, list[str]] = {}
    found = []
    for turn, output in enumerate(outputs, 1):
        found.append(detect_loop([output], told) is not None)
        told[turn] = [output]
    return found


def test_the_same_output_again_is_a_loop() -> None:
    assert loops(LONG, PROSE[2], LONG) == [False, False, True]


def test_a_few_changed_words_do_not_hide_a_loop() -> None:
    changed = LONG.replace("porter", "guard").replace("long sigh", "slow sigh")
    assert loops(LONG, changed) == [False, True]


def test_a_repeated_paragraph_counts_once_it_is_half_of_the_output() -> None:
    assert loops(LONG, f"{LONG}\n\n{PROSE[4]}") == [False, True]
    assert loops(PROSE[0], PROSE[1], f"{PROSE[1]}\n\n{PROSE[0]}") == [False, False, True]
    assert loops(PROSE[0], f"{PROSE[0]}\n\n{PROSE[4]} {PROSE[5]} {PROSE[6]}") == [False, False]


def test_ordinary_prose_and_a_repeated_closing_question_are_no_loop() -> None:
    outputs = [f"{text}\n\nWhat do you do?" for text in PROSE]
    assert loops(*outputs) == [False] * len(outputs)


def runs(text: str) -> list[tuple[str, ...]]:
    words = words_of(text)
    return list(zip(*(words[start:] for start in range(4)), strict=False))


@given(st.lists(st.lists(st.sampled_from(STOCK), min_size=1, max_size=8), max_size=12))
def test_no_output_is_a_loop_that_says_mostly_new_things(outputs: list[list[str]]) -> None:
    """By a recount of runs of four words; what was said before word for word always is one."""
    told: dict[int, list[str]] = {}
    for turn, text in enumerate(("\n\n".join(parts) for parts in outputs), 1):
        before = {run for (earlier,) in told.values() for run in runs(earlier)}
        share = sum(run in before for run in runs(text)) / len(runs(text))
        found = detect_loop([text], told)
        if found is not None:
            assert found.value is not None
            assert 0.5 <= found.value <= round(share, 3)
        else:
            assert [text] not in told.values()
        told[turn] = [text]


def test_phrases_that_many_outputs_have_do_not_make_a_loop() -> None:
    """Each sentence of the last output was told, but never half of it at once."""
    outputs = [f"{PROSE[at]} {PROSE[at + 4]}" for at in range(4)]
    assert loops(*outputs, " ".join(PROSE[1:8:2]))[-1] is False
    assert loops("Not long. Nothing has moved. Not that you saw.", "Yes. Nothing has moved.") == [
        False,
        False,
    ]


def test_a_loop_says_how_much_of_it_was_told_and_where() -> None:
    told = {3: [f"{LONG} {PROSE[2]}"], 4: [PROSE[3]]}
    found = detect_loop([f"{LONG} {PROSE[7]}"], told)
    assert found is not None
    again, all_of_it = runs(LONG), runs(f"{LONG} {PROSE[7]}")
    assert found.value == round(len(again) / len(all_of_it), 3)
    assert found.detail.startswith(f"{len(again) / len(all_of_it):.0%} of the output was said in")
    assert "turn 3: steam rolls along the platform" in found.detail


# --- forced segues -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Anyway, back to the story.",
        "Anyway, let's get back to the dining car.",
        "Right. Enough of that. Back to the story:",
        "Okay, back to the platform. You are standing there.",
        "Let\u2019s get back to the story, shall we?",
        "Ha! Now, where were we? The train.",
        "Moving on. Back to what was happening:",
        "As I was saying, the door is green.",
    ],
)
def test_announced_returns_are_forced(text: str) -> None:
    assert has_forced_segue(text)
    finding = detect_forced_segue(read(text), "", worded=has_forced_segue(text))
    assert finding is not None
    assert (finding.kind, finding.severity) == ("forced_segue", "warning")


@pytest.mark.parametrize(
    "text",
    [
        *PROSE[:6],
        "The laugh dies as the fog rolls in, and something moves behind it.",
        "You go back to the dining car, where nobody has moved.",
        "You are right back at the platform where you began.",
        '"Anyway, back to the story," says the countess, and pours.',
        "The clerk goes back to business. Nothing is moving on the platform.",
    ],
)
def test_returns_inside_the_story_are_not_forced(text: str) -> None:
    assert not has_forced_segue(text)
    assert detect_forced_segue(read(text), "natural", worded=False) is None


def test_the_classifiers_word_is_enough_for_a_forced_segue() -> None:
    finding = detect_forced_segue(read(PROSE[0]), "forced", worded=False)
    assert finding is not None
    assert "classifier" in finding.detail


# --- stuck ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "last_pulse", "severity"),
    [
        (4, 0, None),
        (5, 0, "warning"),
        (6, 0, None),
        (10, 0, "error"),
        (9, 4, "warning"),
        (9, 9, None),
    ],
)
def test_stuck_is_said_once_per_stretch(turn: int, last_pulse: int, severity: str | None) -> None:
    finding = detect_stuck(turn, last_pulse, 5)
    assert (finding.severity if finding else None) == severity


# --- guide deviation -----------------------------------------------------------------------------

KNOWN = known_words(
    "# The Ferry\n- **Ada Pell** - keeps the light\n- **Inspector Bohl** - asks twice",
    "Grey Harbour",
)


def by_players(*lines: str) -> list[tuple[bool, str]]:
    return [(False, line) for line in lines]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A stranger called Barnabas Thorne steps in from the side.", "Barnabas Thorne"),
        ("That is when Isolde Farrow arrives with a trunk.", "Isolde Farrow"),
        ("At your elbow stands Captain Lucan Reeve, who has been here all along.", "Lucan Reeve"),
        ("Professor Marr knows the way.", "Marr"),
        ("Jasper Quill, who owns the boat, is waiting.", "Jasper Quill"),
        ("The door opens. Jasper Quill steps through it.", "Jasper Quill"),
    ],
)
def test_a_named_stranger_deviates_from_the_guide(text: str, name: str) -> None:
    findings = detect_deviations(read(text), KNOWN, by_players("I look around.", "Name: Sam"))
    assert [found.subject for found in findings] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Pell steps in from the side, and Ada's lamp swings.",
        "Inspector Bohl asks again. Behind her stands Ada Pell.",
        "Doctor Pell nods.",  # a new title for a known name is no new person
        "The Old Harbour lies still. Grey Stones Street is empty.",
        "On Monday Morning the ferry leaves. Nobody waits.",
        "Nothing Moves. Everybody Waits. Somebody Laughs.",
        "You walk down Harbour Street until the Seven Bells Inn comes into view.",
        "A man in grey bows twice and is gone.",
    ],
)
def test_the_guides_people_and_other_capitals_do_not_deviate(text: str) -> None:
    assert detect_deviations(read(text), KNOWN, []) == []


def test_people_whom_the_players_brought_up_do_not_deviate() -> None:
    said = by_players("I carry a letter from my uncle Barnabas Thorne.")
    text = "A stranger called Barnabas Thorne steps in."
    assert detect_deviations(read(text), KNOWN, said) == []


GUIDE = """# The Lamp
1. The lamp is dark, and the keeper, Morwenna Pask, is missing
2. In the kitchen: two cups, one with lipstick
3. The boathouse: the dinghy is gone, the oars are there
4. A cave below the cliff, with casks of brandy
"""
BEGUN = "The lamp is dark, and the keeper Morwenna Pask is missing."


@pytest.mark.parametrize(
    ("outputs", "name"),
    [
        (
            [
                '"I am *Nyx*," it says. "I have waited for you. Join me, or else!"',
                "Nyx flies you over the sea to a palace of glass.",
            ],
            "Nyx",
        ),
        (
            [
                "A woman sits on the wall and weaves. Her name, says she, is Oriel.",
                "Oriel weaves your faces into a long grey river. It flows uphill.",
            ],
            "Oriel",
        ),
        (
            [
                'In the kitchen a boy called Tam peels turnips. "Two cups," he says. "Lipstick."',
                '"She went to the boathouse," says Tam. The dinghy is gone, the oars are there.',
            ],
            "",
        ),
        (['"I am Nan," says the landlady. "I need my sleep."', "In the kitchen: two cups."], ""),
    ],
)
def test_who_stays_while_the_guide_is_not_told_on_deviates(outputs: list[str], name: str) -> None:
    known, told, found = known_words(GUIDE, ""), [BEGUN], list[str]()
    for output in outputs:
        findings = detect_deviations(read(output), known, [], told, GUIDE)
        found += [one.subject for one in findings]
        told.append(output)
    assert list(dict.fromkeys(found)) == ([name] if name else [])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('Gaston bows. "I killed her, and I would again."', "Gaston"),
        ('"I have murdered the bishop," says Gaston.', "Gaston"),
        ('"I did it," says Gaston, and holds out his hands for the cuffs.', "Gaston"),
        ('"I did it twice," says Gaston, "and it would not shut."', ""),
        ('"I stole nothing," says Gaston.', ""),
        ('Gaston bows. The maid weeps. "I killed her," she says.', ""),
        ('"I killed her," says Ada.', ""),
    ],
)
def test_who_is_innocent_by_the_guide_does_not_own_up(text: str, name: str) -> None:
    guide = "People: Lady Ada, deaf. Gaston the porter, honest and wrongly suspected."
    assert [one.subject for one in detect_confessions(read(text), guide)] == [name] * bool(name)


def test_an_invention_that_is_told_and_left_is_none_that_takes_over() -> None:
    passer = "You ask the way. Old Marta Quill points north. The rain has stopped. You go on."
    assert detect_deviations(read(passer), KNOWN, []) == []
    back = "Quill asks for the map. You see no harm in it. Quill smiles. Then Quill leads you on."
    found = detect_deviations(read(back), KNOWN, [], [passer])
    assert [one.subject for one in found] == ["Quill"]


@pytest.mark.parametrize(
    ("told", "said", "kinds"),
    [
        ("The pilot squints at your map.", "Hang on, the pilot's blind?", ["contradiction"]),
        ("The pilot, blind as ever, squints.", "Hang on, the pilot's blind?", []),
        ("The pilot turns milky eyes to the wall.", "Wait, he's blind?", []),
        ("Hetty skips up the stairs.", "I thought she couldn't walk?", ["contradiction"]),
        ("All seven rowers sing.", "Seven? I thought four.", ["contradiction"]),
        ("All seven rowers sing.", "Seven? I thought we'd be late.", []),
        ("He opens one eye.", "I thought he was dead!", []),
        ("He orders a beer.", "Wait, I thought he was dead?", ["contradiction"]),
        ("He orders a beer.", "I thought he was dead!", []),
        ("All seven of the four rowers sing.", "Seven? I thought four.", []),
        ("Runa hums.", "Isn't she shy?", []),
        ("And every year they drink to you. Good night.", "Is that it? Lovely.", []),
        ("Runa sings and hugs you.", "Wasn't she shy?", ["character_break"]),
        ("Gaston shouts.", "Since when does Gaston give orders?", ["character_break"]),
        ("You wait.", "Nothing's happening, let's go.", ["stuck"]),
        ("You wait.", "Nothing will happen to you.", []),
        ("To this day nobody speaks of it.", "Over already?", ["early_end"]),
        ("The radio says: over.", "Over already?", []),
        ("The boy holds up an oar.", "Is that it? Where's the boat?", []),
    ],
)
def test_what_players_wonder_at_has_its_meaning_from_the_output(
    told: str, said: str, kinds: list[str]
) -> None:
    assert [one.kind for one in detect_remarks([("Bo", said)], (), told)] == kinds


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("Wait, weren't they empty?", ["contradiction"]),
        ("Hang on, Nan's alive?", ["contradiction"]),
        ("Didn't I throw that away?", ["contradiction"]),
        ("Wait... did she just talk?", ["character_break"]),
        ("I thought she never gambles.", ["character_break"]),
        ("So Durn is blind? I can't tell which dwarf is which.", ["confusion"]),
        ("Sorry, I lost track. Can you remind me where we are?", ["confusion"]),
        ("I missed that. Can somebody catch me up, please?", ["confusion"]),
        ("I've lost the thread, I think.", ["confusion"]),
        ("We've had this bit, haven't we?", ["confusion"]),
        ("We've had this boat before the war.", []),
        ("Hang on, who is Bohl again?", ["confusion"]),
        ("What are we trying to do here?", ["confusion"]),
        ("I'm not sure what is going on.", ["confusion"]),
        ("Sorry, I was half asleep. Who's Bohl again?", []),
        ("I lost track of the inspector in the crowd.", []),
        ("I follow, but I keep track of every turn.", []),
        ("You go ahead, I'll catch you up.", []),
        ("I ask Bohl to fill in the form again.", []),
        ("Where were we meant to meet her?", []),
        ("I won't remind him of it again.", []),
        ("I'm not sure about this door.", []),
        ("Wait, he said the door was locked. Isn't it open?", []),
        ("I thought it was the butler!", []),
        ("Who's she?", []),
        ("That's old uniform, isn't it?", []),
    ],
)
def test_what_players_hold_against_the_narrator(said: str, kinds: list[str]) -> None:
    assert [one.kind for one in detect_remarks([("Ann", "I wait."), ("Bo", said)])] == kinds
    known = ["contradiction", "character_break"]
    left = [kind for kind in kinds if kind not in known]
    assert [one.kind for one in detect_remarks([("Bo", said)], known)] == left


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("Here's an example of a revised version of the story that keeps you in it.", True),
        ("Some ways to go on without disrupting the flow: 1. Use active voice.", True),
        ("Your protagonist enters the inn.", True),
        ("The dam disrupts the flow of the river, and you read the original text aloud.", False),
    ],
)
def test_a_narrator_that_edits_a_text_speaks_out_of_its_role(told: str, found: bool) -> None:
    assert (detect_character_break(read(told)) is not None) is found


@pytest.mark.parametrize(
    ("ann", "absent", "found"),
    [
        ("I wait.", ["Bo"], []),
        ("I wait.", ["Ann"], ["Bo"]),
        ("I don't get it.", ["Bo"], ["Ann, Bo"]),
        ("I don't get it.", ["Ann", "Bo"], ["Ann, Bo"]),
    ],
)
def test_who_loses_track_by_habit_makes_no_confusion_alone(
    ann: str, absent: list[str], found: list[str]
) -> None:
    said = [("Ann", ann), ("Bo", "Sorry, I lost track.")]
    assert [one.subject for one in detect_remarks(said, absent=absent)] == found


def test_a_drifter_that_is_lost_is_none_of_the_narrators_confusions() -> None:
    """The same words of a joker are one; which archetypes lose track is said in their files."""

    def confused(archetype: str, who: int) -> float | None:
        group = {"group": [archetype, archetype]}
        names = [seat["name"] for seat in play(Script(), max_turns=1, **group).prelude][:who]

        def say(name: str, turn: int) -> str:
            return "Sorry, I lost track." if turn == 3 and name in names else "I nod."

        return play(Script(say=say), max_turns=6, **group).values["confusion_events"]

    assert [confused("drifter", who) for who in (1, 2)] == [0.0, 1.0]
    assert [confused("joker", who) for who in (1, 2)] == [1.0, 1.0]


# --- contradictions ------------------------------------------------------------------------------


def contradictions(*told: str | tuple[str, str], guide: str = "") -> list[str]:
    """Subjects of contradictions; each step is an output, or what a player says and an output."""
    facts: tuple[Fact, ...] = ()
    found: list[str] = []
    for turn, step in enumerate(told, start=1):
        said, text = step if isinstance(step, tuple) else ("", step)
        lines = [Utterance(turn - 1, said, narrated=False), Utterance(turn, text)]
        findings, facts = detect_contradictions(facts, lines, guide)
        found += [finding.subject for finding in findings]
    return found


@pytest.mark.parametrize(
    ("first", "then", "subject"),
    [
        ("The church door is locked.", "The church door stands open.", "church door"),
        ("The door behind you is locked.", "The door behind you is unlocked.", "door"),
        ("The lamp has gone out.", "The lamp has not gone out.", "lamp"),
        ("The old keeper is dead.", "The old keeper is alive.", "keeper"),
        ("The way back is clear.", "The way back is blocked.", "way back"),
        ("The Violin Case is intact.", "The Violin Case is broken.", "violin case"),
        ("The Dining Car is empty.", "It is late. The Dining Car is crowded.", "dining car"),
        ("You push the church door open.", "The church door is locked.", "church door"),
        ("The door of the crypt is bolted.", "The crypt door stands wide open.", "crypt door"),
        ("The crypt door will not budge.", "The crypt door hangs open.", "crypt door"),
        ("The cellar hatch stands open.", "The cellar hatch won't open.", "cellar hatch"),
        ("Both kegs are empty.", "The two kegs are full to the brim.", "kegs"),
        ("There are four bells.", "All nine bells hang still.", "bells"),
        ("You find a red glove.", "The blue glove is where you left it.", "glove"),
        ("He gives you room 12.", "You lock the door of room 31 behind you.", "room"),
        ("The clock shows half past nine.", "The clock shows ten past eight.", "clock"),
        ("It is midnight.", "The afternoon sun lies on the roofs.", "hour"),
        ("Rain beats on the roof.", "It has not rained for weeks.", "weather"),
        ("Marten died in 1820.", '"Marten? He died in 1840," says the clerk.', "marten died"),
        ("The clerk bows. His name is Abel.", "The clerk bows. His name is Ivo.", "clerk"),
        ("The office is on the third floor.", "The office is in the basement.", "office"),
        ("You throw the ring into the sea.", "You hold the ring up to the light.", "ring"),
        ("The drawbridge is down.", "The drawbridge is up, and geese swim below.", "drawbridge"),
        ("The inn has its shutters down.", "The inn shutters are up, as always.", "inn shutters"),
        ("The boathouse is open.", "The boathouse is padlocked.", "boathouse"),
    ],
)
def test_a_state_that_flips_without_cause_is_a_contradiction(
    first: str, then: str, subject: str
) -> None:
    assert contradictions(first, PROSE[0], then) == [subject]
    assert contradictions(f"{first} {then}") == [subject]


@pytest.mark.parametrize(
    "steps",
    [
        (
            "The church door is locked.",
            ("I unlock the door with the key.", "The church door is open."),
        ),
        ("The door is locked.", "You force the door with a shoulder. The door is open."),
        ("The door is locked.", "The door is now open."),
        ("The door is locked.", "Suddenly the door is open."),
        ("The door is locked.", "Is the door open?"),
        ("The door is locked.", '"The door is open," lies the porter.'),
        ("The church door is locked.", "The cellar door is open."),
        ("The lamp is lit.", "A gust, and the lamp goes out. The lamp is dark."),
        ("The keeper is alive.", "The keeper falls from the gallery. The keeper is dead."),
        ("The door is locked.", "The door is locked."),
        ("The door is not open.", "The door is locked."),
        ("The cellar door is open.", "The attic door is locked."),
        ("The street is empty.", "By nine the street is crowded."),
        ("You push the gate open.", "The gate is shut."),
        ("The lamp is lit.", "The corridor is dark."),
        ("The way back is blocked.", *PROSE[:4], "The way back is clear."),
        ("There are four bells.", ("We take two bells.", "The two bells ring.")),
        ("There are four bells.", "The two bells on the left ring."),
        ("You find a red glove.", "There is a blue glove too.", "The blue glove is small."),
        ("The clock shows half past nine.", "You sleep.", "The clock shows eight o'clock."),
        ("It is evening.", "It is night.", "Dawn comes, and at last it is noon."),
        ("You throw the ring into the sea.", "A fisherman has found it: you hold the ring again."),
        ("You throw the ring into the sea.", "You hold the other ring."),
        ("The keeper would be dead by now, if the door were open.", "The keeper is alive."),
        ("The hatch is down.", "You heave at the ring. It gives. The hatch is up."),
        ("The inn has its shutters down.", "The bank has its shutters up."),
        ("The shutter is down.", "The sun is up. The street is up and about."),
        ("There are four rowers.", "Three more come out. All seven rowers bow."),
    ],
)
def test_changes_questions_and_hearsay_are_no_contradictions(steps: tuple[str, ...]) -> None:
    assert contradictions(*steps) == []


@given(
    st.lists(
        st.sampled_from(
            ("The hatch is locked.", '"Go." ', '"Who is it?" asks Bohl.', "Bohl says: ", "Wait...")
        )
    )
)
def test_sentences_are_quoted_as_they_were_told(pieces: list[str]) -> None:
    text = " ".join(" ".join(pieces).split())
    said = [sentence.said for sentence in sentences(text)]
    assert all(one in text for one in said)
    assert all('"' not in sentence.text for sentence in sentences(text))


def test_only_a_few_facts_are_kept() -> None:
    things = ("gate", "hatch", "shutter", "cage", "cabinet")
    colours = ("red", "blue", "grey", "olive", "new", "far", "near", "left", "second", "pine")
    told = " ".join(f"The {one} {thing} is locked." for thing in things for one in colours)
    _, facts = detect_contradictions((), [Utterance(1, told)])
    assert len(facts) == KEPT_FACTS < len(things) * len(colours)


def test_what_a_guide_counts_holds_from_the_start() -> None:
    guide = "Eleven camels cross the sand. The old woman counts them."
    assert contradictions("All seven camels kneel.", guide=guide) == ["camels"]
    assert contradictions("All eleven camels kneel.", guide=guide) == []


# --- people --------------------------------------------------------------------------------------

PEOPLE = """# The Mill
- **Agnes Moor**: the miller; mute since the flood; writes on a slate
- **Barnaby**: blind in both eyes, never leaves the loft
- **Sir Piers Aldin** - courteous, terrified of heights
- **Ysolde**: a ghost, dead for a hundred years
- **Bram Tell**: dead since April
- **Odile**: the cook; never uses more than five words
- **Doctor Sato**: hates to be touched; keeps everyone's secrets
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"Come in, come in!" calls Agnes, and talks about the weather.', "Agnes Moor"),
        ("Barnaby reads the letter aloud and looks at your ties.", "Barnaby"),
        ("The stair creaks. Barnaby leaves the loft and walks to the inn.", "Barnaby"),
        ('"Out of my way, you idiots," says Sir Piers.', "Sir Piers Aldin"),
        ("Piers dances along the ridge of the roof.", "Sir Piers Aldin"),
        ('"Whatever you decide, decide it together," says Odile.', "Odile"),
        ("Sato flings his arms around all of you.", "Doctor Sato"),
        ('"Guess what Agnes wrote," says Sato.', "Doctor Sato"),
    ],
)
def test_people_who_act_against_the_guide_break_character(text: str, name: str) -> None:
    assert [found.subject for found in detect_people_breaks(read(text), PEOPLE)] == [name]
    assert detect_people_breaks(read(text), PEOPLE, [name]) == []


@pytest.mark.parametrize(
    "text",
    [
        "Agnes writes on her slate, and nods.",
        'Odile looks at you. "Mind what you promise. Is that a yes?"',
        '"She is mute," says Barnaby of Agnes.',
        "Barnaby turns his blind eyes to you. He does not leave the loft.",
        "For once, Sir Piers shouts.",
        '"Idiots," says a voice behind Sir Piers.',
        "If Barnaby could read, he would.",
        "Sir Piers looks down from the roof and shuts his eyes.",
        'You read the letter. "Out, idiots!" it says.',
        "You try to hug Sato, and he puts a crate between you.",
        '"I cannot tell you what she told me," says Sato.',
        "Sato folds his arms over his chest.",
        'Sato nods. A maid gossips behind him. "Guess what he said," she says.',
    ],
)
def test_people_who_are_as_they_are_do_not(text: str) -> None:
    assert detect_people_breaks(read(text), PEOPLE) == []


def test_the_dead_do_not_act_unless_they_are_ghosts_or_remembered() -> None:
    dead = dict.fromkeys(deaths("Barnaby lies by the wheel, and he is dead.", PEOPLE), 3)
    assert dead == {"Barnaby": 3}
    assert [one.subject for one in detect_returned(read("Barnaby laughs."), PEOPLE, dead)] == [
        "Barnaby"
    ]
    assert deaths("They find Barnaby. They pull him out, quite dead.", PEOPLE) == ["Barnaby"]
    assert deaths("They find Barnaby. They pull him out, half dead.", PEOPLE) == []
    assert deaths("Barnaby has shot a hare; it lies dead.", PEOPLE) == []
    found = detect_returned(read("The door opens, and Bram comes in."), PEOPLE, {})
    assert [one.subject for one in found] == ["Bram Tell"]
    for told in (
        "Ysolde laughs.",
        "You remember how Barnaby laughs.",
        "In the photograph Barnaby laughs.",
        '"Barnaby laughs at you," says Agnes.',
        "Agnes laughs.",
    ):
        assert detect_returned(read(told), PEOPLE, dead) == []


@pytest.mark.parametrize(
    "told", ["If Barnaby is dead, who rings?", '"Barnaby is dead," says Agnes.', "Ysolde is dead."]
)
def test_who_is_only_said_to_be_dead_is_not(told: str) -> None:
    assert deaths(told, PEOPLE) == []


# --- confusion, character breaks, breakdown ------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "I'm completely lost.",
        "Wait, what is going on?",
        "That makes no sense.",
        "I\u2019m confused.",
    ],
)
def test_players_who_cannot_follow_are_confused(said: str) -> None:
    one = detect_confusion([("Sam", said), ("Odette", "I go in."), ("Ravi", "Me too.")])
    assert one is not None
    assert (one.subject, one.severity) == ("Sam", "warning")
    most = detect_confusion([("Sam", said), ("Odette", said), ("Ravi", "Me too.")])
    assert most is not None
    assert most.severity == "error"


@pytest.mark.parametrize(
    "said",
    [
        "I get lost on purpose and look for the lost dog.",
        "Quick recap, please?",
        "Nobody knows what's going on.",
        "I follow the porter.",
    ],
)
def test_ordinary_play_is_not_confusion(said: str) -> None:
    assert detect_confusion([("Sam", said)]) is None


def test_two_who_ask_back_are_lost_and_one_may_do_so_in_the_story() -> None:
    lost = [("Sam", "Sorry, what?"), ("Odette", "Can you say that again?"), ("Ravi", "I wait.")]
    assert detect_confusion(lost) is not None
    assert detect_confusion(lost[1:]) is None
    for both_ends in ("Who gave what to whom?", "No idea who is saying what.", "Who has which?"):
        assert detect_confusion([("Sam", both_ends)]) is not None
    for in_story in ("Who told it that we'd come?", "Who knows what he drinks?", "Who is he?"):
        assert detect_confusion([("Sam", in_story)]) is None


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("She was never found. In later years you told it to your children.", True),
        ("He slept. They lived happily ever after, and every spring the bell rang.", True),
        ("The sofa is soft. Good night, dear listeners.", True),
        ("The sea closes over you. END OF TAPE.", True),
        ("They say it was never found, and that to this day it rings every year.", False),
        ('"Good night, my dears," says the landlady.', False),
        ("Years later you would remember that mattress. Now the door opens.", False),
        ("From then on it rang every year. Who goes first?", False),
    ],
)
def test_an_output_that_tells_of_later_times_or_says_farewell_winds_up(
    text: str, ends: bool
) -> None:
    assert winds_up(text) is ends


def test_a_narrator_that_speaks_as_a_machine_breaks_character() -> None:
    found = detect_character_break(read("As an AI language model, I cannot continue this story."))
    assert found is not None
    assert found.severity == "error"
    for text in (*PROSE, "The guide lifts her lamp. I am your guide, she says."):
        assert detect_character_break(read(text)) is None


def test_a_broken_record_is_a_breakdown_and_prose_is_not() -> None:
    assert detect_breakdown(read("the fog and the fog and " * 20)) is not None
    assert detect_breakdown(read(" ".join(PROSE))) is None


@pytest.mark.parametrize(
    "text",
    [
        'The door opens {"type": "narration", "choices": []} and so on.',
        "Of the and the door the of and under which of the of is a the lamp and of of the is grey.",
        "Der Turm ist dunkel und die Treppe ist nass, und von oben kommt ein Licht auf dich zu.",
        "You climb the stair, and at the top of it you find the",
        "You climb the stair undefined undefined NaN and so on.",
    ],
)
def test_a_text_that_falls_apart_is_a_breakdown(text: str) -> None:
    assert detect_breakdown(read(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "No no no no, says the wall. No no no.",
        "PRESSURE 0.98\nCREW 4\nCOUNT 7",
        "The inscription says: et in Arcadia ego. You climb on, and so does the echo",
        "You may:\n- go up\n- go down\n- wait",
    ],
)
def test_strange_prose_is_no_breakdown(text: str) -> None:
    assert detect_breakdown(read(text)) is None


def test_a_story_in_another_language_is_no_breakdown_where_the_guide_is_in_it() -> None:
    text = "Der Turm ist dunkel und die Treppe ist nass, und von oben kommt ein Licht auf dich zu."
    assert detect_breakdown(read(text), f"# Der Turm\n\n{text}") is None


def test_a_narrator_that_has_lost_track_is_confused() -> None:
    assert detect_lost_narrator(read("I've lost track. Could you clarify?")) is not None
    assert detect_lost_narrator(read('"I\'ve lost track," says the porter.')) is None
