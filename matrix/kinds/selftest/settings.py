"""What a self-test says: the options of the kind, one case, and the file that has both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from matrix.model.errors import did_you_mean
from matrix.model.records import JSON

SELFTEST: Final = "selftest"
GENERATOR, SYSTEM, JUDGE = "generator", "system", "judge"
AWAITING, COMPLETE = "AWAITING_RESPONSE", "COMPLETE"
STRICTNESS_WEIGHT: Final = Decimal("0.2")
"""How much of the threshold full strictness adds."""
SMALL_CAP_USD: Final = 1.0
"""Cap of a file that says none."""

ASSISTANT: Final = "# You are an assistant"
"""First line of the instructions of a simulated system: it is told what it is, as all of them."""
OF_A_SIMULATED_SYSTEM: Final = f"""{ASSISTANT}

Answer the user's request from what the request itself says. If it leaves open what is wanted,
ask, in a few questions. End with one line, STATUS: {COMPLETE}, or STATUS: {AWAITING}.
"""

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Status = Annotated[
    str,
    BeforeValidator(lambda status: status.strip().upper() if isinstance(status, str) else status),
    Field(pattern=r"^[A-Z][A-Z0-9_ -]{0,59}$"),
]


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class PassRules(_Part):
    """When a case passes."""

    strictness: Share = Field(
        default=0.5, description="0 is lenient, 1 strict: adds up to 0.2 to the score that passes."
    )
    min_score_to_pass: Share = Field(default=0.6, description="Score that passes at strictness 0.")
    allow_minor_format_deviation: bool = Field(
        default=True, description="Whether the judge lets small deviations of format pass."
    )
    max_questions_allowed: int = Field(
        default=5, ge=0, le=100, description="Most questions of an answer that awaits a reply."
    )
    status_must_match: bool = Field(
        default=True,
        description="Whether another status than the expected one fails a case at any score.",
    )
    project_files_must_stay: bool = Field(
        default=True,
        description="Whether a run fails in which files of the project changed.",
    )

    @property
    def threshold(self) -> Decimal:
        """The score that passes: exact, as the decimals that people write."""
        least = Decimal(str(self.min_score_to_pass))
        return least + STRICTNESS_WEIGHT * Decimal(str(self.strictness))

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.threshold > 1:
            raise ValueError(
                f"no case can pass: min_score_to_pass and strictness make {self.threshold}, and "
                "the best score is 1; lower one of them"
            )
        return self


class SelftestOptions(PassRules):
    """Options of the self-test kind."""

    instructions: str = Field(
        default="",
        max_length=100_000,
        description=(
            "System prompt of the system under test, where it is a model; a text, or file:// and "
            "a path. A simulated one has instructions of its own if there are none."
        ),
    )
    task_type: str = Field(
        default="READ_INFO", max_length=60, description="Type of task that the system is told."
    )


def awaits(status: str, expected: str) -> bool:
    """Whether an answer awaits the reply that a case has for it: by its status.

    A system may have a name of its own for that state, which is the one that the case expects
    where a reply follows. After COMPLETE none does.
    """
    return status == AWAITING or (status == expected and expected != COMPLETE)


class ReplyStep(_Part):
    """What the user says when the system awaits a reply, and what is to come of it."""

    reply: str = Field(min_length=1, max_length=20_000, description="The user's words.")
    expected_status: Status = Field(default=COMPLETE, description="Status after it.")


class Case(BaseModel):
    """One case. Keys of your own are kept with it, and can be grouped by."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    description: str = Field(min_length=1, max_length=20_000, description="What it tests.")
    expected_status: Status = Field(
        default=COMPLETE,
        description="Status of the answer; where a reply follows, the one that awaits it.",
    )
    requires_reply: bool = Field(
        default=False, description="Whether reply_flow is played; true if there is one."
    )
    reply_flow: tuple[ReplyStep, ...] = Field(
        default=(), max_length=20, description="Replies, while the system awaits one."
    )
    title: str = Field(default="", max_length=200, description="Name for people.")
    unscreened: bool = Field(
        default=False,
        description="Whether its own words are sent even if they ask for more than reading.",
    )
    prompt: str = Field(
        default="", max_length=20_000, description="The request itself; else it is generated."
    )
    hints: str = Field(
        default="", max_length=20_000, description="What the judge is to look for; else generated."
    )

    @model_validator(mode="before")
    @classmethod
    def _replies_are_meant(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("reply_flow") and "requires_reply" not in data:
            return {**data, "requires_reply": True}
        return data

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.requires_reply and not self.reply_flow:
            raise ValueError("requires_reply is true, and reply_flow has no reply; give one")
        for name in self.model_extra or {}:
            if hint := did_you_mean(name, [*type(self).model_fields, "id"]):
                raise ValueError(f"unknown key {name!r}{hint}")
        return self


class NamedCase(Case):
    """A case in a file of several."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$")] = Field(
        description="Its name: letters, digits, dots, dashes, underscores."
    )


class AskedModelSettings(_Part):
    """The generator or the judge."""

    model: str | None = Field(default=None, min_length=1, description="Model or agent.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="Of its answers.")
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens of an answer.")


class SelftestFile(PassRules):
    """``config/selftest.yaml``, without keys of a run spec."""

    version: Literal[1] = Field(default=1, description="Version of this form.")
    timeout_seconds: float = Field(
        default=60.0, gt=0, le=86_400, description="Longest wait for an answer of the system."
    )
    system: str | None = Field(
        default=None, min_length=1, description="The system under test: an agent, or a model."
    )
    generator: AskedModelSettings = Field(
        default=AskedModelSettings(), description="Who writes requests."
    )
    judge: AskedModelSettings = Field(
        default=AskedModelSettings(), description="Who scores answers."
    )
    scenarios: tuple[NamedCase, ...] = Field(min_length=1, description="The cases.")


def case_of(content: Mapping[str, JSON]) -> Case:
    """The case in a pack."""
    return Case.model_validate(content)


KEPT: Final = "requests of a run"
"""Key of a pack under which the requests of an earlier run stand, by round; none of a file's."""


def kept_requests(case: Case) -> Sequence[Mapping[str, str] | None]:
    """Request and hints of each round of an earlier run, ``None`` where it had none."""
    found: Sequence[Mapping[str, str] | None] = (case.model_extra or {}).get(KEPT, ())
    return found
