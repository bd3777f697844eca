"""A simulated judge of notes: whether what is expected stands there, and what must not does not.

What a scenario writes in backticks is looked for as it stands; the rest, whether it is spoken of.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

from matrix.kinds.trajectory.content import TOLD
from matrix.model.records import ChatMessage
from matrix.providers.simulated.notebook.wording import shared, stems
from matrix.providers.simulated.traits import Traits

_PART = re.compile(r"^## ([^\n]+)\n<<<\n(.*?)\n>>>", re.DOTALL | re.MULTILINE)
_TICKED = re.compile(r"`([^`\n]+)`")
_ENOUGH: Final = 0.6
"""Share of what is expected that has to be spoken of."""
_TOO_MUCH: Final = 0.8
"""Share of what must not be from which one passage says it."""
_MISTAKE: Final = 0.002
"""Chance of a wrong verdict, per point of the judge's noise."""


def judges_notes(messages: Sequence[ChatMessage]) -> bool:
    """Whether a judge is asked about an agent's notes."""
    return TOLD in messages[0].content


def verdict_on_notes(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """One verdict line."""
    parts = _PART.findall(messages[-1].content)
    shown = "\n\n".join(
        text for name, text in parts if name.startswith(("File ", "What the agent said"))
    )
    requested = "\n".join(text for name, text in parts if name == "Expected meaning")
    unwanted = "\n".join(text for name, text in parts if name == "Must not")
    if not shown.strip() or not (requested or unwanted):
        return "VERDICT: UNCERTAIN - nothing is shown, or nothing is expected"
    why = _missing(requested, shown) or _too_much(unwanted, shown)
    if rng.random() < _MISTAKE * traits.judge_noise:
        why = "" if why else "it is not said plainly enough"
    if why:
        return f"VERDICT: FAIL - {why}"
    return "VERDICT: PASS - what is expected stands there, and nothing else that must not"


def _missing(requested: str, shown: str) -> str:
    for one in _TICKED.findall(requested):
        if one.casefold() not in shown.casefold():
            return f"{one!r} is nowhere"
    rest = _TICKED.sub(" ", requested)
    if stems(rest) and (said := shared(rest, shown)) < _ENOUGH:
        lost = sorted(stems(rest) - stems(shown))
        return f"only {said:.0%} of what is expected is spoken of; nothing of {', '.join(lost)}"
    return ""


def _too_much(unwanted: str, shown: str) -> str:
    for one in _TICKED.findall(unwanted):
        if one.casefold() in shown.casefold():
            return f"{one!r} stands there"
    rest = _TICKED.sub(" ", unwanted)
    if len(stems(rest)) < 3:
        return ""
    for line in shown.splitlines():
        if shared(rest, line) >= _TOO_MUCH:
            return f"it says what it must not: {line.strip()[:80]}"
    return ""
