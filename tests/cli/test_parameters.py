"""Parameters of calls on the command line: as factors, in plans, in replays and branches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from matrix import api
from matrix.store.reader import RunTables
from tests.cli.program import Matrix, Result, run_program

SPEC = {
    "name": "count",
    "kind": "counter",
    "scenarios": ["one"],
    "factors": {"counter.effort": ["low", "high"]},
    "params": {"counter": {"temperature": 0.5}},
    "options": {"turns": 4},
    "per_cell": 2,
    "limits": {"cost_usd": 10},
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("counted")
    (folder / "matrix.yaml").write_text(yaml.safe_dump(SPEC))
    return folder, run_program(folder, "run", "--in-process", "--run-id", "first", "--quiet")


def cost_of(folder: Path, run: str, factor: str) -> dict[str, float]:
    sessions = api.open_run(run, results=folder / "results").sessions()
    return dict(sessions.groupby(factor, observed=True)["cost_usd"].mean())


def test_a_parameter_of_one_role_is_a_factor_and_costs_what_it_costs(
    counted: tuple[Path, Result],
) -> None:
    folder, result = counted
    assert result.code == 0, result.stderr
    cost = cost_of(folder, "first", "counter.effort")
    assert cost["high"] > 3 * cost["low"], "simulated models reason longer, and that is output"
    calls = RunTables(folder / "results" / "first").frame("calls")
    assert calls.tokens_reasoning.gt(0).all()


def test_what_effort_costs_is_expected_before_the_start(
    counted: tuple[Path, Result],
) -> None:
    folder, _ = counted
    plan = json.loads(run_program(folder, "plan", "--json").stdout)
    for cell in plan["cells"]:
        effort = cell["levels"]["counter.effort"]
        assert cell["params"] == {"counter": {"temperature": 0.5, "effort": effort}}
        found = cost_of(folder, "first", "counter.effort")[effort]
        assert found / 2 < cell["session_usd"]["middle"] < found * 2


def test_a_moment_is_played_again_with_another_parameter(counted: tuple[Path, Result]) -> None:
    folder, _ = counted
    args = ("first", "worst", "--turn", "2", "--in-process", "--quiet", "--run-id")
    result = run_program(folder, "replay", *args, "more", "--set", "counter.effort=xhigh")
    assert result.code == 0, result.stderr
    sessions = api.open_run("more", results=folder / "results").sessions()
    assert list(sessions.changed) == ["counter.effort=xhigh"]
    result = run_program(folder, "branch", *args, "apart", "--variants", "effort=none,high")
    assert result.code == 0, result.stderr
    cost = cost_of(folder, "apart", "effort")
    assert cost["high"] > cost["none"]
    result = run_program(folder, "replay", *args, "no", "--set", "counter.efort=low")
    assert result.code == 2
    assert "takes no 'efort'; did you mean 'effort'?" in result.stderr


def test_a_factor_that_reaches_the_judge_is_warned_of(here: Path, matrix: Matrix) -> None:
    everywhere = matrix("plan", "--set", "factors.effort=[low, high]")
    told = " ".join(everywhere.stdout.split())
    assert "WARNING effort also changes classifier and judge, by which variants" in told
    one = matrix("plan", "--set", "factors.narrator.effort=[low, high]")
    assert one.code == 0, one.stderr
    assert "also changes" not in one.stdout
    assert "narrator.effort" in one.stdout
