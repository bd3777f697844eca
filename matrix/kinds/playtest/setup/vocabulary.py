"""Closed sets of words that play-tests use, shared by prompts, parsers, scores and tables."""

from __future__ import annotations

from typing import Final

OUTPUT_TYPES: Final = ("pulse", "tangent-response", "private-moment", "clarification", "recap")
"""What one output of the narrator can be."""

ISSUE_TYPES: Final = (
    "contradiction",
    "loop",
    "forced_segue",
    "stuck",
    "confusion",
    "guide_deviation",
    "breakdown",
    "character_break",
)
"""Problems worth a human's eye; each is an event with a severity of warning or error."""

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
