"""By what play-tests are divided beside their levels: who plays, how many, and who relays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matrix.model.records import Player

ALSO_CALLED: Final[Mapping[str, str]] = {
    "model": "narrator",
    "spokesperson": "spokesperson_archetype",
}


def groups_of(players: Sequence[Player]) -> dict[str, frozenset[str]]:
    """The groups that a session of these players is in."""
    return {
        "archetype": frozenset(player.archetype for player in players),
        "group_size": frozenset([str(len(players))] if players else ()),
        "spokesperson_archetype": frozenset(
            player.archetype for player in players if player.is_spokesperson
        ),
    }
