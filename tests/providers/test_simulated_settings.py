"""Laws of the settings: mistakes are named, values stay in range, effects hit one level."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from matrix.providers.simulated.settings import (
    FaultSettings,
    LatencySettings,
    PlantedEffect,
    SimulationSettings,
    TraitsByCell,
)
from matrix.providers.simulated.traits import TRAIT_RANGES, Traits

EFFECT = {"factor": "prompt", "level": "b", "trait": "loop", "add": 0.1}


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"traits": {"forced_seque": 0.1}}, "did you mean 'forced_segue'?"),
        ({"traits": {"loop": 1.5}}, "allowed are 0 to 1"),
        ({"effects": [{**EFFECT, "trait": "lop"}]}, "did you mean 'loop'?"),
        ({"effects": [{"factor": "prompt", "level": "b", "trait": "loop"}]}, "'multiply', 'add'"),
        ({"tempo": 1}, "tempo"),
        ({"faults": {"timeout": 2}}, "less than or equal to 1"),
    ],
)
def test_mistakes_are_refused_with_the_remedy(spec: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SimulationSettings.model_validate(spec)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "model", [SimulationSettings, LatencySettings, FaultSettings, PlantedEffect]
)
def test_every_field_is_described_and_nothing_can_be_changed(model: type[BaseModel]) -> None:
    assert all(field.description for field in model.model_fields.values())
    assert model.model_config["frozen"]
    assert model.model_config["extra"] == "forbid"


def test_every_trait_is_described_and_defaults_lie_in_range() -> None:
    for spec in fields(Traits):
        low, high = TRAIT_RANGES[spec.name]
        assert low <= float(str(spec.default)) <= high
        assert spec.metadata["who"]
        assert spec.metadata["meaning"]


def test_an_effect_applies_to_its_level_alone_and_in_the_order_written() -> None:
    settings = SimulationSettings.model_validate(
        {
            "traits": {"loop": 0.2},
            "effects": [
                {**EFFECT, "multiply": 2.0},
                {"factor": "narrator", "level": "x", "trait": "loop", "multiply": 0.5},
            ],
        }
    )
    traits = TraitsByCell(settings)
    assert traits.of({}).loop == 0.2
    assert traits.of({"prompt": "a"}).loop == 0.2
    assert traits.of({"prompt": "b"}).loop == pytest.approx(0.5)
    assert traits.of({"prompt": "b", "narrator": "x"}).loop == pytest.approx(0.25)
    assert traits.of({"prompt": "b"}).contradiction == Traits().contradiction


def test_a_shifted_trait_stays_in_its_range() -> None:
    effect = {"factor": "prompt", "level": "b", "trait": "loop", "add": 3.0}
    traits = TraitsByCell(SimulationSettings.model_validate({"effects": [effect]}))
    assert traits.of({"prompt": "b"}).loop == 1.0
