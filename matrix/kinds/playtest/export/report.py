"""What the Markdown report of a play-test has beside what is said of any session.

The headings are those of the play-test document, so that reports read alike wherever they are from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matrix.kinds.playtest.export.document import (
    PlayerAgent,
    PlaytestDocument,
    Tangent,
    document_of,
)
from matrix.kinds.playtest.setup.vocabulary import ISSUE_TYPES
from matrix.kinds.reporting import SessionSections, SessionSoFar

_EVENTS: Final = {
    "pulse": "Pulse {value}",
    "tangent": "Tangent",
    "private_moment": "Private moment",
    "private_spoiled": "Private moment given away",
    "private_payoff": "Payoff of a private moment",
    "survey": "Survey",
}


def sections_of(session: SessionSoFar) -> SessionSections:
    """Its group, its setting, and what was counted."""
    told = document_of(session)
    config = told.sessionConfig
    return SessionSections(
        config=(
            ("Story", config.story),
            ("Narrator", config.narratorModel or "-"),
            ("System prompt", str(session.plan.options.get("prompt", "-"))),
        ),
        sections={"Group": _group(told.playerAgents, told.spokespersonId)},
        summary=_counts(told, session.texts),
        beginning="Character Creation",
        events=_EVENTS,
        issues=ISSUE_TYPES,
    )


def _group(agents: Sequence[PlayerAgent], speaker: str) -> str:
    rows = ["| Player | Archetype | Model |", "|--------|-----------|-------|"]
    for agent in agents:
        speaks = " (spokesperson)" if agent.name == speaker else ""
        cells = f"{_cell(agent.name)}{speaks} | {_cell(agent.archetype)} | {_cell(agent.model)}"
        rows.append(f"| {cells} |")
    return "\n".join(rows)


def _counts(told: PlaytestDocument, texts: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    scenario = texts.get("scenario")
    expected = scenario.get("pulses_expected") if isinstance(scenario, dict) else None
    of = f"/{expected}" if expected else ""
    return (
        ("Pulses detected", f"{len(told.detectedPulses)}{of}"),
        ("Tangents", f"{len(told.detectedTangents)}{_recovery(told.detectedTangents)}"),
        ("Private moments", str(len(told.privateMoments))),
    )


def _recovery(tangents: Sequence[Tangent]) -> str:
    over = [tangent.length for tangent in tangents if tangent.endTurn is not None]
    return f" (avg {sum(over) / len(over):.1f} turns to recover)" if over else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
