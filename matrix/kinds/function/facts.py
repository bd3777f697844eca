"""What is kept with a run of a kind that is a file: for readers, and to play it again."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from matrix.kinds.function.source import MOST_SOURCE


class RoleFacts(BaseModel):
    """A role, as it is kept."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    model: str = Field(max_length=200)
    judges: bool = False


class KindFacts(BaseModel):
    """What readers of a run need to know of such a kind, and what it takes to play it again.

    It may come with a stranger's run, so it is bounded. ``of_cases`` are parameters that cases say
    the values of, so that they are no options; ``main`` is the score that ``score`` is, which only
    the source would tell otherwise; ``source`` is empty for readers.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    file: str = Field(min_length=1, max_length=1000)
    name: str = Field(pattern=r"^[A-Za-z_]\w{0,200}$")
    roles: Mapping[str, RoleFacts] = Field(min_length=1, max_length=100)
    scores: tuple[str, ...] = Field(default=(), max_length=1000)
    score_range: tuple[float, float] = (0.0, 1.0)
    lower_is_better: tuple[str, ...] = Field(default=(), max_length=1000)
    of_cases: tuple[str, ...] = Field(default=(), max_length=1000)
    main: str = Field(default="", max_length=200)
    source: str = Field(default="", max_length=MOST_SOURCE)
