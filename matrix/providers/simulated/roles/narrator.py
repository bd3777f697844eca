"""The simulated narrator: decides what to do next, and leaves the wording to ``narration``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from matrix.model.records import ChatMessage
from matrix.providers.simulated.story import statements
from matrix.providers.simulated.story.cues import Relay, read_relay
from matrix.providers.simulated.story.narrating import Teller
from matrix.providers.simulated.story.scene import chosen_in
from matrix.providers.simulated.story.story import Story, story_of
from matrix.providers.simulated.story.table import GUIDE_HEADING, THE_END, NarratorTable, read_table
from matrix.providers.simulated.traits import Traits

Move = Literal[
    "opening",
    "question",
    "pulse",
    "segue",
    "indulge",
    "clarification",
    "recap",
    "private",
    "linger",
    "loop",
    "ending",
    "epilogue",
]


_FACT_SHARE = 0.12
"""Share of pulses that state a plain fact, which a later one may contradict."""


_WITH_ASIDE = 4
"""Messages of an output, what the group made of it, a word to one player and their answer."""


class Dice(NamedTuple):
    """One draw for every decision, always in this order, so that traits shift nothing else."""

    loop: float
    private: float
    hold: float
    recover: float
    forced: float
    onward: float
    drive: float
    nod: float
    colour: float
    choice: float
    fact: float
    contradiction: float
    stranger: float
    payoff: float


def rolled(rng: random.Random) -> Dice:
    """The draws of one output."""
    draw = rng.random
    return Dice(*(draw() for _ in Dice._fields))


def next_move(table: NarratorTable, relay: Relay, story: Story, dice: Dice, traits: Traits) -> Move:
    """What the narrator does next."""
    if table.request in ("opening", "question"):
        return "opening" if table.request == "opening" else "question"
    if THE_END in table.last:
        return "epilogue"
    if table.request == "begin" or table.told < 0:
        return "pulse"
    if relay.asks_recap and dice.hold < traits.recap_on_request:
        return "recap"
    if relay.off_story:
        return "segue" if dice.recover < traits.tangent_recovery else "indulge"
    fresh = story.beats[table.told].mark in table.last
    if fresh and dice.loop < traits.loop:
        return "loop"
    if relay.question and dice.hold < traits.clarification:
        return "clarification"
    if dice.private < traits.private_moment and table.group.names and not _was_private(table.last):
        return "private"
    if fresh and dice.drive >= traits.pulse_drive:
        return "linger"
    return "ending" if table.told >= len(story.beats) - 1 else "pulse"


def _was_private(text: str) -> bool:
    return "[To " in text


@lru_cache(maxsize=256)
def _read_system(system: str) -> tuple[Story, bool]:
    """The story, and whether the prompt asks for a marker before every output."""
    prompt, _, guide = system.partition(GUIDE_HEADING)
    return story_of(guide.partition("\n")[2]), "[PULSE" in prompt


def narrate(
    messages: Sequence[ChatMessage], rng: random.Random, traits: Traits
) -> tuple[Move, str]:
    """One output of the narrator, with the move behind it.

    Args:
        messages: The request: the system prompt with the guide, then the story so far.
        rng: The stream of this call.
        traits: Traits of the session.
    """
    story, marked = _read_system(messages[0].content)
    table = read_table(messages, story)
    relay = read_relay(table.relay)
    dice = rolled(rng)
    move = next_move(table, relay, story, dice, traits)
    teller = Teller(story, table, relay, rng, _chosen(messages, table))
    if move == "loop":
        return move, table.last
    text = _told(move, teller, messages, dice, traits)
    return move, f"{_marker(move, teller)}\n{text}" if marked else text


def _chosen(messages: Sequence[ChatMessage], table: NarratorTable) -> str:
    """What the group chose; before a word to one player alone, if there was one in between."""
    if table.request != "play":
        return ""
    if table.relay.startswith("[private]") and len(messages) > _WITH_ASIDE:
        return chosen_in(messages[-4].content, messages[-3].content)
    return chosen_in(table.last, table.relay)


def _told(
    move: Move, teller: Teller, messages: Sequence[ChatMessage], dice: Dice, traits: Traits
) -> str:
    if move in ("pulse", "segue"):
        onward = move == "pulse" or dice.onward < traits.segue_into_pulse
        lead = ""
        if move == "segue":
            lead = teller.segue(forced=dice.forced < traits.forced_segue)
        if not onward:
            return teller.returned(lead)
        if teller.at_end:
            return teller.ending(lead)
        return _pulse(teller, messages, dice, traits, lead)
    if move == "clarification":
        return teller.clarification()
    if move == "private":
        return teller.private(messages)
    if move == "ending":
        return teller.ending("")
    return teller.simple(move)


def _pulse(
    teller: Teller, messages: Sequence[ChatMessage], dice: Dice, traits: Traits, lead: str
) -> str:
    beat = teller.next_beat
    outputs = [one.content for one in messages if one.role == "assistant"]
    facts = ("", "")
    if dice.contradiction < traits.contradiction:
        facts = statements.contradiction(teller.story, beat, outputs, teller.turn)
    elif dice.fact < _FACT_SHARE:
        facts = ("", statements.fact(beat, teller.turn))
    extras = []
    if dice.stranger < traits.guide_deviation:
        extras.append(statements.stranger(teller.story, teller.rng))
    if dice.payoff < traits.payoff:
        extras.append(statements.payoff(outputs, teller.turn))
    return teller.pulse(
        lead or teller.nod(dice.nod, traits.names_players),
        facts,
        extras,
        colour=dice.colour < traits.atmosphere,
        choice=dice.choice < traits.choices,
    )


def _marker(move: Move, teller: Teller) -> str:
    if teller.ended:
        return "[END]"
    if teller.told_beat:
        return f"[PULSE {teller.told_beat}]"
    if move == "private":
        return f"[ASIDE -> {teller.target}]"
    return "[RECAP]" if move == "recap" else "[ANSWER]"
