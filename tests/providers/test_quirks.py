"""How often simulated players show the quirk of their archetype, over thousands of replies."""

from __future__ import annotations

import random
import re

import pytest

from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.playtest.setup.archetypes import load_archetypes
from matrix.kinds.playtest.setup.prompts import player_system, reaction_request
from matrix.kinds.playtest.setup.vocabulary import MOODS
from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.phrasebook import players, tangents
from matrix.providers.simulated.language.phrasebook.bank import Bank
from matrix.providers.simulated.roles.player import play
from matrix.providers.simulated.traits import Traits

POOL = load_archetypes(FolderLibrary(shipped_root()).archetypes())
NARRATION = (
    "The corridor lamp swings above **Inspector Bohl**, who holds the Hatbox against his chest. "
    "Two whistles come back from the valley although the engine blew only one of them, and the "
    "steward looks from one of you to the other. Somewhere ahead a door is closed with great care, "
    "and the carriage goes on rocking. Do you follow the steward, or do you open the Hatbox?"
)
DRAWS = 400
"""Replies in each mood; with ten moods the standard error is below .008."""

TOLERANCE = 0.025


def pattern(bank: Bank) -> re.Pattern[str]:
    """What any line of a bank looks like once its slots are filled."""
    lines = (
        "".join(".+?" if part.startswith("{") else re.escape(part) for part in parts)
        for parts in (re.split(r"(\{\w+\})", line) for line in bank.lines)
    )
    return re.compile("|".join(lines), re.DOTALL | re.IGNORECASE)


def quirky(voice: str) -> re.Pattern[str]:
    own = tangents.TANGENT.get(voice, tangents.TANGENT["other"])
    return re.compile(
        f"{pattern(players.QUIRK[voice]).pattern}|{pattern(own).pattern}", re.S | re.I
    )


def share(id_: str, traits: Traits, *, passing: bool, seed: int = 0) -> float:
    """Share of replies with the quirk, in every mood alike."""
    archetype, shows, found, said = POOL[id_], quirky(id_), 0, 0
    for mood in MOODS:
        evening = "focused" if passing else mood
        system = player_system(
            archetype,
            name="Ned",
            backstory="Ned likes trains.",
            character="Ned is a debt collector.",
            mood=evening,
            title="Put It Back by Morning",
        )
        request = reaction_request("", NARRATION, "Ned", "", mood if passing else "")
        messages = [ChatMessage("system", system), ChatMessage("user", request)]
        for draw in range(DRAWS):
            text = play(messages, random.Random(f"{seed}/{id_}/{mood}/{draw}"), traits)
            found += shows.match(text) is not None
            said += 1
    return found / said


@pytest.mark.parametrize("id_", sorted(POOL))
@pytest.mark.parametrize("passing", [False, True], ids=["of the evening", "passing"])
def test_quirks_are_as_frequent_as_the_archetype_declares(id_: str, passing: bool) -> None:
    declared = POOL[id_].quirk_frequency
    assert share(id_, Traits(), passing=passing) == pytest.approx(declared, abs=TOLERANCE)


def test_the_measure_can_fail() -> None:
    assert share("joker", Traits(player_quirk=0.0), passing=False) < TOLERANCE
    twice = share("joker", Traits(player_quirk=2.0), passing=False)
    assert twice == pytest.approx(2 * POOL["joker"].quirk_frequency, abs=2 * TOLERANCE)
