"""Casting: models invent the people who play, once per round, for every variant to share.

Whatever a model answers, each player ends up with a name of their own, a short backstory and a
character; what cannot be used is replaced by the archetype's context and the scenario's names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from matrix.judging.answers import read_json_object
from matrix.kinds.context import Context
from matrix.kinds.playtest.detect.reading import word_set
from matrix.kinds.playtest.setup import roles
from matrix.kinds.playtest.setup.archetypes import Archetype
from matrix.kinds.playtest.setup.group import Group, draw_group
from matrix.kinds.playtest.setup.options import PlaytestOptions
from matrix.kinds.playtest.setup.prompts import persona_request, persona_system
from matrix.kinds.playtest.setup.wording import words_in
from matrix.kinds.playtest.table.asking import asking
from matrix.model.records import JSON

MAX_NAME = 24
MAX_BACKSTORY = 600
MAX_CHARACTER = 300
NAMES_SHOWN = 8
"""Names that a casting prompt suggests; more would only cost tokens."""

_TITLES: Final = word_set("mr mrs ms miss dr doctor prof professor sir lady lord captain old")
_RESERVED: Final = word_set(
    "narrator spokesperson system table group everyone everybody nobody all you the they we"
)
_SPARE: Final = ("Alex", "Robin", "Sam", "Kim", "Jo", "Noor", "Mika", "Toni", "Ari", "Lee")


class Persona(BaseModel):
    """One cast player, as the prelude hands it to every session of the round."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    name: str
    archetype: str
    model: str
    backstory: str
    character: str
    mood: str
    spokesperson: bool


class _Written(NamedTuple):
    name: str
    backstory: str
    character: str


async def cast_group(ctx: Context) -> JSON:
    """Draw the round's group and have each player cast by that player's own model, in parallel."""
    options = PlaytestOptions.model_validate(ctx.plan.options)
    scenario = ctx.resource("scenario")
    words = words_in(scenario)
    archetypes = {
        id_: Archetype.model_validate(value) for id_, value in ctx.resource("archetypes").items()
    }
    group = draw_group(ctx.plan.seed, options, list(archetypes), scenario["names"])
    models = [
        roles.model_of(roles.PLAYERS, ctx.plan.roles, archetypes[drawn.archetype].model)
        for drawn in group.players
    ]

    answers = await ctx.parallel(
        [
            asking(
                roles.PLAYERS,
                model,
                persona_system(
                    scenario["title"],
                    scenario["setting"],
                    (),
                    drawn.names[:NAMES_SHOWN],
                    words,
                ),
                persona_request(archetypes[drawn.archetype], drawn.nudge, words),
                tag=roles.PERSONA,
            )
            for drawn, model in zip(group.players, models, strict=True)
        ]
    )
    personas = settle_group(group, models, answers, scenario["names"], archetypes)
    return [persona.model_dump() for persona in personas]


def settle_group(
    group: Group,
    models: Sequence[str],
    answers: Sequence[str],
    names: Sequence[str],
    archetypes: Mapping[str, Archetype],
) -> list[Persona]:
    """Turn the casting answers into players with distinct names, in seat order."""
    taken: set[str] = set()
    personas: list[Persona] = []
    for seat, (drawn, model, answer) in enumerate(zip(group.players, models, answers, strict=True)):
        written = _read(answer)
        name = _own_name(written.name, (*drawn.names, *names, *_SPARE), taken)
        taken.add(name.casefold())
        context = archetypes[drawn.archetype].context
        personas.append(
            Persona(
                name=name,
                archetype=drawn.archetype,
                model=model,
                backstory=written.backstory or f"{name} is here to play. {context}",
                character=written.character or f"In the story, {name} is simply {name}.",
                mood=drawn.mood,
                spokesperson=seat == group.spokesperson,
            )
        )
    return personas


def _read(answer: str) -> _Written:
    found = read_json_object(answer)
    if found is None:
        return _Written("", _tidy("" if "{" in answer else answer, MAX_BACKSTORY), "")
    return _Written(
        clean_name(found.get("name")),
        _tidy(found.get("backstory"), MAX_BACKSTORY),
        _tidy(found.get("character"), MAX_CHARACTER),
    )


def _tidy(value: object, limit: int) -> str:
    """One bounded line without control characters; empty for anything but text."""
    if not isinstance(value, str):
        return ""
    text = "".join(char if char.isprintable() else " " for char in value[: 4 * limit])
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0]


def clean_name(value: object) -> str:
    """A single first name out of whatever a model wrote, or the empty string."""
    if not isinstance(value, str):
        return ""
    text = unicodedata.normalize("NFC", value[:200])
    words = "".join(char if char.isalpha() or char in "'-" else " " for char in text).split()
    for word in words:
        name = word.strip("'-")[:MAX_NAME]
        if name.casefold() in _TITLES and len(words) > 1:
            continue
        usable = len(name) >= 2 and name.casefold() not in _RESERVED
        return name[:1].upper() + name[1:] if usable else ""
    return ""


def _own_name(requested: str, spare: Sequence[str], taken: set[str]) -> str:
    """``requested`` if nobody has it yet, else the first spare name, else a numbered one."""
    for name in (requested, *spare):
        if name and name.casefold() not in taken and name.casefold() not in _RESERVED:
            return name
    number = 2
    while f"player {number}" in taken:
        number += 1
    return f"Player {number}"
