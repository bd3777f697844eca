"""Drawing a group: who sits down to play in this round.

Everything is drawn from the round's seed alone, each aspect from a stream of its own, so that
every variant of a round meets the same group, and widening the size, say, leaves the rest of the
draw as it was.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

from matrix.kinds.playtest.setup.options import MAX_GROUP, PlaytestOptions
from matrix.kinds.playtest.setup.vocabulary import MOODS
from matrix.model.seeds import stream

NUDGES: Final = (
    "new in town",
    "fond of old maps",
    "between two jobs",
    "raised by grandparents",
    "hard to surprise",
    "quick to make friends",
    "a poor sleeper",
    "good with their hands",
    "the eldest of five",
    "secretly sentimental",
    "learning to play an instrument",
    "afraid of deep water",
    "always early",
    "never without a notebook",
    "recently back from a long journey",
    "known for terrible coffee",
    "a keeper of small promises",
    "unable to leave a riddle alone",
    "training for a race",
    "living above a shop",
    "good at remembering faces",
    "the first to laugh",
    "careful with money",
    "named after somebody famous",
)
"""One of these colours each casting, so that two players of one archetype differ."""


class Drawn(NamedTuple):
    """One place at the table before anybody has been cast for it."""

    archetype: str
    mood: str
    nudge: str
    names: tuple[str, ...]


class Group(NamedTuple):
    """The whole draw; ``spokesperson`` is an index into ``players``."""

    players: tuple[Drawn, ...]
    spokesperson: int


def draw_group(
    seed: int, options: PlaytestOptions, pool: Sequence[str], names: Sequence[str]
) -> Group:
    """Draw the group of one round.

    Args:
        seed: The round's seed, the same for every variant.
        options: Sizes, or a fixed group.
        pool: Archetype ids to draw from with replacement; their order makes no difference.
        names: First names that fit the setting; each player is dealt some of their own.
    """
    chosen, speaker = _with_speaker(
        options.group or _archetypes(seed, options, sorted(pool)),
        _rng(seed, "spokesperson").random(),
        options.spokesperson_archetype,
    )
    size = len(chosen)
    moods = _rng(seed, "moods").choices(MOODS, k=MAX_GROUP)
    nudges = _rng(seed, "nudges").sample(NUDGES, k=MAX_GROUP)
    deck = list(names)
    _rng(seed, "names").shuffle(deck)
    players = tuple(
        Drawn(archetype, moods[seat], nudges[seat], tuple(deck[seat::size]))
        for seat, archetype in enumerate(chosen)
    )
    return Group(players, speaker)


def passing_mood(rng: random.Random, share: float) -> str:
    """Another mood than the evening's that a player is in for one reaction; mostly none (empty).

    Both draws are made whatever ``share`` is, so that another share changes as little as it can.
    """
    passes, mood = rng.random() < share, rng.choice(MOODS)
    return mood if passes else ""


def _with_speaker(
    drawn: Sequence[str], lot: float, pinned: str | None
) -> tuple[Sequence[str], int]:
    """Who sits at the table, and the seat of who speaks.

    With a pinned archetype it is one of its players, by the same lot; where there is none, the
    player whom the lot falls on is of that archetype, and nothing else of the draw moves.
    """
    speaker = int(lot * len(drawn))
    if pinned is None:
        return drawn, speaker
    seats = [seat for seat, archetype in enumerate(drawn) if archetype == pinned]
    if seats:
        return drawn, speaker if speaker in seats else seats[int(lot * len(seats))]
    return [*drawn[:speaker], pinned, *drawn[speaker + 1 :]], speaker


def _archetypes(seed: int, options: PlaytestOptions, pool: Sequence[str]) -> list[str]:
    size = _rng(seed, "size").randint(options.group_size_min, options.group_size_max)
    return _rng(seed, "archetypes").choices(pool, k=MAX_GROUP)[:size]


def _rng(seed: int, aspect: str) -> random.Random:
    return stream("playtest", "group", aspect, seed)
