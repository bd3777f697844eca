"""The simulated spokesperson: one message from the group, coloured by who relays it."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.grammar import (
    capitalised,
    ended,
    i_to_name,
    i_to_we,
    sentences,
)
from matrix.providers.simulated.language.phrasebook import relays
from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.roles.player import field_of, narration_in, voice_of
from matrix.providers.simulated.story.cues import is_off_story
from matrix.providers.simulated.story.scene import scene_of
from matrix.providers.simulated.traits import Traits

_SAID = re.compile(r"^- ([^:\n]{1,40}): (.+(?:\n(?!- |\n).+)*)", re.MULTILINE)
_VOTE = re.compile(
    r"\b(?:[Ll]et's|I say we|I vote we|I'd rather we|[Oo]bviously we|^We|Happy to|go with:) "
    r"(?!(?:were|are|had|have|was)\b)([a-z][^.,:?!]+)"
)
_ACT = re.compile(r"^I(?:'m|'ll|'ve|'d)? ")
_TALKED = re.compile(
    r"\b(?:you|your|say|vote|mean|think|fine|suppose|wonder|bet|used|like|grinning|can't|see|remember|want|sooner|suggest)\b|\?"
)
_LEANS_BACK = re.compile(r"\b(?:them|it|there|anyway|both|either|neither|that)\b")
_TANGENTIAL = frozenset(("joker", "wildcard", "drifter"))
_TERSE = frozenset(("follower", "drifter"))
_SPOKEN_ACT_WORDS = 20
_COLOURED = 0.2
_INTERJECTED = 2
"""Words of a sentence, such as "All right.", after which what is done may still come."""
_ONE_OF_EACH = re.compile(
    r"\b(?:my (?:hat|scarf|thumb|back|mouth|own|coat)|on one knee|the others|three steps"
    r"|the person|whoever|we|us|our)\b"
)
"""What several cannot do at the same time, or to themselves."""
_OWN_BODY = (
    "I stand between",
    "I put myself",
    "I stay with",
    "I sit",
    "I take the lead",
    "I yawn",
    "I nudge",
    "I'd ",
    "I'm ",
    "I'll ",
)


class FriendSaid(NamedTuple):
    """What one friend said, taken apart; empty where there is none of it."""

    name: str
    vote: str
    act: str
    question: str
    tangent: str


def _taken_apart(name: str, text: str) -> FriendSaid:
    lines = sentences(text)
    if is_off_story(text):
        cue = next((line for line in lines if is_off_story(line)), lines[0])
        before = lines.index(cue)
        return FriendSaid(name, "", "", "", " ".join(lines[before : before + 2]))
    vote = _VOTE.search(text)
    if vote and " " in vote[1].strip():
        return FriendSaid(name, vote[1].strip(), "", "", "")
    question = next((line for line in lines if line.endswith("?") and len(line) > 12), "")
    act = next((line for at, line in enumerate(lines) if _is_act(line, lines[:at])), "")
    return FriendSaid(name, "", act, question, "")


def _is_act(line: str, before: Sequence[str]) -> bool:
    """Whether a sentence is something done that makes sense retold alone, and comes first."""
    if not _ACT.match(line) or _TALKED.search(line):
        return False
    if before and (_LEANS_BACK.search(line) or len(before[-1].split()) > _INTERJECTED):
        return False
    return 3 < len(line.split()) <= _SPOKEN_ACT_WORDS


@lru_cache(maxsize=2048)
def _speaker(system: str) -> tuple[str, str]:
    style = field_of(system, "Style")
    return field_of(system, "Name"), voice_of(field_of(system, "Archetype"), style)


def relay(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """What the spokesperson tells the narrator."""
    name, voice = _speaker(messages[0].content)
    request = messages[-1].content
    said = [_taken_apart(who, text) for who, text in _SAID.findall(request)]
    if not said:
        return "We wait and listen."
    drift, also, misread, colour = (rng.random() for _ in range(4))
    if misread < traits.misread * (2.0 if voice == "drifter" else 1.0):
        said = _misread(said)
    tangents = [one for one in said if one.tangent]
    if tangents and drift < _drift_chance(len(tangents) / len(said), voice):
        return _off_story(tangents, said, name, also < 0.4, rng)
    parts, told = _decision(said, name, voice, narration_in(request), rng)
    parts += _acts([one for one in said if one is not told], name, voice, rng)
    parts += _question(said, name, rng)
    if colour < _COLOURED:
        parts.append(pick(rng, relays.COLOUR[voice]))
    return " ".join(parts)


def _drift_chance(share: float, voice: str) -> float:
    """How likely a tangent is to take over the relay instead of being left out of it."""
    if share >= 0.5:
        return 0.9
    return 0.75 if voice in _TANGENTIAL else 0.45


def _misread(said: list[FriendSaid]) -> list[FriendSaid]:
    """The same lines in the wrong mouths."""
    names = [one.name for one in said]
    return [one._replace(name=name) for one, name in zip(said, names[1:] + names[:1], strict=True)]


def _off_story(
    tangents: list[FriendSaid], said: list[FriendSaid], name: str, also: bool, rng: random.Random
) -> str:
    one = tangents[int(rng.random() * len(tangents))]
    bank = relays.OWN_TANGENTS if one.name == name else relays.TANGENTS
    text = bank.draw(rng, {"name": one.name, "said": one.tangent})
    vote = next((other.vote for other in said if other.vote), "")
    if also and vote:
        text += " " + relays.ALSO.draw(rng, {"option": vote})
    return text


def _decision(
    said: list[FriendSaid], name: str, voice: str, narration: str, rng: random.Random
) -> tuple[list[str], FriendSaid | None]:
    """What all of them do, and whose doing it was if it was one friend's."""
    votes = Counter(one.vote for one in said if one.vote)
    if votes:
        option, _ = votes.most_common(1)[0]
        told = relays.DECIDED[voice].draw(rng, {"option": option})
        parts = [told if len(votes) == 1 else told.removesuffix(" All of us.")]
        against = [one for one in said if one.vote and one.vote != option and one.name != name]
        if against and rng.random() < 0.35:
            slots = {"name": against[0].name, "option": against[0].vote}
            parts.append(relays.DISSENT.draw(rng, slots))
        return parts, None
    acting = [
        one
        for one in said
        if one.act and not one.act.startswith(_OWN_BODY) and not _ONE_OF_EACH.search(one.act)
    ]
    if acting and rng.random() < 0.8:
        one = acting[int(rng.random() * len(acting))]
        slots = {"act": i_to_we(one.act)}
        if one.name != name:
            slots["name"] = one.name
        return [relays.ALL_DO.draw(rng, slots)], one
    return [relays.TOGETHER.draw(rng, scene_of(narration).slots(rng))], None


def _acts(said: list[FriendSaid], name: str, voice: str, rng: random.Random) -> list[str]:
    """What single friends do, as the spokesperson tells it; their own doing stays "I"."""
    acting = [one for one in said if one.act]
    most = 1 if voice in _TERSE else 2
    if len(acting) > most:
        start = int(rng.random() * len(acting))
        acting = (acting[start:] + acting[:start])[:most]
    return [
        one.act if one.name == name else capitalised(ended(i_to_name(one.act, one.name)))
        for one in acting
    ]


_FILLER = re.compile(r"^(?:Wait,|Hang on:|Sorry,|Can I clarify one thing:|Actually,) ")


def _question(said: list[FriendSaid], name: str, rng: random.Random) -> list[str]:
    asking = [one for one in said if one.question]
    if not asking:
        return []
    one = asking[int(rng.random() * len(asking))]
    question = capitalised(_FILLER.sub("", one.question)).replace('"', "'")
    bank = relays.OWN_ASKS if one.name == name else relays.ASKS
    return [bank.draw(rng, {"name": one.name, "question": question})]
