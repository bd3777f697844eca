"""What a file with the results of a run says of that run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from matrix.model.lines import require_line
from matrix.model.spec.run_spec import Compare

_Line = Annotated[str, Field(max_length=120), AfterValidator(require_line)]


class ExportedFacts(BaseModel):
    """What a file of a run's results says of that run, so that it is compared as the run was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
