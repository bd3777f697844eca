"""`matrix plan`: the expanded cells, the counts and the estimate, all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from matrix import api
from matrix.report.planning.plan import plan_as_data
from tests.cli.program import NO_SPEC, GoldenRun, Matrix


def planned(matrix: Matrix, *args: str, **more: object) -> dict[str, Any]:
    result = matrix("plan", "--json", *args, **more)
    assert (result.stderr.replace(NO_SPEC, ""), result.code) == ("", 0)
    plan: dict[str, Any] = json.loads(result.stdout)
    return plan


def test_the_plan_of_the_built_in_matrix(golden_run: GoldenRun, here: Path) -> None:
    assert golden_run("plan-built-in", "plan", "--sessions", "500").code == 0
    assert list(here.iterdir()) == [], "a plan writes nothing"


def test_the_plan_of_the_built_in_matrix_for_programs(golden_run: GoldenRun) -> None:
    result = golden_run("plan-built-in-json", "plan", "--sessions", "500", "--json")
    plan = json.loads(result.stdout)
    assert sum(cell["sessions"] for cell in plan["cells"]) == plan["sessions"] == 500
    assert len(plan["cells"]) == 5 * 4


def test_the_plan_of_a_new_project(project: Path, golden_run: GoldenRun) -> None:
    golden_run("plan-template", "plan")


@pytest.mark.slow
def test_a_dry_run_is_the_plan(project: Path, matrix: Matrix) -> None:
    args = ("--sessions", "7")
    assert matrix("run", "--dry-run", *args) == matrix("plan", *args)
    assert not (project / "results").exists()


@pytest.mark.parametrize("sessions", [1, 4, 7, 4001])
def test_any_number_of_sessions_is_planned_exactly(project: Path, sessions: int) -> None:
    plan: Any = plan_as_data(api.plan(project, sessions=sessions))
    counts = [cell["sessions"] for cell in plan["cells"]]
    assert sum(counts) == plan["sessions"] == sessions
    assert plan["rounds"] == -(-sessions // 4)
    assert counts == sorted(counts, reverse=True), "a partial round plays its first cells"
    assert max(counts) - min(counts) <= 1


def test_the_estimate_is_an_interval_around_its_middle_in_the_whole_and_by_role(
    project: Path,
) -> None:
    plan: Any = plan_as_data(api.plan(project))
    for amount in (plan["estimate_usd"], *plan["estimate_by_role_usd"].values()):
        assert 0 < amount["low"] <= amount["middle"] <= amount["high"]
    by_role = sum(amount["middle"] for amount in plan["estimate_by_role_usd"].values())
    assert by_role <= plan["estimate_usd"]["middle"] < 1.2 * by_role


def test_a_huge_plan_is_expanded_without_listing_its_sessions(here: Path, matrix: Matrix) -> None:
    plan = planned(matrix, "--per-cell", "400000")
    assert plan["sessions"] == 8_000_000


# --- what goes over what --------------------------------------------------------------------------


def test_flags_go_over_settings_over_variables_over_the_file(project: Path, matrix: Matrix) -> None:
    spec = project / "matrix.yaml"
    spec.write_text(spec.read_text().replace("seed: 1", "seed: 10"))
    variables = {
        "MATRIX_NAME": "variable",
        "MATRIX_AT_CAP": "whole-rounds",
        "MATRIX_MAX_COST": "7",
        "MATRIX_SEED": "",
    }
    settings = ("--set", "at_cap=spend-all", "--set", "limits.cost_usd=8")
    plan = planned(matrix, *settings, "--max-cost", "9", variables=variables)
    assert plan["seed"] == 10, "the file; an empty variable says nothing"
    assert plan["name"] == "variable", "over the file's my-prompts"
    assert plan["at_cap"] == "spend-all", "a setting over a variable"
    assert plan["cap_usd"] == 9, "a flag over a setting, a variable and the file"


@pytest.mark.slow
def test_saying_the_number_one_way_takes_back_what_a_lower_layer_said_the_other_way(
    project: Path, matrix: Matrix
) -> None:
    assert planned(matrix, "--sessions", "6")["sessions"] == 6, "the file says per_cell"
    variables = {"MATRIX_SESSIONS": "6"}
    assert planned(matrix, "--per-cell", "3", variables=variables)["sessions"] == 12


def test_a_model_is_put_behind_one_role_or_all(project: Path, matrix: Matrix) -> None:
    args = ("--model", "all=sim/haiku", "--model", "judge=sim/opus")
    spec = project / "matrix.yaml"
    spec.write_text(spec.read_text().partition("roles:")[0])
    roles = planned(matrix, *args)["cells"][0]["roles"]
    assert roles.pop("judge") == "sim/opus"
    assert set(roles.values()) == {"sim/haiku"}
