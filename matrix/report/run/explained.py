"""What a model made of a run's failures: kept in the run's folder, so that it is paid for once.

The file is a model's words, and the folder may be a stranger's: it is bounded and checked when it
is read, and shown as text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from matrix.model.files import read_plain
from matrix.model.lines import in_line
from matrix.model.money import show_usd
from matrix.report.text import noted, plural

EXPLANATION_NAME: Final = "explanation.json"
_MOST_BYTES: Final = 2_000_000
_MOST_DROPPED: Final = 5
_MOST_CITED: Final = 6

_Text = Annotated[str, Field(max_length=2_000)]


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class CitedSession(_Part):
    """A session, the turn that shows the cause, and what shows it there."""

    session: Annotated[str, Field(max_length=200)]
    turn: Annotated[int, Field(ge=0, le=10_000_000)]
    why: _Text


class FailureGroup(_Part):
    """Sessions that went wrong in the same way, as a model sees it."""

    label: _Text
    explanation: _Text
    sessions: Annotated[tuple[CitedSession, ...], Field(max_length=10_000)]


class Explanation(_Part):
    """``explanation.json``.

    Attributes:
        made_by: Run in which the model was asked; its calls have the money.
        model: The model.
        simulated: Whether it is a simulated one.
        made_at: When, in UTC.
        read: Sessions that it was shown.
        sessions: Sessions of the run, then.
        cost_nano: What it cost, in nano-dollars.
        groups: What it found; the largest first.
        dropped: What it cited and was never shown, in words.
        unread: Batches of which no answer could be read.
    """

    format: Annotated[int, Field(ge=1, le=1)] = 1
    made_by: Annotated[str, Field(max_length=200)]
    model: Annotated[str, Field(max_length=400)]
    simulated: bool
    made_at: AwareDatetime
    read: Annotated[int, Field(ge=0)]
    sessions: Annotated[int, Field(ge=0)]
    cost_nano: Annotated[int, Field(ge=0)]
    groups: Annotated[tuple[FailureGroup, ...], Field(max_length=1_000)]
    dropped: Annotated[tuple[_Text, ...], Field(max_length=10_000)] = ()
    unread: Annotated[tuple[_Text, ...], Field(max_length=1_000)] = ()


def explanation_in(run_dir: Path) -> Explanation | None:
    """What is kept with a run; ``None`` for nothing, and for what no run of ours writes."""
    try:
        return Explanation.model_validate_json(read_plain(run_dir / EXPLANATION_NAME, _MOST_BYTES))
    except (OSError, ValidationError):
        return None


def provenance_of(found: Explanation) -> str:
    """Whose word it is, what it was shown, and what it cost: what stands above it."""
    cost = show_usd(found.cost_nano)
    return (
        f"{in_line(found.model)}{noted('simulated' * found.simulated)} read "
        f"{plural(found.read, 'session')} of {found.sessions:,} and grouped them: a model's "
        f"reading and no evidence; every session it cites was shown to it ({cost}, run "
        f"{in_line(found.made_by)})"
    )


def left_out_of(found: Explanation) -> list[str]:
    """What is not in the groups, in sentences."""
    placed = sum(len(one.sessions) for one in found.groups)
    told = []
    if lost := found.read - placed:
        told.append(f"{plural(lost, 'session')} of those in no group.")
    if found.dropped:
        some = "; ".join(in_line(one) for one in found.dropped[:_MOST_DROPPED])
        more = len(found.dropped) - _MOST_DROPPED
        told.append(
            f"Left out, as it was not shown what it cites: {some}"
            + (f"; and {more:,} more." if more > 0 else ".")
        )
    told += [f"No answer could be read: {in_line(one)}." for one in found.unread]
    if found.unread:
        told.append(f"To have those asked again, remove the run {in_line(found.made_by)}.")
    return told


def explanation_lines(found: Explanation, most: int = 1_000) -> list[str]:
    """A line for each group, the largest first."""
    lines = []
    for one in found.groups[:most]:
        cited = ", ".join(
            f"{in_line(each.session)[:12]} turn {each.turn}" for each in one.sessions[:_MOST_CITED]
        )
        more = len(one.sessions) - _MOST_CITED
        cited += f" and {more:,} more" if more > 0 else ""
        told = f"{in_line(one.label)} ({plural(len(one.sessions), 'session')})"
        lines.append(f"{told}: {in_line(one.explanation)} [{cited}]")
    return lines
