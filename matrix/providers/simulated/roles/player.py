"""Simulated players: mostly ordinary people at a table, with an archetype as seasoning."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from matrix.kinds.playtest.setup.prompts import MOOD_NOW
from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.grammar import (
    ended,
    first_person,
    sentences,
    unended,
    you_to_i,
)
from matrix.providers.simulated.language.phrasebook import answers, manners, players, tangents
from matrix.providers.simulated.language.phrasebook.bank import filled, pick
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
_FEWEST_RETOLD = 2
_BY_ARCHETYPE = 3
"""One player in so many introduces themselves by what all of their archetype have in common."""
_SPREAD = 9973
"""Spreads one draw over the ways in which things are done; prime."""
_MOODY = 0.87
"""From here up, the draw for colour gives what goes with a mood."""
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
    percent = re.search(r"(\d{1,3})%", field_of(system, "Quirk"))
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
        return _in_private(sheet, narration, rng, traits)
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
    asked = next((cue for cue in answers.ANYBODY if cue in question), "get wrong")
    bank = (*answers.ANYBODY[asked], *answers.OWN[asked][sheet.voice])
    first, seat = _dealt(sheet, question)
    said = bank[(first + seat) % len(bank)]
    if nudge := _nudge(sheet):
        comes = answers.COMES_OF[(first // len(bank) + seat) % len(answers.COMES_OF)]
        being = nudge if nudge.split()[0].endswith("ing") else f"being {nudge}"
        said += " " + filled(comes, {"being": being})
    tail = pick(rng, manners.TAILS.get(sheet.mood, ("",)))
    return f"{said} {tail}" if tail and rng.random() < 0.1 else said


def _dealt(sheet: Sheet, question: str) -> tuple[int, int]:
    """Where this table's round of answers begins, and the seat of this player in it.

    Players are shown no seats, but the narrator greets all of them by name, in one order. Who is
    not greeted answers by who they are, and may say what somebody else says.
    """
    greeted = _GREETED.search(question)
    if greeted and sheet.name in (names := _BETWEEN.split(greeted[0])):
        return crc32(greeted[0].encode()), names.index(sheet.name)
    return 0, sheet.key


_NAME = r"[^\W\d_a-z][\w'-]*"
_GREETED = re.compile(rf"\b{_NAME}(?:, {_NAME})* and {_NAME}")
_BETWEEN = re.compile(", | and ")
_NUDGE = re.compile(r", who is ([^,.]{3,60}),")
_VERBS = re.compile(r"(^|, |\band |\bthen )([a-z]+s)\b(?= |,|\.)")


def _nudge(sheet: Sheet) -> str:
    """What is their own, told by themselves ("good with my hands"); empty if nothing is."""
    match = _NUDGE.search(sheet.past)
    return re.sub(r"\b(?:his|her|their)\b", "my", match[1]) if match else ""


def _about_me(sheet: Sheet) -> str:
    """Something out of the backstory in the first person: what is their own, or how it opens."""
    if sheet.key % _BY_ARCHETYPE and (nudge := _nudge(sheet)):
        return f"I'm {nudge}."
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
    "is has does works plays reads likes watches remembers gets knows goes comes takes spends "
    "keeps enjoys runs wants asks notices looks makes tries thinks"
)


_HUSHED = re.compile(r"\b(?:say|tell|show|share|mention|let|keep|said nothing)\b")


def _in_private(sheet: Sheet, told: str, rng: random.Random, traits: Traits) -> str:
    tells = rng.random() < traits.shares_secret
    felt = pick(rng, manners.PRIVATE_REACTION[sheet.voice])
    if not tells:
        return f"{felt} {pick(rng, manners.KEEPS)}"
    after = pick(rng, manners.TELLS).replace("{secret}", _retold(told))
    return f"{felt} {ended(after)}"


def _retold(told: str) -> str:
    """What one was told alone, in their own words: no question, and nothing about silence."""
    kept = []
    for line in sentences(" ".join(told.split())):
        if line.endswith("?"):
            continue
        rest = _unhushed(unended(line))
        if len(rest.split()) > _FEWEST_RETOLD:
            kept.append(ended(you_to_i(rest)))
    return " ".join(kept).replace('"', "'")


def _unhushed(line: str) -> str:
    """A sentence without its last clause, if that is about telling or keeping silent."""
    at = max(line.rfind(mark) for mark in ",:;")
    if not _HUSHED.search(line, at + 1):
        return line
    return line[:at] if at >= 0 else ""


def _reaction(sheet: Sheet, narration: str, heard: str, rng: random.Random, traits: Traits) -> str:
    scene = scene_of(narration)
    quirk, leaves, joins, votes, flavour = (rng.random() for _ in range(5))
    if joins < traits.tangent_contagion and _indulged(narration):
        return _with(tangents.CONTAGION.draw(rng, {}, heard), manners.AFTER_TALK, flavour)
    if leaves < 0.4 and _was_heard(narration, heard):
        return pick(rng, manners.HEARD_BEFORE[sheet.voice])
    slots = _slots(scene, heard, rng, sheet.name)
    said = ""
    if quirk < sheet.quirk * traits.player_quirk * _RESTLESS_MOODS.get(sheet.mood, 1.0):
        share = tangents.TANGENT_SHARE.get(sheet.voice, _BASE_TANGENT_SHARE)
        if leaves < share * traits.player_tangent:
            bank = tangents.TANGENT.get(sheet.voice, tangents.TANGENT["other"])
        else:
            bank = players.QUIRK[sheet.voice]
        if said := bank.draw(rng, slots, heard):
            return _with_more(said, slots, flavour)
    return _ordinary(sheet, scene, slots, heard, votes, flavour, rng)


def _slots(scene: Scene, heard: str, rng: random.Random, name: str) -> dict[str, str]:
    """What to talk about: of this narration, or else of the one before it."""
    if not (scene.people or scene.things):
        start = heard.rfind("Narrator: ")
        if start >= 0:
            told = heard[start + 10 : start + _REMEMBERED]
            scene = scene_of(told[: told.rfind(" ")] if len(told) + 10 == _REMEMBERED else told)
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
        drawn = bank.draw(rng, slots, heard)
        said = _in_some_way(drawn, flavour)
        if said == drawn and 0.03 <= flavour <= _MOODY:
            said = _with_more(said, slots, flavour)
    if flavour < 0.03 and sheet.part:
        role = re.split(r"[,;]| who | which | that | and | with | on ", sheet.part, maxsplit=1)[0]
        return f"{said} That's the {role.split(' ', 1)[1]} in me."
    if flavour > _MOODY:
        tail = pick(rng, manners.TAILS.get(sheet.mood, ("",)))
        return f"{said} {tail}" if tail and tail not in heard else said
    return said


_PLAIN_ACT = re.compile(r"I [a-z][^.,;:?!]{8,60}\.")


def _in_some_way(said: str, flavour: float) -> str:
    """An act of a few words with how it is done, mostly, so that few lines are said twice."""
    ways = manners.IN_WHAT_WAY
    chosen = int(flavour * _SPREAD) % (len(ways) + len(ways) // 2)
    if chosen >= len(ways) or not (match := _PLAIN_ACT.match(said)):
        return said
    return f"{match[0][:-1]}, {ways[chosen]}.{said[match.end() :]}"


def _with_more(said: str, slots: Mapping[str, str], flavour: float) -> str:
    """A line that names nothing around it, with something that does."""
    if any(slot in said for slot in slots.values()):
        return said
    if is_off_story(said):
        return _with(said, manners.AFTER_TALK, flavour)
    lines = manners.ALONG_WITH_IT.fitting(frozenset(slots))
    return _with(said, [filled(line, slots) for line in lines], flavour)


def _with(said: str, others: Sequence[str], flavour: float) -> str:
    return f"{said} {others[int(flavour * _SPREAD) % len(others)]}"
