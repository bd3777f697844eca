"""From simulated models to the sentence: planted effects are found, and nothing else is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import matrix
from matrix.report.study.study import Study
from tests.cli.program import Matrix

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
    assert comparison.verdict.rounds_complete == ROUNDS  # a session that breaks costs its pair


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_without_an_effect_no_winner_is_named(project: Path, seed: int) -> None:
    comparison = compared(project, [], seed)
    assert comparison.verdict.winner is None
    assert "beats" not in comparison.sentence
    assert re.match(
        "No difference shown|.* is probably better than .*, not proven", comparison.sentence
    )


COUNTED = {
    "name": "count",
    "kind": "counter",
    "scenarios": ["one"],
    "factors": {"step": [1, 2]},
    "options": {"turns": 3},
    "limits": {"cost_usd": 10},
}


def fewest_to_win(plan: dict[str, Any]) -> int:
    """Rounds that a plan says a winner takes, as ``matrix plan --json`` has them."""
    power = plan["can_show"]
    gate: int = -(-power["failure_gate_pairs"] // power["pairs_per_round"])
    return max(int(power["fewest_rounds"]), gate)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fixed", "open-ended"])
@pytest.mark.parametrize(("per_cell", "scenarios"), [(5, ["one", "two"]), (12, ["one"])])
def test_a_verdict_and_its_plan_name_one_number_of_rounds_for_a_winner(
    here: Path, matrix: Matrix, engine: str, per_cell: int, scenarios: list[str]
) -> None:
    compare = {"engine": engine, "margin": 0.7}
    spec = COUNTED | {"per_cell": per_cell, "scenarios": scenarios, "compare": compare, "seed": 2}
    (here / "matrix.yaml").write_text(yaml.safe_dump(spec))
    needed = fewest_to_win(json.loads(matrix("plan", "--json").stdout))
    assert f"= {needed} rounds" in " ".join(matrix("plan").stdout.split())
    matrix("run", "--executor", "in-process", "--quiet", "--run-id", "one")
    told = json.loads(matrix("show", "one", "--json").stdout)["comparison"]
    rounds = told["rounds"]
    more = rounds["still_needed_for_a_winner"]
    whole = rounds["complete"] + more
    # a plan knows of no lead; one that was seen and is not shown may take more than the gate
    assert whole == needed or (whole > needed and "is known only to within" in told["sentence"])
    said = (
        f"{more} to name a winner",
        f"{whole} to name a winner",
        f"{more} more",
        f"{whole} rounds needed, in a new run",
    )
    assert any(words in told["sentence"] for words in said)
