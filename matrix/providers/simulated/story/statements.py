"""Sentences of a simulated narrator that stand beside the story: facts, strangers, payoffs."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from matrix.providers.simulated.language.grammar import sentences
from matrix.providers.simulated.language.phrasebook import narration
from matrix.providers.simulated.language.phrasebook.bank import filled, pick
from matrix.providers.simulated.story.story import Beat, Story

_ASIDE = re.compile(r"\[To ([^\]]+) only\] ([^\n]+)")
_RECENT = 8
_TOO_FRESH = 2


def _pairs(slot_names: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Facts and their opposites about these places and devices, and about nothing in particular."""
    return [
        (filled(fact, {slot: name}), filled(denial, {slot: name}))
        for slot, fact, denial in narration.FACTS
        for name in (slot_names[slot] if slot else [""])
        if not slot or name.startswith("the ")
    ]


def _of_beat(beat: Beat) -> list[tuple[str, str]]:
    places = [beat.place.name] if beat.place and not beat.people else []
    return _pairs({"device": [one.name for one in beat.devices], "place": places})


def fact(beat: Beat, position: int) -> str:
    """A plain fact about a scene, stated in passing."""
    facts = _of_beat(beat)
    return facts[position % len(facts)][0]


def contradiction(
    story: Story, beat: Beat, outputs: Sequence[str], position: int
) -> tuple[str, str]:
    """A fact and its opposite; the fact is empty if one of the last ``outputs`` stated it."""
    everything = _pairs(
        {
            "device": [one.name for one in story.devices],
            "place": [one.name for one in story.places],
        }
    )
    for stated, denial in everything:
        if any(stated in text for text in outputs[-_RECENT:]):
            return "", denial
    facts = _of_beat(beat)
    return facts[position % len(facts)]


def stranger(story: Story, rng: random.Random) -> str:
    """Somebody who is not in the guide."""
    names = [
        name for name in narration.STRANGERS if not any(word in story.text for word in name.split())
    ]
    name = pick(rng, names or narration.STRANGERS)
    return narration.STRANGER_LINES.draw(rng, {"stranger": name})


def payoff(outputs: Sequence[str], position: int) -> str:
    """What one player was told alone comes back for all to hear, if it has not yet."""
    for text in outputs[:-_TOO_FRESH]:
        if "[To " in text and (match := _ASIDE.search(text)):
            secret = max(sentences(match[2]), key=lambda one: (not one.endswith("?"), len(one)))
            if sum(secret in one for one in outputs) == 1:
                slots = {"name": match[1], "secret": secret}
                return narration.PAYOFFS.deal(position, slots)
    return ""
