"""Where a run is played if nobody says it: in this process what is over before Ray would be up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix import api
from matrix.engine.executors.executor import (
    CLUSTER_VARIABLES,
    OWN_CALL_S,
    RAY_START_S,
    ExecutorChoice,
    chosen,
)
from matrix.engine.prepare.estimate import TimeInterval
from matrix.engine.prepare.prepared import Prepared
from tests.cli.program import run_program

NONE: dict[str, str] = {}


@pytest.fixture(scope="module")
def simulated() -> Prepared:
    return api.plan(overrides=[])


def long(prepared: Prepared, sessions: int, seconds: float = 0.0) -> Prepared:
    plan = replace(prepared.plan, sessions=sessions)
    return replace(prepared, plan=plan, time=TimeInterval(seconds, seconds, seconds))


def name_of(prepared: Prepared, choice: str | ExecutorChoice = "auto", **more: str) -> str:
    return chosen(prepared, choice, more)[0].name


@given(sessions=st.integers(1, 10_000))
def test_what_is_played_here_is_over_before_ray_is_up(simulated: Prepared, sessions: int) -> None:
    own = OWN_CALL_S * simulated.calls_each * sessions
    choice, why = chosen(long(simulated, sessions), "auto", NONE)
    assert choice.name == ("in-process" if own <= RAY_START_S else "ray")
    assert bool(why) == (choice.name == "in-process")


def test_a_small_run_is_played_here_and_five_hundred_sessions_on_ray(simulated: Prepared) -> None:
    assert name_of(long(simulated, 8)) == "in-process"
    assert name_of(long(simulated, 40)) == "in-process"
    assert name_of(long(simulated, 500)) == "ray"


@pytest.mark.parametrize(("seconds", "name"), [(5.0, "in-process"), (60.0, "ray"), (0.0, "ray")])
def test_real_models_go_by_the_time_they_take_and_by_none_that_is_not_known(
    simulated: Prepared, seconds: float, name: str
) -> None:
    entry = next(iter(simulated.models.values()))
    real = replace(
        long(simulated, 1, seconds), models={"gpt": entry._replace(provider="litellm", asks=())}
    )
    assert not real.play_money
    assert name_of(real) == name


def test_simulated_sessions_of_which_nobody_knows_the_calls_are_played_here_too(
    simulated: Prepared,
) -> None:
    unknown = replace(simulated, calls_each=0.0)
    assert name_of(long(unknown, 40)) == "in-process"
    assert name_of(long(unknown, 5_000)) == "ray"


def test_who_names_a_cluster_or_workers_means_ray(simulated: Prepared) -> None:
    small = long(simulated, 1)
    assert name_of(small, ExecutorChoice("auto", address="auto")) == "ray"
    assert name_of(small, ExecutorChoice("auto", workers=2)) == "ray"
    for variable in CLUSTER_VARIABLES:
        assert name_of(small, **{variable: "10.0.0.5:6379"}) == "ray"


@pytest.mark.parametrize("name", ["ray", "in-process"])
@pytest.mark.parametrize("sessions", [1, 10_000])
def test_a_name_that_is_given_stands(simulated: Prepared, name: str, sessions: int) -> None:
    assert chosen(long(simulated, sessions), name, NONE) == (ExecutorChoice(name), "")


def test_a_name_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    done = run_program(tmp_path, "run", "--sessions", "1", "--executor", "in-proces")
    assert done.code == 2
    assert "found 'in-proces'; installed: auto, in-process, ray" in done.stderr
    assert "did you mean 'in-process'" in done.stderr
    assert not (tmp_path / "results").exists()
