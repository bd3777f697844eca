"""The simulated casting model: a name, a backstory and a character, as JSON."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import orjson

from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.grammar import sentences, unended
from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.language.phrasebook.casting import NAMES, REASONS, ROLES
from matrix.providers.simulated.language.wordlists import words
from matrix.providers.simulated.roles.player import field_of
from matrix.providers.simulated.traits import Traits

_PLACE = re.compile(r"(?<![.!?] )(?<!^)\b([A-Z][\w'-]+(?: [A-Z][\w'-]+)*)")
_NOT_PLACES = words(
    "January February March April May June July August September October November December "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Its It The A I"
)
_PAST = words("came grew left spent got went had was took kept met knew once never")
_SYLLABLES = ("bel", "cor", "dan", "ev", "ja", "lor", "mi", "ne", "ro", "sa", "tal", "vi")


def cast(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """One player as JSON with the keys name, backstory and character."""
    system, request = messages[0].content, messages[-1].content
    name = _name(system, rng)
    places = [
        place
        for place in _PLACE.findall(field_of(system, "Setting"))
        if place.split(" ", 1)[0] not in _NOT_PLACES
    ]
    place = pick(rng, places) if places else "this place"
    reason = pick(rng, REASONS).replace("{place}", place)
    persona = {
        "name": name,
        "backstory": f"{_life(name, request)} {_arrival(name, request, reason)}",
        "character": f"{name} is {pick(rng, ROLES)}.",
    }
    return orjson.dumps(persona).decode()


def _listed(system: str, heading: str) -> list[str]:
    return [part for part in re.split(r",\s*", field_of(system, heading).rstrip(".")) if part]


def _name(system: str, rng: random.Random) -> str:
    """A name that nobody has: one that fits, else a common one, else an invented one."""
    taken = {name.casefold() for name in _listed(system, "Already taken")}
    for names in (_listed(system, "Names that fit"), NAMES):
        free = [name for name in names if name.casefold() not in taken]
        if free:
            return pick(rng, free)
    while True:
        name = "".join(pick(rng, _SYLLABLES) for _ in range(3)).capitalize()
        if name.casefold() not in taken:
            return name


def _life(name: str, request: str) -> str:
    """The archetype's context, told of this person: "Works in sales ..." -> "Danny works ..."."""
    context = field_of(f"\n{request}", "Context")
    first = unended(sentences(context)[0]) if context else "keeps busy"
    verb, _, rest = first.partition(" ")
    if not verb.endswith(("s", "ed")) and verb.lower() not in _PAST:
        return f"{name} sums it up like this: {first[:1].lower() + first[1:]}."
    return f"{name} {verb.lower()} {rest}."


def _arrival(name: str, request: str, reason: str) -> str:
    _, found, nudge = request.rpartition("somebody who is ")
    who = f"{name}, who is {nudge.strip().rstrip('.')}," if found else name
    return f"{who} {reason}."
