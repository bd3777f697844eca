"""The roles that a play-test asks, their default models, and which model plays whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from matrix.kinds.protocol import RoleInfo
from matrix.model.spec.aliases import BY_ARCHETYPE, SIMULATED_PREFIX

NARRATOR: Final = "narrator"
PLAYERS: Final = "players"
SPOKESPERSON: Final = "spokesperson"
CLASSIFIER: Final = "classifier"
JUDGE: Final = "judge"

PERSONA: Final = "persona"
CREATION: Final = "creation"
ASIDE: Final = "aside"
SURVEY: Final = "survey"
INTERVIEW: Final = "interview"
REVIEW: Final = "review"
PLAYTEST_RUBRIC: Final = "playtest"
"""Tags of calls: the stage that they belong to, or the rubric; calls of plain turns have none."""

ROLES: Final = (
    RoleInfo(NARRATOR, "sim/deepseek-r2", "tells the story; the model under test"),
    RoleInfo(PLAYERS, f"sim/{BY_ARCHETYPE}", "invent and play the members of the group"),
    RoleInfo(SPOKESPERSON, f"sim/{BY_ARCHETYPE}", "tells the narrator what the group says"),
    RoleInfo(CLASSIFIER, "sim/gpt-4o-mini", "labels each output of the narrator", judges=True),
    RoleInfo(JUDGE, "sim/gpt-4o-mini", "scores the finished transcript", judges=True),
)
PER_ARCHETYPE: Final = (PLAYERS, SPOKESPERSON)
"""Roles that may name the rule ``by-archetype`` in place of a model."""

TOKENS: Final[Mapping[str, int]] = {
    NARRATOR: 700,
    PLAYERS: 180,
    SPOKESPERSON: 220,
    CLASSIFIER: 220,
    JUDGE: 600,
    REVIEW: 800,
    PERSONA: 300,
    SURVEY: 800,
    INTERVIEW: 400,
}
"""Most tokens that one answer may have; bounds its cost."""

_DEFAULTS: Final = {role.name: role.default_model for role in ROLES}


def model_of(role: str, roles: Mapping[str, str], archetype_model: str = "") -> str:
    """The model behind ``role``; for one member of the group, that of the member's archetype."""
    named = roles.get(role) or _DEFAULTS[role]
    if named == BY_ARCHETYPE:
        return archetype_model
    if named == SIMULATED_PREFIX + BY_ARCHETYPE:
        return SIMULATED_PREFIX + archetype_model.removeprefix(SIMULATED_PREFIX)
    return named


def is_by_archetype(model: str) -> bool:
    """Whether a role's value is the rule rather than a model."""
    return model.removeprefix(SIMULATED_PREFIX) == BY_ARCHETYPE
