"""Where a notebook keeps what, and its words for it: what a project may say of its own."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

Words = tuple[str, ...]


class Layout(BaseModel):
    """Where a notebook keeps what, and its words for it."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    hypotheses: str = Field(default="hypotheses", description="Folder of hypotheses.")
    decisions: str = Field(default="decisions", description="Folder of decisions.")
    sources: Words = Field(
        default=("source", "sources", "ingestion"),
        min_length=1,
        description="Folders that evidence must lead to.",
    )
    index_names: Words = Field(
        default=("INDEX", "README", "SCHEMA", "TEMPLATE"),
        description="Names of files that are no entries, beside those that begin with _.",
    )
    evidence_for: Words = Field(
        default=(
            "evidence for",
            "supporting",
            "supports",
            "in favour",
            "in favor",
            "for",
            "pro",
            "pros",
        ),
        min_length=1,
        description="Headings, or words of a column, that say that evidence supports.",
    )
    evidence_against: Words = Field(
        default=(
            "evidence against",
            "against",
            "contradicting",
            "contradicts",
            "disconfirming",
            "counter",
            "con",
            "cons",
        ),
        min_length=1,
        description="The same for evidence that speaks against.",
    )
    status: Words = Field(default=("status", "state"), description="Names of the status.")
    demoted: Words = Field(
        default=("demoted",), min_length=1, description="Statuses that need evidence against."
    )
    reversal: Words = Field(
        default=("reversal", "reverse", "revisit", "taken back", "take it back"),
        min_length=1,
        description="Words in the name of what says when a decision is taken back.",
    )


PLAIN_LAYOUT: Final = Layout()
