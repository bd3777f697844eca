"""What models are told is data of the story: shipped texts, or its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup import prompts
from matrix.kinds.playtest.setup.wording import fill, mistake_in, standard_texts
from matrix.kinds.playtest.table.judge import QUALITIES, rubric_of
from matrix.model.errors import BadInput
from tests.kinds.fakes import Played, make_prelude, play_session
from tests.kinds.playtest.script import PROSE, Script, binding, label, plan
from tests.kinds.playtest.test_playtest_session import GROUP

WORDS = {
    "opening": "$size people have come to the workshop. Greet them, and ask what they do.",
    "playing": "You take part like any colleague. Never speak as the facilitator.",
    "reaction": "The facilitator says: $narration\n${mood}What do you, $name, answer?",
    "relay": "The facilitator said: $narration\nYour colleagues say:\n$said\nTell the facilitator.",
    "classifier": "You label one message of the facilitator of a workshop.",
    "pulse": "A pulse is a step of the workshop.",
    "coherence": "Does one step of the workshop follow from the other?",
}
GUIDE = "# A Retro\n\nA workshop that costs $5 and ${nothing}.\n"


def played(words: dict[str, str]) -> Played:
    scenario = {"words": words} if words else {}
    bound = binding(options=json.dumps({**GROUP, "with_judge": True}))
    resources = dict(bound.resources)
    resources["scenario"] = {**resources["scenario"], **scenario}
    resources["guide"] = GUIDE
    verdict = json.dumps(dict.fromkeys(QUALITIES, 4))
    script = Script(narrator=PROSE[:2], labels={1: label(), 2: label()}, verdicts=[verdict])
    session = plan(max_turns=2, options={**GROUP, "with_judge": True})
    prelude = make_prelude(KIND, session, resources, script)
    return play_session(KIND, session, resources, script, prelude=prelude)


def test_every_model_is_told_what_the_story_says_and_the_rest_as_shipped() -> None:
    own = played(WORDS)
    texts = ["\n".join(m.content for m in asked.messages) for asked in own.asked]
    for told in (
        "3 people have come to the workshop.",
        "You take part like any colleague.",
        f"The facilitator says: {PROSE[0]}\nWhat do you, ",
        f"The facilitator said: {PROSE[1]}\nYour colleagues say:\n- ",
        "You label one message of the facilitator of a workshop. JSON keys:",
        "A pulse is a step of the workshop.",
        "Does one step of the workshop follow from the other?",
        "[table] Begin the story now.",
        "A workshop that costs $5 and ${nothing}.",
    ):
        assert any(told in text for text in texts), told
    assert not any("You label one output of the narrator" in text for text in texts)
    shipped = played({})
    assert not any(
        "workshop." in m.content
        for a in shipped.asked
        for m in a.messages[:1]
        if "costs" not in m.content
    )
    assert own.values["score"] == shipped.values["score"]


def test_scores_by_other_questions_are_of_another_rubric() -> None:
    assert rubric_of().hash == rubric_of({"opening": "$size"}).hash
    assert rubric_of().hash != rubric_of(WORDS).hash


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("reaktion", "x", "unknown text; allowed: narrator, "),
        ("opening", "Welcome.", "lacks $size, which the shipped text has"),
        ("opening", "$size and $names", "found $names; allowed: $size"),
        (
            "opening",
            "$sise, $nmae",
            "lacks $size, which the shipped text has; found $nmae, $sise; allowed: $size",
        ),
        ("casting", "Invent $somebody.", "found $somebody; allowed: no $ at all"),
        (
            "opening",
            "$size for 5$",
            "has a $ that begins no name (as in $name or ${name}); write $$",
        ),
        ("casting", "  ", "is empty"),
        ("casting", "For $$5.", ""),
    ],
)
def test_a_text_that_could_not_be_filled_is_told(name: str, text: str, told: str) -> None:
    assert mistake_in(name, text).startswith(told) if told else mistake_in(name, text) == ""


def test_a_story_says_its_own_words_and_every_mistake_in_them_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "retro"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)

    def read(words: dict[str, Any], **more: Any) -> Any:
        story = {"kind": "playtest", "words": words} | more
        (folder / "scenario.yaml").write_text(yaml.safe_dump(story, sort_keys=False))
        return KIND.read_pack(folder, "retro").content

    assert read(WORDS)["words"] == WORDS
    assert "words" not in read({})
    with pytest.raises(BadInput) as told:
        read({"opening": "Hello.", "pulse": "  ", "reaktion": "x", "casting": 7}, genres=1)
    lines = sorted(str(told.value).splitlines())
    assert [line.split("scenario.yaml:")[1].split(";")[0] for line in lines] == [
        "3: words.opening: lacks $size, which the shipped text has",
        "4: words.pulse: is empty",
        "5: words.reaktion: unknown text",
        "6: words.casting: found 7",
        "7: genres: unknown key",
    ]


def test_every_shipped_text_is_one_that_a_story_could_have() -> None:
    assert {
        name: mistake_in(name, text) for name, text in standard_texts().items()
    } == dict.fromkeys(standard_texts(), "")


@given(st.text(), st.text())
def test_nothing_that_is_put_into_a_text_is_read_as_one(narration: str, name: str) -> None:
    told = prompts.reaction_request("", narration, name)
    assert narration in told
    assert f"What do you, {name}, say or do?" in told
    assert fill({"relays": "a $$ sign"}, "relays") == "a $ sign"
