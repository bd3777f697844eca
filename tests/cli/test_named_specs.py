"""Run specs that go by a name: the shipped sizes, and a project's own."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from matrix import api
from matrix.engine.wire.providers import SIMULATED
from matrix.kinds.library import shipped_root
from matrix.model.errors import BadInput
from matrix.report.planning.plan import plan_as_text
from matrix.report.planning.plan_power import power_facts
from tests.cli.program import GoldenRun, Matrix

SIZES = {"smoke": 5, "mini": 20, "standard": 100, "full": 300}
RUNS = shipped_root() / "scenarios" / "runs"
SMALL = "scenarios: [put-it-back]\nfactors: {prompt: [baseline]}\nper_cell: 1\n"


def comment_of(name: str) -> str:
    """The comment that a shipped spec begins with, as one line."""
    lines = (RUNS / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))


@pytest.mark.parametrize("name", SIZES)
def test_a_shipped_size_has_as_many_sessions_as_it_says_on_real_models(name: str) -> None:
    prepared = api.plan(name)
    assert prepared.plan.sessions == SIZES[name]
    assert SIMULATED not in {entry.provider for entry in prepared.models.values()}
    assert prepared.estimate.high <= prepared.spec.limits.cost_usd * 1e9, "it fits under its cap"


@pytest.mark.parametrize("name", [name for name in SIZES if name != "smoke"])
def test_every_size_above_smoke_has_the_rounds_of_a_verdict(name: str) -> None:
    assert api.plan(name).plan.rounds == 10


@pytest.mark.parametrize("name", ["builtin", *(name for name in SIZES if name != "smoke")])
def test_every_shipped_size_that_compares_can_name_a_winner(name: str) -> None:
    facts = dict(power_facts(api.plan(RUNS / f"{name}.yaml")))
    assert facts.keys() == {"can show", "a winner"}, "no warning"


@pytest.mark.parametrize("name", SIZES)
def test_what_a_shipped_spec_says_of_cost_and_time_is_what_its_plan_prints(name: str) -> None:
    text = " ".join(plan_as_text(api.plan(name)).split())
    money = re.search(r"estimate (\$\S+, from \$\S+ to \$\S+) ", text)
    time = re.search(r"time (about \d+ \w+, if no rate limit binds)", text)
    assert money is not None
    assert time is not None
    assert f"Expected: {money[1]}; {time[1]}." in comment_of(name)


@pytest.mark.parametrize("name", SIZES)
def test_the_schema_accepts_every_shipped_spec(name: str) -> None:
    jsonschema.validate(yaml.safe_load((RUNS / f"{name}.yaml").read_text()), api.schema())


def test_the_four_player_models_and_three_narrators_are_all_in_the_full_size() -> None:
    models = set(api.plan("full").models)
    assert models >= {"kimi-k2", "qwen", "deepseek", "grok"}
    assert models >= {"opus-4.5", "grok-4", "deepseek-r2"}


@pytest.mark.slow
def test_a_name_is_a_spec_for_every_command_that_takes_one(
    matrix: Matrix, golden_run: GoldenRun
) -> None:
    assert golden_run("plan-mini", "plan", "mini").code == 0
    assert matrix("validate", "mini").stdout == "fine: nothing wrong found\n"
    assert "mini: " in matrix("run", "mini", "--dry-run").stdout


@pytest.mark.slow
def test_a_name_means_the_projects_own_spec_before_a_shipped_one(
    here: Path, matrix: Matrix
) -> None:
    (here / "scenarios" / "runs").mkdir(parents=True)
    (here / "scenarios" / "runs" / "mini.yaml").write_text(SMALL)
    assert api_sessions(matrix, "mini") == 1
    (here / "mini.yaml").write_text(SMALL.replace("per_cell: 1", "per_cell: 2"))
    assert api_sessions(matrix, "mini") == 2


def api_sessions(matrix: Matrix, name: str) -> int:
    found = re.search(r"sessions +([\d,]+) = ", matrix("plan", name).stdout)
    assert found is not None
    return int(found[1])


def test_a_spec_among_a_projects_runs_finds_the_projects_packs(project: Path) -> None:
    runs = project / "scenarios" / "runs"
    runs.mkdir()
    (runs / "own.yaml").write_text(SMALL.replace("put-it-back", "the-borrowed-hour"))
    assert api.validate(runs / "own.yaml") == []


def test_an_unknown_name_says_which_there_are(here: Path, golden_run: GoldenRun) -> None:
    assert golden_run("plan-no-such-name", "plan", "standart").code == 2


def test_a_shipped_spec_finds_its_own_five_stories_in_any_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert api.plan("standard").plan.sessions == SIZES["standard"]


def test_a_path_is_never_taken_for_a_name(here: Path) -> None:
    for path in ("mini.yaml", "runs/mini", here / "mini"):
        with pytest.raises(BadInput, match="no such file; `matrix init`"):
            api.plan(path)
