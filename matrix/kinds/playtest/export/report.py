"""What the Markdown report of a play-test has beside what is said of any session.

The headings are those of the play-test document, so that reports read alike wherever they are from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from matrix.kinds.playtest.export.document import (
    PlayerAgent,
    PlaytestDocument,
    Tangent,
    document_of,
)
from matrix.kinds.playtest.export.timeline import timeline_of
from matrix.kinds.playtest.table.judge import QUALITY
from matrix.kinds.playtest.table.scoring import COUNT_NAMES
from matrix.kinds.playtest.table.survey import SCORES as OF_SURVEY
from matrix.kinds.reporting import SessionSections, SessionSoFar
from matrix.model.records import Score

_SPECIAL: Final = re.compile(r"[\\<>|\[\]*_`!]")
"""What Markdown takes for its own inside a cell."""

_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pulses": ("pulse", "turns_per_pulse", "concluded", "finished"),
    "Tangents": ("tangent", "recovery_rate", "segue_quality", "exploration"),
    "Private moments": ("private",),
    "Relays": ("relay",),
    "Quality": (QUALITY,),
    "Survey": (*OF_SURVEY.values(),),
    "Failures": (*COUNT_NAMES.values(),),
    "Parts of the score": ("part_",),
    "Overall": ("score", "passed"),
}
"""Group of metrics -> what the names of those in it begin with."""


def sections_of(session: SessionSoFar) -> SessionSections:
    """Its group, its setting, what happened, and what was counted."""
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
        issues=None,  # whatever has a severity, as everywhere else
        timeline=timeline_of(
            session.events,
            session.messages,
            session.players,
            told.detectedTangents,
            told.privateMoments,
        ),
        metrics=tuple(_metrics(session.scores)),
    )


def _metrics(scores: Sequence[Score]) -> Iterator[tuple[str, str]]:
    """What a session ended with, by group; repeats of the judge are in the tables."""
    values = {one.name: one for one in scores if one.turn is None and one.value is not None}
    for title, beginnings in _GROUPS.items():
        own = [one for name, one in values.items() if name.startswith(beginnings)]
        if own:
            shown = ", ".join(f"{_named(one.name)} {one.value:.4g}" for one in own)
            reasons = dict.fromkeys(one.reason for one in own if one.reason)
            yield title, "; ".join([shown, *reasons])


def _named(metric: str) -> str:
    return metric.removeprefix(QUALITY).removeprefix("part_").replace("_", " ")


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
    """Names may be a model's: in a cell they are text and no more."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))
