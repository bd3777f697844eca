"""What a listener catches of a narration: people, things, places, and the choice on offer."""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import NamedTuple

from matrix.providers.simulated.grammar import OPENERS, you_to_we

_TITLES = frozenset(
    "Inspector Countess Count Captain Lord Lady Queen King Duke Dame Sir Doctor Professor Father "
    "Mother Mister Miss Madame Brother Sister Aunt Uncle Widow".split()
)
_PLACE_WORDS = frozenset(
    "Car Van Room Hall Inn House Bridge Dock Walk Cellar Gallery Tower Road Station Street Hut "
    "Kitchen Kitchens Office Loft Chapel Dam Summit Terrace Pier Rock Island Bay Harbour Ladder "
    "Shoulder Slot Spring Terminus Vestibule Causeway Schoolhouse Doors Platform Compartment Spoke "
    "Ring Press Tanks Lake Sound Valley Mountain Forest Garden Orchard Square Market Church Theatre "
    "Hotel Farm Mill Court Palace Castle Gate Wall Deck Stone Mail Path Trail Park Ferry Train "
    "Lane Yard Terminal Field Wood River Window".split()
)
_INTO = frozenset(
    "in at on to from near behind beyond towards toward into outside inside through past across "
    "above below of over along onto under up down".split()
)
_ARTICLES = frozenset(("the", "a", "an", "his", "her", "their", "your", "its"))
_PROPER = re.compile(
    r"(?:\b([a-z]+|The|An?) )?((?:[A-Z][a-z'\u2019-]+)(?: (?:of )?(?:the )?[A-Z][a-z'\u2019-]+)*)"
)
_NOUN = re.compile(
    r"\b(?:the|a|an) (?:([a-z-]+) )?([a-z-]+)(?=[,.;:!?]| (?:of|in|on|at|by|under|above|behind|"
    r"beside|with|from|that|which|is|was|hangs|stands|lies|has)\b)"
)
_ADJECTIVE = re.compile(
    r"(?:ed|en|[^a]y|ful|ous|ish)$|^(?:old|small|big|red|black|white|grey|green|dark|"
    r"cold|warm|wet|dry|last|broken|little|long|steel|brass|iron)$"
)
_NO_THING = frozenset(
    "way moment time times same last first only rest others other group end thing things kind one "
    "minute minutes hour hours day night second seconds morning evening answer question choice "
    "world story while bit lot little few most least side left right middle case matter point sort "
    "number edge top bottom front back breath word words name names year years week whole half part "
    "people person men women man woman truth reason idea sense plan more next subject talk joke "
    "thought party best worst width mood sound smell space length tip lip once yet count custom "
    "shape lost are was were is has look company debt instinct air audience silence noise light "
    "dark wind cold size line rhythm theft lie lies price cure chance law custom order help use "
    "meantime distance beginning ending past future present fact facts search note time hurry "
    "insurance gratitude company dead living others least pulse shouting talking count verdict "
    "honour pleasure effort mistake surprise habit manner voice tone laugh smile nod shrug ground "
    "sky weather rain snow fog room floor dawn dusk noon midnight sunset sunrise supper breakfast "
    "off out away two three four five six seven eight nine ten hand hands palm thigh knee knees face "
    "shoulder arm arms eye eyes head feet foot height edges nose drop newborn steps step cloth yards "
    "days words ways figure lap mouth chest back neck hair heart mind hat and or but there then here it he she they you who this that nobody somebody anybody everybody longer further closer quickest kindest choice flooding evidence money work pair dozen hundred thousand".split()
)
_ACTS = re.compile(
    r" (?!is\b|was\b|as\b|this\b|its\b|across\b|towards\b|always\b)(?:[a-z]{2,}s|who|will|can|had|"
    r"would|could)\b|, who\b"
)
_SPEECH = re.compile(r'"[^"]*"')
_QUESTION = re.compile(r"Do you ([^?.!\n]+)\?\s*$")
_EITHER = re.compile(r",? or do you |, or | or (?=[a-z]+ )|, ")
_MOST = 8


class Scene(NamedTuple):
    """What can be referred to. All carry their articles; ``options`` read after "we"."""

    people: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]
    options: tuple[str, ...]

    def slots(self, rng: random.Random, without: str = "") -> dict[str, str]:
        """A person, a thing and a place to talk about, at random, never ``without`` itself."""
        slots: dict[str, str] = {}
        people = [one for one in self.people if one != without] if without else self.people
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
        if noun in _NO_THING or len(noun) < 3 or noun.endswith(("ly", "ing", "ed")):
            continue
        if adjective and not _ADJECTIVE.search(adjective):
            if noun.endswith("s"):
                continue
            adjective = ""
        things.setdefault(f"the {adjective} {noun}" if adjective else f"the {noun}")
        if len(things) >= _MOST:
            break
    return Scene(tuple(people), tuple(things), tuple(places), _options(narration))


def _proper(told: str) -> tuple[dict[str, None], dict[str, None], dict[str, None]]:
    """Names in the narration, told apart by their words and by the word before them."""
    people: dict[str, None] = {}
    things: dict[str, None] = {}
    places: dict[str, None] = {}
    unsure: set[str] = set()
    for match in _PROPER.finditer(told):
        before, name = match[1] or "", match[2]
        lead, _, rest = name.partition(" ")
        if lead in OPENERS and before.lower() not in _ARTICLES:
            if not rest or rest.startswith("of "):
                continue
            before, name = lead, rest
        elif not (before or rest) and told[match.start() - 2 : match.start() - 1] in '.?!:\n"':
            continue  # a lone word that opens a sentence need not be a name
        name = name.removesuffix("'s").removesuffix("\u2019s")
        words = _up_to_place(name.split())
        name = " ".join(words)
        article = "the " if before.lower() in _ARTICLES else ""
        if words[0] in _TITLES:
            people.setdefault(article + name)
        elif words[-1] in _PLACE_WORDS or words[0] in _PLACE_WORDS:
            places.setdefault(article + name)
        elif article:
            things.setdefault(article + name)
        elif before in _INTO:
            unsure.add(name)
        elif len(words) > 1 or _ACTS.match(told, match.end()):
            people.setdefault(name)
    for name in unsure:
        people.pop(name, None)
    return people, things, places


def _up_to_place(words: list[str]) -> list[str]:
    """ "Cider Press Hask" is a place and a person that happen to be neighbours: the place."""
    for index in range(1, len(words) - 1):
        if words[index] in _PLACE_WORDS and words[-1] not in _PLACE_WORDS:
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
