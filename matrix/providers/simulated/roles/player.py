"""Simulated players: mostly ordinary people at a table, with an archetype as seasoning."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from matrix.kinds.playtest.setup.prompts import MOOD_NOW
from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.grammar import ended, first_person, sentences
from matrix.providers.simulated.language.phrasebook import manners, players, tangents
from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.language.wordlists import words
from matrix.providers.simulated.roles.opinions import opinions, recalled
from matrix.providers.simulated.story.cues import is_off_story, speaks_as_host
from matrix.providers.simulated.story.scene import Scene, scene_of
from matrix.providers.simulated.traits import Traits

ARCHETYPES = tuple(players.ORDINARY)
_HINTS = (
    ("joke", "joker"),
    ("laugh", "joker"),
    ("humo", "joker"),
    ("question", "questioner"),
    ("detail", "questioner"),
    ("unexpected", "wildcard"),
    ("nobody planned", "wildcard"),
    ("along with", "follower"),
    ("quiet", "follower"),
    ("lore", "curious"),
    ("world", "curious"),
    ("option", "optimizer"),
    ("decision", "optimizer"),
    ("cares", "invested"),
    ("character", "invested"),
    ("wander", "drifter"),
    ("half", "drifter"),
    ("genre", "experienced"),
    ("tropes", "experienced"),
)
_BASE_TANGENT_SHARE = 0.04
_REMEMBERED = 610
"""Characters of an earlier narration that a player goes back to."""
_COMMON_SHARE = {"follower": 0.2, "drifter": 0.35}
"""Share of plain play that comes from the lines anybody might say, not the archetype's own."""
_RESTLESS_MOODS = {"distracted": 1.3, "restless": 1.2, "focused": 0.7, "quiet": 0.8}


class Sheet(NamedTuple):
    """A player as the system prompt describes them. ``voice`` names the phrase banks to use."""

    name: str
    voice: str
    mood: str
    quirk: float
    past: str
    part: str
    key: int


def voice_of(archetype: str, style: str = "") -> str:
    """The phrase banks that fit an archetype, by its name or else by what its style says."""
    low = archetype.lower()
    for known in ARCHETYPES:
        if known in low:
            return known
    described = f"{low} {style.lower()}"
    return next((voice for hint, voice in _HINTS if hint in described), "engaged")


def field_of(text: str, name: str) -> str:
    """The rest of the line that opens with ``name:``, or the empty string."""
    start = text.find(f"\n{name}: ")
    if start < 0:
        return ""
    start += len(name) + 3
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)].strip()


_MOOD = re.compile(rf"{MOOD_NOW} (\w+)\.")
_PART = re.compile(r"\b(?:is|plays|am|as) (an? [^.]+)|^(An? [^.]+)")


@lru_cache(maxsize=4096)
def _sheet(system: str) -> Sheet:
    name = field_of(system, "Name") or "Somebody"
    percent = re.search(r"(\d+)%", field_of(system, "Quirk"))
    who = system.partition("## Who you are\n")[2].partition("\n\n## ")[0].strip().splitlines()
    character = who[-1] if who else ""
    part = _PART.search(character)
    return Sheet(
        name=name,
        voice=voice_of(field_of(system, "Archetype"), field_of(system, "Style")),
        mood=field_of(system, "Mood tonight").lower(),
        quirk=int(percent[1]) / 100 if percent else 0.2,
        past=who[0] if len(who) > 1 else "",
        part=(part[1] or part[2]).strip() if part else "",
        key=crc32(system.encode()),
    )


def narration_in(text: str) -> str:
    """What stands between the last pair of triple quotes: the narrator's words."""
    end = text.rfind('\n"""')
    start = text.rfind('"""\n', 0, end) if end > 0 else -1
    return text[start + 4 : end] if start >= 0 else text


