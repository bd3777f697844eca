"""Closed sets of words that play-tests use, shared by prompts, parsers, scores and tables."""

from __future__ import annotations

from typing import Final

OUTPUT_TYPES: Final = ("pulse", "tangent-response", "private-moment", "clarification", "recap")
"""What one output of the narrator can be."""

PULSE, TANGENT, PRIVATE, CLARIFICATION, RECAP = OUTPUT_TYPES

ISSUE_TYPES: Final = (
    "contradiction",
    "loop",
    "forced_segue",
    "stuck",
    "confusion",
    "guide_deviation",
    "breakdown",
    "character_break",
    "early_end",
)
"""Problems worth a human's eye; each is an event with a severity of warning or error."""

TANGENT_TYPES: Final = ("humour", "media", "everyday", "table", "other")
"""What a tangent can be about: jokes, films and games, one's own day, the game itself, the rest."""

FUN: Final = "fun"
PLAY_AGAIN: Final = "play_again"
SURVEY_QUESTIONS: Final = {
    FUN: "How much fun did you have? A number from 1 (none) to 5 (could not be better).",
    PLAY_AGAIN: "Would you play with this narrator again? true or false.",
}
"""Questions of a survey that have a name, and whose answers are numbers: 1 to 5, and 0 or 1."""

MOODS: Final = (
    "cheerful",
    "tired",
    "focused",
    "restless",
    "curious",
    "quiet",
    "talkative",
    "distracted",
    "generous",
    "impatient",
)
"""Moods that colour a player for one session."""
