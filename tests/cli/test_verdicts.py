"""From simulated models to the sentence: planted effects are found, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import matrix
from matrix.report.study import Study

SABOTAGE = [
    {"factor": "prompt", "level": "baseline", "trait": trait, "add": 0.9}
    for trait in ("contradiction", "forced_segue", "guide_deviation")
]
"""Makes the narrator of one variant contradict itself and wander from its guide."""

ROUNDS = 56
"""With one story, the failure gate of a winner needs 52 sessions a variant without a failure."""


def compared(project: Path, effects: list[dict[str, Any]], seed: int) -> Study:
    run = matrix.run(
        project,
        per_cell=ROUNDS,
        seed=seed,
        max_cost=100,
        settings={
            "scenarios": ["the-borrowed-hour"],
            "options.group_size_max": 2,
            "simulation.effects": effects,
        },
        results=project / "results",
        executor="in-process",
    )
    return run.compare("prompt")


@pytest.mark.slow
def test_a_strong_planted_effect_is_found(project: Path) -> None:
    comparison = compared(project, SABOTAGE, seed=1)
    assert comparison.verdict.kind == "winner"
    assert comparison.sentence.startswith("warmer beats baseline by ")
    assert comparison.simulated
    assert comparison.verdict.rounds_used == ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_without_an_effect_no_winner_is_named(project: Path, seed: int) -> None:
    comparison = compared(project, [], seed)
    assert comparison.verdict.winner is None
    assert comparison.sentence.startswith("No difference shown between baseline and warmer")
