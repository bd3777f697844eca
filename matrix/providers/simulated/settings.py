"""What a run spec may say about simulated models, under ``simulation:``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from matrix.providers.simulated.traits import TRAIT_NAMES, TRAIT_RANGES, Traits, clamped
from matrix.providers.simulated.traits import unknown_trait as _unknown_trait


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


def _known(name: str) -> str:
    if name not in TRAIT_NAMES:
        raise ValueError(_unknown_trait(name))
    return name


class LatencySettings(_Frozen):
    """How long a simulated model works: first token, then a steady stream, times a jitter."""

    first_token_s: float = Field(0.6, ge=0, description="Seconds until the first token.")
    tokens_per_s: float = Field(80.0, gt=0, description="Output tokens per second after that.")
    jitter: float = Field(
        0.25, ge=0, le=2, description="Sigma of the lognormal factor on the whole latency."
    )


class FaultSettings(_Frozen):
    """Trouble to be had with a simulated provider. All are probabilities, 0 by default.

    The first five fail an attempt, are drawn anew for each attempt, and stop after
    ``max_in_a_row`` attempts of a call, so that retries get through. The last two shape a reply
    that does come back; they are drawn once per call, so that an answer never depends on which
    attempt brought it.
    """

    rate_limited: float = Field(
        0.0, ge=0, le=1, description="429 with a time to wait, per attempt."
    )
    server_error: float = Field(0.0, ge=0, le=1, description="5xx, per attempt.")
    timeout: float = Field(0.0, ge=0, le=1, description="No answer in time, per attempt.")
    malformed: float = Field(
        0.0, ge=0, le=1, description="A body that is not what the protocol promises, per attempt."
    )
    empty: float = Field(0.0, ge=0, le=1, description="An answer without text, per attempt.")
    cut_off: float = Field(
        0.0, ge=0, le=1, description="Half the text and finish_reason 'length', per call."
    )
    missing_usage: float = Field(
        0.0, ge=0, le=1, description="A reply that reports no token usage, per call."
    )
    max_in_a_row: int = Field(
        2, ge=0, le=20, description="Attempts of one call that may fail before one gets through."
    )
    retry_after_s: float = Field(
        2.0, ge=0, description="Seconds that a simulated 429 asks to wait."
    )


class PlantedEffect(_Frozen):
    """A known truth: sessions with this level of this factor have one trait shifted."""

    factor: str = Field(description="Factor of the run spec, e.g. 'prompt'.")
    level: str = Field(description="Level of that factor, e.g. 'tangent-focused'.")
    trait: str = Field(description="Trait to shift, e.g. 'forced_segue'.")
    multiply: float | None = Field(None, ge=0, description="Factor on the trait, applied first.")
    add: float | None = Field(None, description="Amount added to the trait.")

    _trait_exists = field_validator("trait")(_known)

    @model_validator(mode="after")
    def _shifts_something(self) -> PlantedEffect:
        if self.multiply is None and self.add is None:
            raise ValueError("a planted effect needs 'multiply', 'add' or both")
        return self


class SimulationSettings(_Frozen):
    """Simulated models: their pace, their behaviour, effects planted on purpose, and faults."""

    time: Literal["virtual", "real"] = Field(
        "virtual",
        description="'virtual' answers at once and charges the latency to the session's clock; "
        "'real' sleeps it as well.",
    )
    latency: LatencySettings = Field(
        default_factory=LatencySettings, description="How long an answer takes."
    )
    traits: dict[str, float] = Field(
        default_factory=dict, description="Traits that differ from their defaults, by name."
    )
    effects: tuple[PlantedEffect, ...] = Field(
        (), description="Effects planted on levels of factors; none by default."
    )
    faults: FaultSettings = Field(
        default_factory=FaultSettings, description="Faults of the simulated provider."
    )
    fsync: bool = Field(
        False,
        description="Flush every transaction of the journal, as runs do that spend money, so that "
        "nothing of the rehearsal is lost in a power cut.",
    )

    @field_validator("traits")
    @classmethod
    def _traits_exist_and_fit(cls, value: dict[str, float]) -> dict[str, float]:
        for name, number in value.items():
            low, high = TRAIT_RANGES[_known(name)]
            if not low <= number <= high:
                raise ValueError(f"trait '{name}' is {number:g}; allowed are {low:g} to {high:g}")
        return value


class TraitsByCell:
    """Resolves the traits of a session from its factor levels; equal levels share one result."""

    def __init__(self, settings: SimulationSettings) -> None:
        self._base = replace(Traits(), **settings.traits)
        self._effects = settings.effects
        self._factors = tuple(sorted({effect.factor for effect in settings.effects}))
        self._by_levels: dict[tuple[str | None, ...], Traits] = {}

    def of(self, cell: Mapping[str, str]) -> Traits:
        """Traits of a session with these levels. Effects apply in the order they are written."""
        if not self._factors:
            return self._base
        levels = tuple(cell.get(factor) for factor in self._factors)
        known = self._by_levels.get(levels)
        if known is None:
            known = self._by_levels[levels] = self._resolve(cell)
        return known

    def _resolve(self, cell: Mapping[str, str]) -> Traits:
        shifted = {name: float(getattr(self._base, name)) for name in TRAIT_NAMES}
        for effect in self._effects:
            if cell.get(effect.factor) == effect.level:
                value = shifted[effect.trait]
                value = value * (1.0 if effect.multiply is None else effect.multiply)
                shifted[effect.trait] = clamped(effect.trait, value + (effect.add or 0.0))
        return Traits(**shifted)
