"""What one output of the narrator is: a model's label, checked, or a reading of the text itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from matrix.judging.answers import read_json_object
from matrix.kinds.playtest.detect.asides import addressed_alone, split_tagged
from matrix.kinds.playtest.detect.reading import closes, marker_of, read, title_of
from matrix.kinds.playtest.detect.story.beats import stems, tells_a_beat
from matrix.kinds.playtest.detect.tangents import has_forced_segue, looks_off_story
from matrix.kinds.playtest.setup.vocabulary import (
    CLARIFICATION,
    OUTPUT_TYPES,
    PRIVATE,
    PULSE,
    RECAP,
    TANGENT,
    TANGENT_TYPES,
)

SURE: Final = 0.8
"""Confidence from which a reading of the text alone is enough."""


class Classification(NamedTuple):
    """A classification of one output.

    Attributes:
        type: One of ``OUTPUT_TYPES``.
        confidence: 0 to 1.
        pulse: Title of the pulse, if it is one.
        private_target: Name of the player addressed alone, as written; empty without one.
        group_off_story: Whether the group's message before it was off the story.
        tangent: What the group talked of then, in a few words; empty where that is not said.
        tangent_type: One of ``TANGENT_TYPES``; empty where that is not said.
        taken_up: Whether the output makes something of that in the story; ``None`` if not said.
        segue: ``natural``, ``forced`` or empty.
        segue_quality: 1.0 to 5.0, if given.
        concluded: Whether the story has ended.
    """

    type: str
    confidence: float = 1.0
    pulse: str = ""
    private_target: str = ""
    group_off_story: bool = False
    segue: str = ""
    segue_quality: float | None = None
    concluded: bool = False
    tangent: str = ""
    tangent_type: str = ""
    taken_up: bool | None = None


def _nullable(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": [kind, "null"], **more}


SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": list(OUTPUT_TYPES)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "pulse": _nullable("string"),
        "private_target": _nullable("string"),
        "group_off_story": {"type": "boolean"},
        "tangent": _nullable("string"),
        "tangent_type": _nullable("string", enum=[*TANGENT_TYPES, None]),
        "taken_up": _nullable("boolean"),
        "segue": _nullable("string", enum=["natural", "forced", None]),
        "segue_quality": _nullable("number", minimum=1, maximum=5),
        "concluded": {"type": "boolean"},
    },
    "required": [
        "type",
        "confidence",
        "pulse",
        "private_target",
        "group_off_story",
        "tangent",
        "tangent_type",
        "taken_up",
        "segue",
        "segue_quality",
        "concluded",
    ],
    "additionalProperties": False,
}
"""JSON Schema of the classifier's answer, for models that can be held to one."""

_SPOKEN_TYPES: Final[Mapping[str, str]] = {
    "tangent": TANGENT,
    "private": PRIVATE,
    "aside": PRIVATE,
    "answer": CLARIFICATION,
    "story-pulse": PULSE,
}


