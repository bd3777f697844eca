"""What a run spec may say about play-tests under ``options:``; any of it can be a factor."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from matrix.judging.repeats import MAX_REPEATS
from matrix.kinds.playtest.setup.vocabulary import SURVEY_QUESTIONS
from matrix.model.errors import did_you_mean

MAX_GROUP = 8
MAX_QUESTIONS = 12

ADDED_LATER: Final = (
    "judge_repeats",
    "history_tokens",
    "memory_tokens",
    "mood_swings",
    "survey",
    "interview",
    "spokesperson_archetype",
    "early_end",
    "end_on",
    "pass_if",
    "check_issues",
)
"""Options that came after the first runs were made, and are left out of plans at their defaults.

Ids of sessions are made from what a plan says, so a plan that uses none of these stays the same.
"""


HardFailure = Literal["loop", "breakdown", "contradiction"]
CheckedIssue = Literal["contradiction", "character_break", "guide_deviation", "stuck", "early_end"]


class Weights(BaseModel):
    """How much each part counts in the composite score; only their proportions matter."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    progress: float = Field(
        default=0.35, ge=0, le=1000, description="Pulses delivered, their pace, and an ending."
    )
    tangents: float = Field(
        default=0.20,
        ge=0,
        le=1000,
        description="Return from tangents: whether, how fast, how well.",
    )
    quality: float = Field(
        default=0.30, ge=0, le=1000, description="The judge's seven dimensions, averaged."
    )
    failures: float = Field(
        default=0.15, ge=0, le=1000, description="Freedom from loops, contradictions and the like."
    )

    @model_validator(mode="after")
    def _counts_something(self) -> Weights:
        if self.progress + self.tangents + self.quality + self.failures <= 0:
            raise ValueError("at least one weight must be above 0")
        return self


def _question(text: str) -> str:
    """A question of a survey; one word is the name of a known one."""
    if text not in SURVEY_QUESTIONS and " " not in text.strip():
        known = sorted(SURVEY_QUESTIONS)
        raise ValueError(
            f"{text!r} is no question; allowed: {', '.join(known)}, or one in words"
            + did_you_mean(text, known)
        )
    return text.strip()


Question = Annotated[
    str, Field(min_length=1, max_length=500, pattern=r"\S"), AfterValidator(_question)
]


class Interview(BaseModel):
    """What one player is asked after a turn, in place of playing on."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    player: str = Field(
        min_length=1, max_length=100, description="Whom to ask: a name, or spokesperson."
    )
    question: str = Field(min_length=1, max_length=2000, pattern=r"\S", description="What to ask.")


class PlaytestOptions(BaseModel):
    """Options of play-tests. A factor of the same name overrides one per cell."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    prompt: str = Field(
        default="baseline",
        min_length=1,
        max_length=500,
        description="Narrator prompt: name of a shared one, or a markdown file from the run spec.",
    )
    group_size_min: int = Field(
        default=2, ge=2, le=MAX_GROUP, description="Fewest players in a group."
    )
    group_size_max: int = Field(
        default=5, ge=2, le=MAX_GROUP, description="Most players in a group."
    )
    archetypes: tuple[str, ...] = Field(
        default=(),
        max_length=100,
        description="Archetypes to draw from, with replacement; all of them if left empty.",
    )
    group: tuple[str, ...] | None = Field(
        default=None,
        min_length=2,
        max_length=MAX_GROUP,
        description="A fixed group, as archetype ids (a list, or one text such as joker+drifter, "
        "which can be a level of a factor), instead of drawing one per round.",
    )
    spokesperson_archetype: str | None = Field(
        default=None,
        min_length=1,
        max_length=40,
        description="Archetype of whoever relays for the group; drawn from the group if left out. "
        "A drawn group that has none of it has one in the place of the player who was drawn.",
    )
    recent_messages: int = Field(
        default=6, ge=0, le=50, description="Messages of table talk that a player is reminded of."
    )
    history_tokens: int = Field(
        default=0,
        ge=0,
        le=2_000_000,
        description="Most tokens of what the narrator is shown: the beginning, a summary, and the "
        "newest turns that fit. All of the story if 0.",
    )
    memory_tokens: int = Field(
        default=250,
        ge=0,
        le=20_000,
        description="Tokens of what a player remembers beside that: own words at the start, what "
        "they alone were told, the story so far. Nothing if 0.",
    )
    mood_swings: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="Share of reactions for which a player is in another mood than that evening.",
    )
    with_judge: bool = Field(
        default=True, description="Have a model score the finished transcript."
    )
    judge_repeats: int = Field(
        default=1,
        ge=1,
        le=MAX_REPEATS,
        description="How often the judge scores each transcript; the score is the mean, and every "
        "repeat is a row of its own in `scores`.",
    )
    weights: Weights = Field(default=Weights(), description="Weights of the composite score.")
    stuck_after: int = Field(
        default=5, ge=2, le=100, description="Turns without a pulse that count as a stuck moment."
    )

    survey: tuple[Question, ...] = Field(
        default=(),
        max_length=MAX_QUESTIONS,
        description="What every player is asked after the story, in character: `fun`, "
        "`play_again`, and questions in words. Nobody is asked if left empty.",
    )
    interview: Interview | None = Field(
        default=None,
        description="One player's interview in place of playing on: for `matrix replay --ask`.",
    )

    @field_validator("group", mode="before")
    @classmethod
    def _group_of_a_level(cls, given: Any) -> Any:
        """``joker+drifter``: levels of factors are texts or numbers."""
        return [one.strip() for one in given.split("+")] if isinstance(given, str) else given

    @model_validator(mode="after")
    def _asked_once(self) -> PlaytestOptions:
        for question in self.survey:
            if self.survey.count(question) > 1:
                raise ValueError(f"survey: {question!r} is listed twice; each question once")
        return self

    @model_validator(mode="after")
    def _checked_once(self) -> PlaytestOptions:
        if len(set(self.check_issues)) < len(self.check_issues):
            raise ValueError("check_issues: lists an issue twice; each once")
        return self

    early_end: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of the pulses before which an ending is an issue, `early_end`.",
    )
    end_on: tuple[HardFailure, ...] = Field(
        default=("loop", "breakdown"),
        max_length=3,
        description="Hard failures that end a session: loop, breakdown, contradiction.",
    )
    check_issues: tuple[CheckedIssue, ...] = Field(
        default=(),
        max_length=len(get_args(CheckedIssue)),
        description="Issues that the judge is asked about: contradiction, character_break, "
        "guide_deviation, stuck, early_end. What patterns report counts unless it passes it; where "
        "they report none and its marks hint at one, it reads the session: what it finds counts.",
    )
    pass_if: dict[Annotated[str, Field(max_length=100)], float] = Field(
        default={},
        max_length=50,
        description="Thresholds of the score `passed`, by score: at least so much, or at most "
        "where less is better.",
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> PlaytestOptions:
        if self.group_size_min > self.group_size_max:
            raise ValueError(
                f"group_size_min ({self.group_size_min}) is above group_size_max "
                f"({self.group_size_max})"
            )
        return self

    @model_validator(mode="after")
    def _speaks_for_the_group(self) -> PlaytestOptions:
        among, named = self.group or self.archetypes, self.spokesperson_archetype
        if named is not None and among and named not in among:
            listed = ", ".join(dict.fromkeys(among))
            raise ValueError(f"spokesperson_archetype: found {named!r}; is one of {listed}")
        return self

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        dumped: dict[str, Any] = dump(self)
        return {
            name: value
            for name, value in dumped.items()
            if name not in ADDED_LATER or getattr(self, name) != fields[name].default
        }
