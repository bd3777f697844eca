"""What a file with the results of a run says of that run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from matrix.model.lines import require_line
from matrix.model.spec.run_spec import Compare

CODE: Final = "the kind's code"
"""What is not the same where a kind that is a file was changed."""

MOST_CHANGES: Final = 50
"""Files whose changes are told."""

_Line = Annotated[str, Field(max_length=120), AfterValidator(require_line)]
LONGEST_NOTE: Final = 1000
MOST_NOTES: Final = 50
_Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(require_line)]


class ExportedFacts(BaseModel):
    """What a file of a run's results says of that run, so that it is compared as the run was."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    version: Literal[1] = Field(default=1, description="Version of this form.")
    run: _Line = Field(description="Id of the run.")
    kind: _Line = Field(description="Its kind.")
    seed: int = Field(ge=0, lt=2**63, description="Seed of its draws.")
    compare: Compare = Field(description="How its variants compete; looked at once.")
    lower: tuple[_Line, ...] = Field(
        default=(), max_length=200, description="Scores of which less is better."
    )
    score_range: tuple[float, float] | None = Field(
        default=None, description="Least and greatest possible score, where that is known."
    )
    simulated: tuple[_Line, ...] = Field(
        default=(), max_length=200, description="Roles that simulated models play."
    )
    mixed: bool = Field(default=False, description="Whether real models play beside those.")
    contents: Mapping[_Line, _Line] = Field(
        default_factory=dict,
        max_length=200,
        description="Scenario -> hash of what it was played with; empty where that is not known.",
    )
    options: Mapping[_Line, _Line] | None = Field(
        default=None,
        max_length=200,
        description="Option of the kind that was set -> hash of its value; null where not known.",
    )
    code: _Line = Field(default="", description="Hash of the kind's code, where it is a file.")
    code_changes: tuple[_Line, ...] = Field(
        default=(),
        max_length=MOST_CHANGES,
        description="Code that was another for some of its sessions.",
    )
    redone: bool = Field(
        default=False, description="Whether sessions of it were begun anew, and paid for twice."
    )
    untold: tuple[_Line, ...] = Field(
        default=(),
        max_length=20,
        description="Metrics that nobody knows of its sessions: it was imported without them.",
    )
    unit: _Line = Field(
        default="",
        description="What its units are called, where they have names of their own; else rounds.",
    )
    paired: bool = Field(
        default=True, description="Whether results of one unit belong together, of any variant."
    )
    grouped: bool = Field(
        default=False,
        description="Whether those of one unit and variant do, and nothing is paired.",
    )
    alone: _Line = Field(
        default="", description="What a verdict is about alone, such as the units, and no others."
    )
    notes: tuple[_Note, ...] = Field(
        default=(),
        max_length=MOST_NOTES,
        description="What a verdict on it has to be read with: it was imported so.",
    )
    unlike: tuple[_Line, ...] = Field(
        default=(),
        max_length=201,
        description="What is other in one than in another of the runs that are imported together.",
    )


def other_options(one: ExportedFacts, two: ExportedFacts) -> list[str]:
    """Which options of the kind are not the same in two runs, as far as both say it."""
    if one.options is None or two.options is None:
        return []
    names = sorted(one.options.keys() | two.options.keys())
    return [name for name in names if one.options.get(name) != two.options.get(name)]


def unlike(one: ExportedFacts, two: ExportedFacts) -> list[str]:
    """What two runs were played with that is not the same, as far as both say it."""
    shared = one.contents.keys() & two.contents.keys()
    found = sorted(name for name in shared if one.contents[name] != two.contents[name])
    code = [CODE] if one.code and two.code and one.code != two.code else []
    return [*code, *found]
