"""Archetypes: how a simulated player tends to play, as data.

An archetype is seasoning, not the dish: most of what its player says is ordinary play. A group is
drawn from archetypes with replacement, and each names the model that plays it best for its price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from matrix.kinds.text_files import read_text
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import check, parse_document
from matrix.model.errors import Mistake, did_you_mean

MAX_BYTES = 20_000
"""Size limit of one archetype file."""

Line = Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")]


class Archetype(BaseModel):
    """One way of playing, as an archetype file describes it."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    id: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,39}$", description="Short id; also the name of the file."
    )
    name: Line = Field(description="Name to show, e.g. 'The Joker'.")
    style: Line = Field(description="How this player plays, in one line.")
    context: Line = Field(description="Who such a person is outside the game, in one line.")
    patterns: tuple[Line, ...] = Field(
        min_length=1, max_length=12, description="Habits at the table, spoken to the player."
    )
    quirk_frequency: float = Field(
        ge=0, le=1, description="Share of replies that show the quirk; the rest is plain play."
    )
    tests_for: tuple[Line, ...] = Field(
        default=(), max_length=12, description="What this player puts to the test in a narrator."
    )
    loses_track: bool = Field(
        default=False,
        description="It loses track by habit, which says nothing of the narrator: where nobody "
        "else does, its being lost is no confusion.",
    )
    relay: Line | None = Field(
        default=None,
        description="What becomes of the group's words when this player relays them.",
    )
    model: Line = Field(description="Model that plays it when a role says 'by-archetype'.")
    tier: int = Field(default=2, ge=1, le=4, description="Cost tier, from 1 (cheapest) to 4.")


@lru_cache(maxsize=512)
def _parse(text: str, source: str) -> Archetype:
    return check(parse_document(text, source), Archetype)


def load_archetypes(files: Mapping[str, Path]) -> dict[str, Archetype]:
    """Read every archetype, sorted by id.

    Raises:
        BadInput: Every mistake in every file, or there is no archetype at all.
    """
    found: dict[str, Archetype] = {}
    mistakes = Mistakes()
    for id_, path in sorted(files.items()):
        archetype = mistakes.collect(partial(_read, path))
        if archetype is None:
            continue
        if archetype.id != id_:
            message = f"found {archetype.id!r}; must be {id_!r}, the name of the file"
            mistakes.say(str(path), message, "id")
        found[id_] = archetype
    if not files:
        mistakes.say("archetypes", "there is no archetype file at all")
    mistakes.stop_if_any()
    return found


def _read(path: Path) -> Archetype:
    return _parse(read_text(path, MAX_BYTES), str(path))


def unknown_archetypes(
    requested: Iterable[str], known: Iterable[str], option: str
) -> list[Mistake]:
    """A mistake for every id in ``requested`` that is not ``known``."""
    allowed = sorted(known)
    return [
        Mistake(
            "run spec",
            None,
            f"options.{option}[{index}]",
            f"found {id_!r}; allowed: {', '.join(allowed)}{did_you_mean(id_, allowed)}",
        )
        for index, id_ in enumerate(requested)
        if id_ not in allowed
    ]
