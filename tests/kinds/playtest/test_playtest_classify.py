"""Laws of classification: lenient about wrapping, strict about meaning, never without a label."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.detect.classify import (
    SCHEMA,
    Classification,
    label_from_text,
    parse_label,
)
from matrix.kinds.playtest.setup.vocabulary import OUTPUT_TYPES
from tests.kinds.playtest.script import PROSE, label

NAMES = ("Sam", "Odette")
RELAY = "We go in."


def test_a_full_answer_is_read_whole() -> None:
    text = label(pulse="The train leaves", segue="natural", segue_quality=4, group_off_story=True)
    assert parse_label(text) == Classification(
        "pulse", 0.9, "The train leaves", "", True, "natural", 4.0, False
    )


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"type": "Tangent_Response"}\n```',
        'Sure! {"type": "tangent response", "confidence": 7} I hope that helps.',
        '{"type": "tangent", "segue": "abrupt", "segue_quality": 9, "pulse": null}',
        '{"type": "tangent-response", "private_target": "none", "concluded": "no"}',
    ],
)
def test_wrapping_spelling_and_odd_fields_do_no_harm(text: str) -> None:
    found = parse_label(text)
    assert found is not None
    assert found.type == "tangent-response"
    assert (found.segue, found.segue_quality, found.private_target) == ("", None, "")
    assert not found.concluded
    assert 0 <= found.confidence <= 1


@pytest.mark.parametrize(
    "text", ["", "pulse", "{", "[]", '{"type": "sermon"}', '{"kind": "pulse"}']
)
def test_an_answer_without_a_known_type_is_no_label(text: str) -> None:
    assert parse_label(text) is None


values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(list(SCHEMA["properties"])), values))
def test_any_object_gives_a_valid_label_or_none(answer: dict[str, Any]) -> None:
    found = parse_label(json.dumps(answer))
    if found is not None:
        assert found.type in OUTPUT_TYPES
        assert 0 <= found.confidence <= 1
        assert found.segue in ("", "natural", "forced")
        assert found.segue_quality is None or 1 <= found.segue_quality <= 5


@given(st.text(max_size=400), st.text(max_size=200))
def test_the_fallback_labels_any_text(text: str, relay: str) -> None:
    assert label_from_text(text, relay, NAMES).type in OUTPUT_TYPES


@pytest.mark.parametrize(
    ("text", "relay", "kind"),
    [
        (f"[PULSE 7]\n{PROSE[0]}", "What is that?", "pulse"),
        (f"[ANSWER]\n{PROSE[0]}", RELAY, "clarification"),
        (f"[RECAP]\n{PROSE[0]}", RELAY, "recap"),
        (f"[ASIDE -> Sam]\n{PROSE[0]}", RELAY, "private-moment"),
        (f"[To Sam only] {PROSE[0]}", RELAY, "private-moment"),
        ("Odette, you alone notice the draught.", RELAY, "private-moment"),
        (f"The story so far: {PROSE[0]}", RELAY, "recap"),
        ("Yes, it is locked.", "Is the door locked?", "clarification"),
        ("Ha. I like pineapple.", "Off topic, but what about pizza?", "tangent-response"),
        (f"{PROSE[0]} {PROSE[1]}", RELAY, "pulse"),
    ],
)
def test_markers_and_wording_are_read_when_the_classifier_fails(
    text: str, relay: str, kind: str
) -> None:
    found = label_from_text(text, relay, NAMES)
    assert found.type == kind
    assert (found.private_target != "") == (kind == "private-moment")
    assert (found.pulse != "") == (kind == "pulse")


def test_endings_are_recognised_by_marker_and_closing_line() -> None:
    assert label_from_text(f"[END]\n{PROSE[0]}", RELAY, NAMES).concluded
    assert label_from_text(f"{PROSE[0]}\n\nTHE END", RELAY, NAMES).concluded
    assert label_from_text(f"{PROSE[0]}\n\n**THE END.**", RELAY, NAMES).concluded
    assert not label_from_text(
        f"THE END of the line, says the guard. {PROSE[0]}", RELAY, NAMES
    ).concluded
