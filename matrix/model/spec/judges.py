"""Judges that a run spec lists: they score what sessions of any kind said, by rubrics in files."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

JUDGES: Final = "judges"
"""The role that they are asked in, and the key of the list."""

MOST_MEMBERS: Final = 20
"""Judgings of one session by one rubric, over all models and repeats."""


class JudgeSpec(BaseModel):
    """One rubric, what it looks at, and who judges by it."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    rubric: str = Field(
        min_length=1,
        max_length=1000,
        description="Markdown with front matter: file:// and a path, or the name of a shipped one.",
    )
    model: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
        Field(min_length=1, max_length=MOST_MEMBERS),
    ] = Field(default=("sim/gpt-4o-mini",), description="Model or agent; several make a panel.")
    name: str = Field(
        default="",
        pattern=r"^([A-Za-z][A-Za-z0-9_-]{0,60})?$",
        description="Name of its scores; that of the rubric unless given.",
    )
    better: Literal["", "higher", "lower"] = Field(
        default="", description="What is better; the rubric says it."
    )
    bounds: tuple[float, float] | None = Field(
        default=None, description="Least and greatest possible score; the rubric says it."
    )
    target: str = Field(
        default="transcript",
        min_length=1,
        max_length=200,
        description="transcript, last (the last message), or whose messages are judged.",
    )
    repeats: int = Field(default=1, ge=1, le=MOST_MEMBERS, description="Judgings by each model.")
    combine: Literal["mean", "majority"] = Field(
        default="mean", description="How several judgings become one; majority is of verdicts."
    )
    max_tokens: int = Field(default=800, ge=1, le=100_000, description="Most of an answer.")
