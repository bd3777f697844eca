"""Pinned final states: what a later run's folder is compared with, without a judge.

An agent words things anew each time, so what is compared is the shape of a notebook: which
hypotheses with which status and how much evidence, which decisions, which folders with how many
files, and whether links and evidence lead anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from matrix.kinds.trajectory.assertions.folder import View
from matrix.kinds.trajectory.assertions.hypotheses import (
    evidence_of,
    hypotheses_of,
    status_alone,
)
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.notebook import entries_in
from matrix.kinds.trajectory.assertions.structural import BUILT_IN, AssertionContext, is_sourced
from matrix.model.records import JSON

VERSION: Final = 1


class _PinnedHypothesis(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True)

    status: str
    for_: int = Field(alias="for", ge=0)
    against: int = Field(ge=0)


class Pin(BaseModel):
    """What a file of a pinned state holds: written by :func:`pin`, and kept in a project."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True)

    version: Literal[1]
    hypotheses: dict[str, _PinnedHypothesis]
    decisions: int = Field(ge=0)
    files: dict[str, Annotated[int, Field(ge=0)]]
    links_valid: bool
    orphans: int = Field(ge=0)


def pin(view: View, layout: Layout) -> dict[str, JSON]:
    """The shape of a notebook."""
    rows = list(evidence_of(view, layout))
    links = BUILT_IN["all_internal_links_valid"].check(AssertionContext(view, layout), True)
    return {
        "version": VERSION,
        "hypotheses": {
            one.id: {
                "status": status_alone(one.status),
                "for": one.count(against=False),
                "against": one.count(against=True),
            }
            for one in hypotheses_of(view, layout)
        },
        "decisions": len(entries_in(layout.decisions, view.now, layout)),
        "files": dict(sorted(Counter(path.rpartition("/")[0] for path in view.now).items())),
        "links_valid": links.holds,
        "orphans": sum(not is_sourced(row, view, layout) for row in rows),
    }


def compared(pinned: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How a notebook's shape differs from the pinned one; empty if it does not."""
    return [*_hypotheses(pinned.get("hypotheses") or {}, now["hypotheses"]), *_rest(pinned, now)]


def _hypotheses(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(was.keys() - now.keys()):
        yield f"hypothesis {name} is not there"
    for name in sorted(now.keys() - was.keys()):
        yield f"hypothesis {name} is new"
    for name in sorted(was.keys() & now.keys()):
        for part in ("status", "for", "against"):
            if _alone(part, was[name].get(part)) != now[name][part]:
                yield f"{name}: {part} was {was[name].get(part)}, is {now[name][part]}"


def _alone(part: str, value: Any) -> Any:
    """What was pinned, as it is compared: a status of an earlier version may have more in it."""
    return status_alone(value) if part == "status" and isinstance(value, str) else value


def _rest(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for part in ("decisions", "links_valid", "orphans"):
        if was.get(part) != now[part]:
            yield f"{part} was {was.get(part)}, is {now[part]}"
    old, new = was.get("files") or {}, now["files"]
    for folder in sorted(old.keys() | new.keys()):
        if old.get(folder, 0) != new.get(folder, 0):
            yield f"{folder or 'the top'} had {old.get(folder, 0)} files, has {new.get(folder, 0)}"
