"""The behaviour of simulated models that can be tuned, in one table.

A trait is a number with a default. A run spec may override it for every session
(``simulation.traits``) or shift it for the sessions of one level of one factor
(``simulation.effects``), which is how a known truth is planted for the statistics to find.
Traits act on what is *written*; classification, issue detection and scoring see the text alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from matrix.model.errors import did_you_mean


def _trait(default: float, who: str, meaning: str, *, high: float = 1.0, low: float = 0.0) -> Any:
    """A field of :class:`Traits`; ``low`` and ``high`` bound overrides and shifted values."""
    return field(default=default, metadata={"who": who, "meaning": meaning, "range": (low, high)})


@dataclass(frozen=True, slots=True)
class Traits:
    """Resolved traits of one session. Probabilities are per opportunity unless said otherwise."""

    # --- the narrator ---
    pulse_drive: float = _trait(
        0.93, "narrator", "moves to the next pulse when nothing holds the group up"
    )
    clarification: float = _trait(
        0.40, "narrator", "stops to answer a question instead of answering in passing"
    )
    recap_on_request: float = _trait(0.85, "narrator", "recaps when somebody asks for it")
    private_moment: float = _trait(0.09, "narrator", "speaks to one player alone")
    payoff: float = _trait(
        0.12, "narrator", "a pulse takes up, before all, what one player was told alone"
    )
    tangent_recovery: float = _trait(
        0.70, "narrator", "leads the group back at once when it has left the story"
    )
    forced_segue: float = _trait(
        0.35, "narrator", "a return to the story is forced ('Anyway, back to ...')"
    )
    segue_into_pulse: float = _trait(
        0.40, "narrator", "a return to the story runs straight into the next pulse"
    )
    loop: float = _trait(0.02, "narrator", "says its last output again instead of a new one")
    contradiction: float = _trait(0.03, "narrator", "a pulse states the opposite of a fact")
    guide_deviation: float = _trait(
        0.03, "narrator", "a pulse brings in a named person who is not in the guide"
    )
    names_players: float = _trait(
        0.65, "narrator", "a pulse takes up what the group, or one player by name, just did"
    )
    atmosphere: float = _trait(
        0.85, "narrator", "a pulse has a place, a device or a voice from the guide in it"
    )
    choices: float = _trait(0.80, "narrator", "a pulse ends with a choice or question of its own")
    # --- the players and their spokesperson ---
    player_quirk: float = _trait(
        1.0, "player", "multiplies the share of quirky answers of every archetype", high=5.0
    )
    player_tangent: float = _trait(
        1.0, "player", "multiplies the share of quirks that leave the story", high=5.0
    )
    tangent_contagion: float = _trait(
        0.45, "player", "joins in when the narrator indulges a tangent"
    )
    shares_secret: float = _trait(0.5, "player", "tells the others about a private moment")
    misread: float = _trait(0.06, "spokesperson", "gets one thing wrong in a relay")
    # --- classifier and judge ---
    misclassify: float = _trait(0.03, "classifier", "gives a wrong type")
    judge_noise: float = _trait(
        0.35, "judge", "standard deviation of each score, in points of 1-5", high=4.0
    )
    judge_bias: float = _trait(
        0.0, "judge", "added to every score, in points of 1-5", low=-4.0, high=4.0
    )


TRAIT_NAMES: tuple[str, ...] = tuple(spec.name for spec in fields(Traits))
TRAIT_RANGES: Mapping[str, tuple[float, float]] = {
    spec.name: spec.metadata["range"] for spec in fields(Traits)
}


def unknown_trait(name: str) -> str:
    """What to tell somebody who named a trait that does not exist."""
    hint = did_you_mean(name, TRAIT_NAMES)
    return f"'{name}' is no trait of simulated models{hint or ': ' + ', '.join(TRAIT_NAMES)}"


def clamped(name: str, value: float) -> float:
    """``value`` moved into the trait's range."""
    low, high = TRAIT_RANGES[name]
    return min(max(value, low), high)
