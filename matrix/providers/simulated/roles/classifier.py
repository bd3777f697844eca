"""The simulated classifier: labels a narrator's output by what stands in it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import orjson

from matrix.kinds.playtest.detect.reading import word_set
from matrix.kinds.playtest.setup.vocabulary import OUTPUT_TYPES
from matrix.model.records import ChatMessage
from matrix.providers.simulated.story.cues import (
    MARKER,
    PRIVATE,
    is_forced,
    is_off_story,
    is_recap,
    speaks_as_host,
    topic_of,
)
from matrix.providers.simulated.story.scene import scene_of
from matrix.providers.simulated.traits import Traits

_PULSE_WORDS = 52
_OWN_WORDS = 6
_PLAIN = word_set(
    "always anybody because before everybody exactly literally nobody people really should "
    "somebody something tonight whether without would've"
)
"""Long words that are no sign of what was talked of."""

_TYPES = (
    ("humour", re.compile(r"\bpuns?\b|\bjokes?\b")),
    ("media", re.compile(r"\b(?:film|quiz|games?|speedrun|essay|documentary|podcast)\b")),
    ("everyday", re.compile(r"\b(?:pizza|crisps|phone|boss|cat|work|meter|umbrella|sums)\b")),
    ("table", re.compile(r"\b(?:characters|story|real life)\b")),
)
_LEAD = re.compile(
    r"""^(?:[^"]*")?(?:(?:this\ is\ |total(?:ly)?\ |completely\ )?
    (?:side\ note|random\ question|off\ topic|unrelated|before\ i\ forget)
    [^:,"]{0,20}[:,]\s*(?:but\ )?)?""",
    re.IGNORECASE | re.VERBOSE,
)
"""What introduces a tangent, before it says what it is about."""

_FENCE = '"""'
_ENDED = re.compile(r"\bTHE END\b|\b[Tt]he story (?:has ended|ends here|is over)\b|^\s*\[END\]")
_END_WORDS = ("THE END", "[END]", "he story has ended", "he story ends", "he story is over")
_BY_MARKER = {
    "PULSE": "pulse",
    "END": "clarification",
    "ASIDE": "private-moment",
    "RECAP": "recap",
    "TANGENT": "tangent-response",
}


def classify(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """The classification as JSON, in the form that the system prompt asks for."""
    relay, narration = _parts(messages[-1].content)
    label = label_of(relay, narration)
    wrong, other, sure = rng.random(), rng.random(), rng.random()
    if wrong < traits.misclassify:
        label = _mislabelled(label, other)
    label["confidence"] = round(0.62 + 0.36 * sure, 2)
    return orjson.dumps(label).decode()


def _parts(request: str) -> tuple[str, str]:
    pieces = request.split(_FENCE)
    if len(pieces) < 4:
        return "", request
    return pieces[1].strip("\n"), _FENCE.join(pieces[3:-1]).strip("\n")


def has_ended(narration: str) -> bool:
    """Whether a narrator's output closes the story."""
    return any(word in narration for word in _END_WORDS) and bool(_ENDED.search(narration))


def label_of(relay: str, narration: str) -> dict[str, Any]:
    """What the narration is, given what the group had said before it."""
    private = PRIVATE.search(narration) if "[" in narration or " alone" in narration else None
    off_story = is_off_story(relay)
    kind = "private-moment" if private else _kind(relay, narration, off_story)
    segue = None
    if kind in ("pulse", "tangent-response"):
        segue = _segue(narration, off_story)
    return {
        "type": kind,
        "confidence": 0.9,
        "pulse": _title(narration) if kind == "pulse" else None,
        "private_target": next(filter(None, private.groups()), None) if private else None,
        "group_off_story": off_story,
        **_tangent(relay, narration, off_story),
        "segue": segue,
        "segue_quality": _quality(segue, relay, narration),
        "concluded": has_ended(narration),
    }


def _tangent(relay: str, narration: str, off_story: bool) -> dict[str, Any]:
    """What the group talked of instead of the story, in its own words, and what came of it."""
    if not off_story:
        return {"tangent": None, "tangent_type": None, "taken_up": None}
    off = _LEAD.sub("", relay, count=1)
    topic = topic_of(relay).removeprefix("the ")
    met = bool(topic) and topic in narration.lower()
    words = off.split()[:_OWN_WORDS]
    return {
        "tangent": topic or " ".join(words).strip(' .!?,"'),
        "tangent_type": next((kind for kind, cue in _TYPES if cue.search(relay)), "other"),
        "taken_up": met or bool((_long_words(off) - _PLAIN) & _long_words(narration)),
    }


def _kind(relay: str, narration: str, off_story: bool) -> str:
    if has_ended(narration):
        return "clarification"
    marker = MARKER.match(narration)
    if marker and marker[1] in _BY_MARKER:
        return _BY_MARKER[marker[1]]
    if marker:
        return "tangent-response" if off_story else "clarification"
    if is_recap(narration):
        return "recap"
    long = len(narration.split()) >= _PULSE_WORDS
    if off_story or is_forced(narration):
        return "pulse" if long else "tangent-response"
    return "pulse" if long else "clarification"


def _segue(narration: str, off_story: bool) -> str | None:
    if is_forced(narration):
        return "forced"
    if not off_story or speaks_as_host(narration):
        return None
    return "natural"


def _quality(segue: str | None, relay: str, narration: str) -> int | None:
    """A return is better the more it takes up of what the group said."""
    if segue is None:
        return None
    shared = _long_words(relay) & _long_words(narration)
    if segue == "forced":
        return 1 if not shared else 2
    return min(5, 3 + len(shared))


def _long_words(text: str) -> set[str]:
    return {word for word in text.lower().split() if len(word) > 5}


def _title(narration: str) -> str:
    """At most six words that name what a pulse is about."""
    scene = scene_of(narration)
    named = _named(scene.people, scene.things)
    if named:
        return " ".join(" and ".join(named).split()[:6])
    return " ".join(narration.split()[:6]).strip(" .,;:\"'")


def _named(people: tuple[str, ...], things: tuple[str, ...]) -> list[str]:
    proper = [thing.removeprefix("the ") for thing in things if not thing.islower()]
    return [*people[:1], *proper[:1]]


def _mislabelled(label: dict[str, Any], draw: float) -> dict[str, Any]:
    others = [kind for kind in OUTPUT_TYPES if kind not in (label["type"], "private-moment")]
    kind = others[int(draw * len(others))]
    title = "A turn in the story" if kind == "pulse" else None
    return {**label, "type": kind, "pulse": title, "private_target": None}
