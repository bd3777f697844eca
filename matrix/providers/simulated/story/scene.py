"""What a listener catches of a narration: people, things, places, and the choice on offer."""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import NamedTuple

from matrix.providers.simulated.language.grammar import we_to_you, you_to_we
from matrix.providers.simulated.language.wordlists import (
    OPENERS,
    PLACE_WORDS,
    THINGS,
    TITLES,
    words,
)

_INTO = words(
    "in at on to from near behind beyond towards toward into outside inside through past "
    "across above below of over along onto under up down"
)
_ARTICLES = frozenset(("the", "a", "an", "his", "her", "their", "your", "its"))
_PROPER = re.compile(
    r"(?:\b([a-z]+|The|An?) )?((?:[A-Z][a-z'\u2019]+(?:-[A-Z]?[a-z]+)*)"
    r"(?: (?:of (?:the )?)?[A-Z][a-z'\u2019]+(?:-[A-Z]?[a-z]+)*)*)"
)
_NOUN = re.compile(
    r"\b(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir) (?:([a-z-]+) )?([a-z-]+)"
    r"(?=[,.;:!?]| (?:of|in|on|at|by|under|above|behind|beside|with|from|that|which|is|was|and|to"
    r"|has|hangs|stands|stood|lies|lay|sits|goes|comes|runs|turns|opens|swings|rings|moves)\b)"
)
_ADJECTIVE = re.compile(
    r"^(?!only$|[^y]*ready$).*(?:ed|en|[^a]y|ful|ous|ish)$|^(?:old|small|big|red|black|white|grey|green|dark|"
    r"cold|warm|wet|dry|last|broken|little|long|steel|brass|iron)$"
)
_ACTS = re.compile(
    r" (?!is\b|was\b|as\b|this\b|its\b|across\b|towards\b|always\b)(?:[a-z]{2,}s|who|will|can|had|"
    r"would|could)\b|, who\b"
)
_SPEECH = re.compile(r'"[^"]*"')
_QUESTION = re.compile(r"Do you ([^?.!\n]+)\?\s*$")
_EITHER = re.compile(r",? or do you |, or | or (?=[a-z]+ )|, ")
_NUMBERS = frozenset(
    ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
)
_SENTENCE_ENDS = (".", "?", "!", ":", "\n", '"')
_STANDS = words("stood lay hung sat rang fell came went goes ahead again close open shut alone")
"""What may follow a thing where an adjective and a thing are expected, as in "a lamp stood by"."""
_DAYS = words(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June"
    " July August September October November December Christmas Easter Midsummer"
)
_MOST = 8


class Scene(NamedTuple):
    """What can be referred to. All carry their articles; ``options`` read after "we"."""

    people: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]
    options: tuple[str, ...]

    def slots(self, rng: random.Random, without: str = "", heard: str = "") -> dict[str, str]:
        """A person, a thing and a place to talk about, at random.

        The person is neither ``without`` nor anybody who spoke in ``heard`` ("Sam: ...").
        """
        slots: dict[str, str] = {}
        people = [one for one in self.people if one != without and f"{one}: " not in heard]
        for name, found in (("person", people), ("thing", self.things), ("place", self.places)):
            draw = rng.random()
            if found:
                slots[name] = found[int(draw * len(found))]
        return slots


@lru_cache(maxsize=1024)
def scene_of(narration: str) -> Scene:
    """Read one output of a narrator as somebody at the table hears it."""
    told = _SPEECH.sub('""', narration)
    people, things, places = _proper(told)
    for match in _NOUN.finditer(told):
        adjective, noun = match[1] or "", match[2]
        if noun in _STANDS:
            adjective, noun = "", adjective
        if noun not in THINGS:
            continue
        if adjective and not _ADJECTIVE.search(adjective):
            adjective = ""
        things.setdefault(f"the {adjective} {noun}" if adjective else f"the {noun}")
        if len(things) >= _MOST:
            break
    return Scene(tuple(people), tuple(things), tuple(places), _options(narration))


def _proper(told: str) -> tuple[dict[str, None], dict[str, None], dict[str, None]]:
    """Names in the narration: people, things and places, told apart by the words around them."""
    found: tuple[dict[str, None], ...] = ({}, {}, {})
    unsure: set[str] = set()
    for match in _PROPER.finditer(told):
        before, name = match[1] or "", match[2]
        lead, _, rest = name.partition(" ")
        if lead in OPENERS and before.lower() not in _ARTICLES:
            if not rest or rest.startswith("of "):
                continue
            before, name = lead, rest
        elif not (before or rest) and _opens_sentence(told, match.start()):
            continue  # a lone word that opens a sentence need not be a name
        whole = name.removesuffix("'s").removesuffix("\u2019s").split()
        parts = _up_to_place(whole, after_article=before.lower() in _ARTICLES)
        kind = _kind(parts, before, acts=_ACTS.match(told, match.end()) is not None)
        if kind is None:
            unsure.add(" ".join(parts))
        else:
            article = "the " if before.lower() in _ARTICLES else ""
            found[kind].setdefault(article + " ".join(parts))
    for name in unsure:
        found[0].pop(name, None)
    return found[0], found[1], found[2]


def _opens_sentence(told: str, at: int) -> bool:
    return at < 2 or told[at - 2] in _SENTENCE_ENDS


def _kind(parts: list[str], before: str, *, acts: bool) -> int | None:
    """0 for a person, 1 for a thing, 2 for a place, ``None`` if it could be anything."""
    if parts[0] in TITLES:
        return 0 if len(parts) > 1 or before.lower() in _ARTICLES else None
    if parts[-1] in _DAYS:
        return None
    if any(part.endswith(("'s", "\u2019s")) for part in parts[:-1]):
        return 1
    if parts[-1] in PLACE_WORDS or (parts[0] in PLACE_WORDS and parts[-1] in _NUMBERS):
        return 2
    if before.lower() in _ARTICLES:
        return 1
    if before not in _INTO and (acts or (len(parts) > 1 and not parts[-1].endswith("s"))):
        return 0
    return None


def _up_to_place(words: list[str], *, after_article: bool) -> list[str]:
    """Only the place of a place and a person that are neighbours, as in "the Cider Press Hask"."""
    last_is_place = words[-1] in PLACE_WORDS or words[-1] in _NUMBERS
    for index in range(0 if after_article else 1, len(words) - 1):
        if words[index] in PLACE_WORDS and words[index + 1] != "of" and not last_is_place:
            return words[: index + 1]
    return words


def _options(narration: str) -> tuple[str, ...]:
    """The choices of a closing "Do you ..., or ...?", as the group would name them."""
    match = _QUESTION.search(narration)
    if match is None:
        return ()
    parts = [part.strip() for part in _EITHER.split(match[1])]
    if len(parts) < 2 or any(not part or len(part) > 80 for part in parts):
        return ()
    return tuple(you_to_we(part) for part in parts)


def chosen_in(narration: str, relay: str) -> str:
    """Which of the choices at the end of ``narration`` a group takes, as "You ...", or ``""``."""
    found = [(at, one) for one in _options(narration) if (at := relay.find(f"e {one}")) >= 0]
    return "You " + we_to_you(min(found)[1]) if found else ""
