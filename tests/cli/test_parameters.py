"""Parameters of calls on the command line: as factors, in plans, in replays and branches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from matrix import api
from matrix.store.reading.reader import RunTables
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
    return folder, run_program(
        folder, "run", "--executor", "in-process", "--run-id", "first", "--quiet"
    )


def cost_of(folder: Path, run: str, factor: str) -> dict[str, float]:
    sessions = api.open_run(run, results=folder / "results").sessions()
    return dict(sessions.groupby(factor, observed=True)["cost_usd"].mean())


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_moment_is_played_again_with_another_parameter(counted: tuple[Path, Result]) -> None:
    folder, _ = counted
    args = ("first", "worst", "--turn", "2", "--executor", "in-process", "--quiet", "--run-id")
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


@pytest.mark.slow
def test_a_factor_that_reaches_the_judge_is_warned_of(here: Path, matrix: Matrix) -> None:
    everywhere = matrix("plan", "--set", "factors.effort=[low, high]")
    told = " ".join(everywhere.stdout.split())
    assert "WARNING effort also changes classifier and judge, by which variants" in told
    one = matrix("plan", "--set", "factors.narrator.effort=[low, high]")
    assert one.code == 0, one.stderr
    assert "also changes" not in one.stdout
    assert "narrator.effort" in one.stdout


def mistakes_of(here: Path, **spec: object) -> list[str]:
    (here / "one.yaml").write_text(yaml.safe_dump({**SPEC, **spec}))
    return [str(mistake) for mistake in api.validate(here / "one.yaml")]


def test_levels_that_would_reach_no_call_are_a_mistake(here: Path) -> None:
    own = {"counter": {"temperature": 0.3}}
    (said,) = mistakes_of(here, params=own, factors={"temperature": [0.4, 0.5]})
    assert "factors.temperature: reaches no call" in said
    both = {"counter.temperature": [0.4, 0.5], "temperature": [0.6, 0.7]}
    (said,) = mistakes_of(here, params={}, factors=both)
    assert "factors.temperature: reaches no call" in said
    assert mistakes_of(here, params=own, factors={"counter.temperature": [0.4, 0.5]}) == []


def test_a_level_of_a_role_goes_over_what_the_spec_says_of_it(here: Path) -> None:
    factors = {"counter.temperature": [0.4, 0.5]}
    (here / "one.yaml").write_text(yaml.safe_dump({**SPEC, "factors": factors}))
    cells = api.plan(here / "one.yaml").plan.cells
    assert [cell.params["counter"]["temperature"] for cell in cells] == [0.4, 0.5]


def test_dearer_tiers_are_refused_wherever_they_hide(here: Path) -> None:
    hidden = {"counter": {"extra_body": {"service_tier": "priority"}}}
    (said,) = mistakes_of(here, params=hidden)
    assert "extra_body" in said
    assert "service_tier" in said


def test_a_model_that_reasons_takes_no_other_temperature_at_anthropic(here: Path) -> None:
    said = mistakes_of(
        here,
        roles={"counter": "anthropic/claude-opus-4-5"},
        params={"all": {"temperature": 0.7}},
    )
    assert len(said) == 1
    assert "takes no temperature but 1 while it reasons" in said[0]


def test_a_plan_says_what_its_cap_carries_and_which_model_needs_room(here: Path) -> None:
    spec = {
        **SPEC,
        "roles": {"counter": "openai/gpt-5"},
        "factors": {"step": [1, 2]},
        "params": {},
        "per_cell": 500,
        "limits": {"cost_usd": 0.01},
    }
    (here / "one.yaml").write_text(yaml.safe_dump(spec))
    done = run_program(here, "plan", "one.yaml", variables={"OPENAI_API_KEY": "sk-none"})
    told = " ".join(done.stdout.split())
    assert "above its cap of $0.01: about" in told, done.stderr
    assert "openai/gpt-5 may reason before it answers" in told
    assert "params.counter.effort" in told
