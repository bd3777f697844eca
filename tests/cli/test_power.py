"""`matrix power` and what `matrix plan` says a plan can show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from matrix.stats import rounds_needed, sd_range
from tests.cli.program import GoldenRun, Matrix


def test_what_a_difference_takes(golden_run: GoldenRun) -> None:
    assert golden_run("power", "power", "--effect", "3", "--sd", "8").code == 0


def test_what_a_difference_of_pass_rates_takes(golden_run: GoldenRun) -> None:
    asked = ("--effect", "0.4", "--sd", "0.49", "--failure-margin", "20")
    assert golden_run("power-yes-no", "power", *asked, "--yes-no").code == 0


@pytest.mark.slow
def test_what_a_budget_shows_with_the_plan_and_prices_of_a_spec(golden_run: GoldenRun) -> None:
    golden_run("power-budget", "power", "standard", "--budget", "40", "--sd", "8")


def test_a_run_of_two_rounds_says_how_little_it_knows(
    finished: Path, golden_run: GoldenRun
) -> None:
    golden_run("power-from", "power", "--from", "first", "--effect", "5")


def test_every_mistake_is_told_at_once(golden_run: GoldenRun) -> None:
    wrong = ("--effect", "-3", "--engine", "peeking", "--from", "nix", "--variants", "1")
    assert golden_run("power-mistakes", "power", "no-such-spec", *wrong).code == 2
    assert golden_run("power-nothing", "power").code == 2


def test_json_has_what_the_text_says(matrix: Matrix) -> None:
    found = json.loads(
        matrix("power", "--effect", "3", "--sd", "8", "--pairs", "5", "--json").stdout
    )
    assert found["needed"]["rounds"] == found["needed"]["rounds_for_scores"] == 58
    assert found["failure_gate"] == {"pairs": 72, "rounds": 15, "rounds_at_rate": None}


def test_a_plan_says_what_it_can_show_in_units_of_a_pilot(finished: Path, matrix: Matrix) -> None:
    text = matrix("plan", "--from", "first").stdout
    assert "round to round in first" in " ".join(text.split())
    data = json.loads(matrix("plan", "--from", "first", "--json").stdout)["can_show"]
    assert (data["from"], data["failure_gate_pairs"], data["can_name_a_winner"]) == (
        "first",
        57,
        True,
    )
    assert data["effect"] > 0


def test_a_plan_that_cannot_name_a_winner_warns(project: Path, matrix: Matrix) -> None:
    short = matrix("plan", "--per-cell", "25").stdout
    assert "WARNING    No winner can be named unless the better one also fails less" in short
    assert "Plan 29 rounds" in " ".join(short.split())
    assert "WARNING" not in matrix("plan", "--per-cell", "29").stdout


def test_a_pilot_whose_scores_are_missing_counts_what_it_has(project: Path, matrix: Matrix) -> None:
    """Of twenty units five have a score of one variant only: fifteen have anything to compare."""
    rows = ["unit,variant,score"]
    for unit in range(20):
        rows.append(f"{unit},old,{60 + unit % 7}")
        rows.append(f"{unit},new,{'' if unit % 4 == 0 else 64 + unit % 5}")
    (project / "mine.csv").write_text("\n".join(rows))
    assert matrix("import", "mine.csv", "--run-id", "mine").code == 0
    asked = ("power", "--from", "mine", "--effect", "2", "--failure-margin", "60")
    found = json.loads(matrix(*asked, "--json").stdout)
    assert (found["from"]["rounds"], found["from"]["missing"]) == (15, 0.125)
    low, high = sd_range(found["sd"], 14)
    assert (found["from"]["sd_low"], found["from"]["sd_high"]) == (low, high)
    whole = rounds_needed(2, found["sd"])
    assert found["needed"]["rounds_for_scores"] > whole
    text = " ".join(matrix(*asked).stdout.split())
    assert "12 % of sessions have none, as in that run" in text
    assert "from 15 units of mine" in text