def play(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """What a player says, from their system prompt and the one message to them."""
    sheet = _sheet(messages[0].content)
    request = messages[-1].content
    narration = narration_in(request)
    asked = request[request.rfind('"""') + 3 :]
    if "are asked what it was like" in asked:
        return opinions(request, sheet.voice, rng)
    if "takes you aside" in request:
        return recalled(request, _about_character(sheet, narration, rng), rng)
    if "Introduce yourself" in asked:
        return _introduction(sheet, rng)
    if "Answer for your character" in asked:
        return _about_character(sheet, narration, rng)
    if "whether you tell the others" in asked:
        return _in_private(sheet, rng, traits)
    heard = request[: request.find("The narrator says:")]
    if now := _MOOD.search(asked):
        sheet = sheet._replace(mood=now[1])
    return _reaction(sheet, narration, heard, rng, traits)


def _introduction(sheet: Sheet, rng: random.Random) -> str:
    hello = pick(rng, manners.HELLOS).replace("{name}", sheet.name)
    past = _about_me(sheet)
    part = pick(rng, manners.PARTS).replace("{part}", ended(sheet.part)) if sheet.part else ""
    tail = pick(rng, manners.INTRO_TAILS[sheet.voice])
    return " ".join(piece for piece in (hello, past, part or tail) if piece)


def _about_character(sheet: Sheet, question: str, rng: random.Random) -> str:
    """An answer to what was asked, or else what there is to know about this person."""
    answers = next(
        (found for cue, found in manners.ABOUT_ME.items() if cue in question),
        manners.ABOUT_ME["get wrong"],
    )
    said = answers[sheet.voice]
    tail = pick(rng, manners.TAILS.get(sheet.mood, ("",)))
    return f"{said} {tail}" if tail and rng.random() < 0.1 else said


_VERBS = re.compile(r"(^|, |\band |\bthen )([a-z]+s)\b(?= |,|\.)")


def _about_me(sheet: Sheet) -> str:
    """The first sentence of the backstory in the first person, where it opens with the name."""
    first = sentences(sheet.past)[0] if sheet.past else ""
    match = re.match(rf"{re.escape(sheet.name)} ([a-z]+)\b", first)
    if match is None or len(first) > 160:
        return ""
    verb = match[1]
    known = "I" + {"is": " am", "was": " was"}.get(verb, f" {first_person(verb)}")
    rest = first[match.end() :]
    rest = re.sub(r"\b(invited|told|asked|brought|made|lets?) (?:him|her|them)\b", r"\1 me", rest)
    rest = re.sub(r"\b(?:his|her)\b", "my", re.sub(r"\b(?:he|she)\b", "I", rest))
    return known + _VERBS.sub(
        lambda m: m[1] + (first_person(m[2]) if m[2] in _RETOLD else m[2]), rest
    )


_RETOLD = words(
    "is has works plays reads likes watches remembers gets knows goes comes takes spends "
    "keeps enjoys runs sells wants asks notices looks makes tries thinks"
)


def _in_private(sheet: Sheet, rng: random.Random, traits: Traits) -> str:
    tells = rng.random() < traits.shares_secret
    felt = pick(rng, manners.PRIVATE_REACTION[sheet.voice])
    return f"{felt} {pick(rng, manners.TELLS if tells else manners.KEEPS)}"


def _reaction(sheet: Sheet, narration: str, heard: str, rng: random.Random, traits: Traits) -> str:
    scene = scene_of(narration)
    quirk, leaves, joins, votes, flavour = (rng.random() for _ in range(5))
    if joins < traits.tangent_contagion and _indulged(narration):
        return tangents.CONTAGION.draw(rng, {}, heard)
    if leaves < 0.4 and _was_heard(narration, heard):
        return pick(rng, manners.HEARD_BEFORE)
    slots = _slots(scene, heard, rng, sheet.name)
    said = ""
    if quirk < sheet.quirk * traits.player_quirk * _RESTLESS_MOODS.get(sheet.mood, 1.0):
        share = tangents.TANGENT_SHARE.get(sheet.voice, _BASE_TANGENT_SHARE)
        if leaves < share * traits.player_tangent:
            bank = tangents.TANGENT.get(sheet.voice, tangents.TANGENT["other"])
        else:
            bank = players.QUIRK[sheet.voice]
        said = bank.draw(rng, slots, heard)
    return said or _ordinary(sheet, scene, slots, heard, votes, flavour, rng)


def _slots(scene: Scene, heard: str, rng: random.Random, name: str) -> dict[str, str]:
    """What to talk about: of this narration, or else of the one before it."""
    if not (scene.people or scene.things):
        start = heard.rfind("Narrator: ")
        if start >= 0:
            scene = scene_of(heard[start + 10 : start + _REMEMBERED])
    return scene.slots(rng, name, heard)


def _was_heard(narration: str, heard: str) -> bool:
    """Whether these words were said before; what was heard may end with this very time."""
    opening = narration[:90]
    first = heard.find(opening)
    if first < 0:
        return False
    now = heard.rstrip().endswith(narration[-40:].rstrip())
    return not now or heard.find(opening, first + 1) >= 0


def _indulged(narration: str) -> bool:
    return len(narration) < 260 and (is_off_story(narration) or speaks_as_host(narration))


def _ordinary(
    sheet: Sheet,
    scene: Scene,
    slots: dict[str, str],
    heard: str,
    votes: float,
    flavour: float,
    rng: random.Random,
) -> str:
    if scene.options and votes < 0.6:
        option = scene.options[(sheet.key + int(rng.random() * 2)) % len(scene.options)]
        said = manners.CHOICE[sheet.voice].draw(rng, {**slots, "option": option}, heard)
    else:
        common = rng.random() < _COMMON_SHARE.get(sheet.voice, 0.5)
        bank = players.COMMON if common else players.ORDINARY[sheet.voice]
        said = bank.draw(rng, slots, heard)
    if flavour < 0.03 and sheet.part:
        role = re.split(r"[,;]| who | which | that | and | with | on ", sheet.part, maxsplit=1)[0]
        return f"{said} That's the {role.split(' ', 1)[1]} in me."
    if flavour > 0.87:
        tail = pick(rng, manners.TAILS.get(sheet.mood, ("",)))
        return f"{said} {tail}" if tail and tail not in heard else said
    return said
