"""How a simulated narrator answers a question: from the guide where it names something in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from matrix.providers.simulated.language.grammar import capitalised, ended
from matrix.providers.simulated.language.phrasebook import asides
from matrix.providers.simulated.language.phrasebook.bank import Bank
from matrix.providers.simulated.story.people import Person
from matrix.providers.simulated.story.story import Story

_KINDS: Final[tuple[tuple[re.Pattern[str], Bank], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), bank)
    for pattern, bank in (
        (r"\b(?:options?|choices|what can we do|which of these)\b", asides.OPTIONS),
        (r"\b(?:when|how long|what year|what time|how late)\b", asides.WHEN),
        (r"\b(?:can|could|may) (?:i|we)\b|what happens if|shouldn't|\bany way to\b", asides.MAY_I),
        (r"\bis there any|\bare there any|\bwhat do i (?:see|notice)\b", asides.PRESENT),
        (r"\b(?:hear|smell|feel like|sound|taste)\b", asides.SENSED),
        (r"\b(?:look like that|moved|changed|the same|move at all)\b", asides.CHANGED),
    )
)
_CARE = re.compile(r"\b(?:all right|hurt|safe|have anybody|looking after)\b", re.IGNORECASE)
_WANT = re.compile(r"\bwants?\b|\bafter\?", re.IGNORECASE)
_WHO_WHAT = re.compile(r"\b(?:who|what|why|how|where|which)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1[0-9]|2[0-4])\d\d\b")


def answer_to(question: str, story: Story, fills: Mapping[str, str], turn: int) -> str:
    """One or two sentences in answer to ``question``, without a question of their own."""
    if "year" in question and (year := _YEAR.search(story.text)):
        return f"It is {year[0]}, and nobody here has any reason to doubt it."
    person = next(
        (one for one in story.people if any(call in question for call in one.calls)), None
    )
    if person and (answer := _of_person(question, person, turn)):
        return answer
    for pattern, bank in _KINDS:
        if pattern.search(question):
            return bank.deal(turn, fills)
    if _WHO_WHAT.search(question):
        return _described(question, person, story, turn) or asides.WHO_WHAT.deal(turn, {})
    return asides.YES_NO.deal(turn, {})


def _of_person(question: str, person: Person, turn: int) -> str:
    """What only the guide's people can be asked: what they want, and how they are."""
    slots = {"person": person.name, "want": person.wants}
    if person.wants and _WANT.search(question):
        return ended(capitalised(asides.WANTS.deal(turn, slots)))
    if _CARE.search(question):
        return capitalised(asides.CARE.deal(turn, slots))
    return ""


def _described(question: str, person: Person | None, story: Story, turn: int) -> str:
    if person:
        parts = [part for part in (person.role, person.manner) if part]
        if parts:
            slots = {"person": person.name, "look": ", and ".join(parts)}
            return ended(capitalised(asides.ABOUT_PERSON.deal(turn, slots)))
    for thing in (*story.devices, *story.places):
        if thing.stem in question and thing.looks:
            look = thing.looks[turn % len(thing.looks)]
            return ended(asides.ABOUT.deal(turn, {"thing": thing.name, "look": look}))
    return ""
