"""The instructions of a notebook: which of the things that it can do the agent is told to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

INSTRUCTIONS: Final = ("NOTEBOOK.md", "CLAUDE.md", "AGENTS.md", "INSTRUCTIONS.md", "README.md")
"""Files that instructions are looked for in, first one first."""


class NotebookRules(NamedTuple):
    """What the instructions say."""

    copies: bool
    links_evidence: bool
    waits_to_promote: bool
    keeps_what_contradicts: bool
    leaves_noise: bool
    measures_reversal: bool
    indexes: bool
    links_within: bool
    dates_people: bool
    sees_personas: bool
    flags_stale: bool
    flags_quiet: bool
    keeps_minority: bool


_CUES: Final[dict[str, str]] = {
    "copies": r"copy .*word for word",
    "links_evidence": r"(?:row|evidence)[^.]*link to (?:its|the) source",
    "waits_to_promote": r"`?supported`?[^.]*three (?:rows|sources)",
    "keeps_what_contradicts": r"contradicts[^.]*evidence against",
    "leaves_noise": r"bears on no hypothesis[^.]*changes no",
    "measures_reversal": r"reversal condition[^.]*measured",
    "indexes": r"`?INDEX\.md`?[^.]*(?:lists|links)",
    "links_within": r"links?[^.]*(?:written|relative)[^.]*(?:file|own folder)",
    "dates_people": r"people[^.]*last contact",
    "sees_personas": r"three people[^.]*persona",
    "flags_stale": r"review[^.]*no new evidence",
    "flags_quiet": r"review[^.]*high influence",
    "keeps_minority": r"archived[^.]*evidence against[^.]*(?:stays|kept)",
}


def read_rules(text: str) -> NotebookRules:
    """What a file of instructions tells the agent to do."""
    flat = " ".join(text.split())
    return NotebookRules(
        **{name: re.search(cue, flat, re.I) is not None for name, cue in _CUES.items()}
    )


def instructions_among(paths: Iterable[str]) -> str:
    """The file of instructions; empty if there is none."""
    there = set(paths)
    return next((name for name in INSTRUCTIONS if name in there), "")