def parse_label(answer: str) -> Classification | None:
    """Read the classifier's JSON; ``None`` unless it names a known type. Odd fields are dropped."""
    found = read_json_object(answer)
    if found is None:
        return None
    kind = re.sub(r"[\s_]+", "-", str(found.get("type", "")).strip().lower())
    kind = _SPOKEN_TYPES.get(kind, kind)
    if kind not in OUTPUT_TYPES:
        return None
    segue = _text(found.get("segue")).lower()
    about = _text(found.get("tangent_type")).lower()
    return Classification(
        type=kind,
        confidence=_number(found.get("confidence"), 0.0, 1.0) or 0.0,
        pulse=_text(found.get("pulse"))[:80],
        private_target=_text(found.get("private_target"))[:80],
        group_off_story=_truth(found.get("group_off_story")),
        segue=segue if segue in ("natural", "forced") else "",
        segue_quality=_number(found.get("segue_quality"), 1.0, 5.0),
        concluded=_truth(found.get("concluded")),
        tangent=_text(found.get("tangent"))[:80],
        tangent_type=about if about in TANGENT_TYPES else "",
        taken_up=_truth_if_told(found.get("taken_up")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or value.strip().lower() in ("null", "none", "n/a"):
        return ""
    return " ".join(value.split())


def _number(value: object, low: float, high: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if low <= value <= high else None


def _truth(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


def _truth_if_told(value: object) -> bool | None:
    said = isinstance(value, bool) or (isinstance(value, str) and _text(value) != "")
    return _truth(value) if said else None


_RECAP: Final = re.compile(
    r"\b(?:to recap|the story so far|so far,|let me catch you up|where things stand|"
    r"to sum up|a quick recap)\b",
    re.IGNORECASE,
)
_SHORT_ANSWER: Final = 45
"""Words; a longer reply to a question usually moves the story as well."""


_TOLD, _RECAPPED, _ANNOUNCED, _GUESSED = 0.9, 0.85, 0.7, 0.4
"""Confidence in a beat of the guide, in a recap that says it is one, in either of them where a
return to the story is announced (so that the classifier is asked of that), and in the rest."""


def label_from_text(text: str, relay: str, names: Sequence[str], guide: str = "") -> Classification:
    """Label an output by its markers and wording alone.

    It is sure of markers, of private tags and the closing line, of a recap that calls itself one,
    and of an output that tells a beat of the guide in so many words; of anything else it is not.
    """
    reading = read(text)
    marker = marker_of(text)
    off_story = looks_off_story(relay)
    forced = has_forced_segue(reading.spoken)
    tagged = split_tagged(text, names).asides
    target = tagged[0].target if tagged else addressed_alone(reading.spoken, names) or ""
    kind, sure = _marked(marker.name) if marker else "", _TOLD
    ends = closes(text) or (marker is not None and marker.name == "END")
    if not kind:
        kind = _worded(text, relay, bool(target), off_story, reading.length)
        sure = _TOLD if tagged or ends else _RECAPPED if kind == RECAP else _GUESSED
        if kind in (PULSE, CLARIFICATION) and not ends and tells_a_beat(reading.spoken, guide):
            kind, sure = PULSE, _TOLD
    return Classification(
        type=kind,
        confidence=min(sure, _ANNOUNCED) if forced else sure,
        pulse=title_of(text) if kind == PULSE else "",
        private_target=target if kind == PRIVATE else "",
        group_off_story=off_story,
        segue="forced" if forced else "natural" if off_story and kind == PULSE else "",
        concluded=ends,
    )


class Before(NamedTuple):
    """What an output follows: the group's message, what it was told of late, and who plays.

    ``late`` is whether the guide's pulses are all but told, so that any output may be the end.
    """

    relay: str
    guide: str
    told: Sequence[str]
    names: Sequence[str]
    late: bool = False


_NEW_WORDS: Final = 1 / 3
"""Share of a message's words that say something, and are neither of the guide nor of what was told
of late, up to which it is taken to be of the story."""

_ASIDE_CUE: Final = re.compile(
    r"\b(?:only you|alone|just you|whisper\w{0,3}|private\w{0,2}|aside|out of earshot|unseen"
    r"|for your (?:eyes|ears)|no ?one else|nobody else|secret\w{0,2}|the others?)\b",
    re.IGNORECASE,
)


def is_sure(label: Classification, text: str, before: Before) -> bool:
    """Whether nobody need be asked what an output is, nor what the group had said before it.

    How a narrator writes must not decide whether the group's own words are looked at: else a
    prompt that marks its beats would seem to have fewer tangents, and private moments without a
    tag. Nor is an ending without a closing line told by its beat.
    """
    if label.confidence < SURE or not stays_in(before):
        return False
    if before.late and not label.concluded:
        return False
    if label.type == PRIVATE or not _ASIDE_CUE.search(text):
        return True
    return not any(re.search(rf"\b{re.escape(name)}\b", text) for name in before.names)


def settled(read: Classification, asked: Classification) -> Classification:
    """The classifier's word, but for the type of an output whose wording shows it.

    A beat that is told is told, whatever the group said before it and however it is led to; that
    an output is for one player alone, the classifier may know better, and of an answer, that it
    answers what was off the story: a narrator who marks its answers has as many of those.
    """
    if read.confidence < _ANNOUNCED or asked.type == PRIVATE:
        return asked
    if (read.type, asked.type) == (CLARIFICATION, TANGENT) and not read.concluded:
        return asked
    return asked._replace(
        type=read.type,
        confidence=read.confidence,
        pulse=asked.pulse or read.pulse if read.type == PULSE else "",
        private_target=read.private_target or asked.private_target,
        concluded=asked.concluded or read.concluded,
    )


def stays_in(before: Before) -> bool:
    """Whether a message of the group is of the story beyond doubt, by its words."""
    if looks_off_story(before.relay):
        return False
    said = stems(before.relay) - stems(" ".join(before.names))
    new = said.difference(stems(before.guide), *map(stems, before.told))
    return len(new) <= _NEW_WORDS * len(said)


def _marked(name: str) -> str:
    return {
        "PULSE": PULSE,
        "ASIDE": PRIVATE,
        "ANSWER": CLARIFICATION,
        "RECAP": RECAP,
        "END": CLARIFICATION,
    }.get(name, "")


def _worded(text: str, relay: str, private: bool, off_story: bool, length: int) -> str:
    if private:
        return PRIVATE
    if _RECAP.search(text[:200]):
        return RECAP
    if off_story:
        return TANGENT
    if relay.rstrip(" \"'").endswith("?") and length < _SHORT_ANSWER:
        return CLARIFICATION
    return PULSE
