"""A plan that looks once may declare that it looks where the cap ends it; else a cap is no reason.

Looking at every cap and adding rounds names a false winner .08 to .16 of the time; one declared
look, at rounds that scores had no part in choosing, errs as often as it says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from matrix.store.journal.journal import newest_look
from tests.executors.programs import Project, counter_spec

ROUNDS = 30
TOO_LITTLE, TIGHT, AMPLE = "0.0001", "0.0004", "5"
"""Dollars that end the run before ten rounds, between there and the plan's end, and never."""


def project_of(folder: Path, **compare: Any) -> Project:
    project = Project(folder)
    compare = {"failure_margin": 50.0} | compare
    options, limits = {"turns": 3}, {"cost_usd": 5, "open_sessions": 2}
    project.write(counter_spec(per_cell=ROUNDS, compare=compare, options=options, limits=limits))
    return project


def compared(project: Project) -> dict[str, Any]:
    done = project.matrix("compare", "it", "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.mark.slow
def test_a_declared_look_at_the_cap_is_made_once_and_its_verdict_stands(tmp_path: Path) -> None:
    project = project_of(tmp_path, look_at_cap=True)
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--max-cost", TIGHT)
    assert done.code == 4, done.err
    look = newest_look(project.path("it"))
    assert look is not None
    assert 10 <= look.rounds < ROUNDS
    when = f"after round {look.rounds} of {ROUNDS}"
    first = compared(project)
    assert first["verdict"] == look.decided == "winner"
    assert first["rounds"]["used"] == look.rounds
    assert f"looked at the cap, {when}: {first['sentence']}" in " ".join(done.err.split())
    assert f"at the cap, {when}: winner" in done.out
    assert f"ended the plan after {look.rounds} rounds of {ROUNDS}" in first["cautions"][0]

    for cap, code in (("0.0005", 4), (AMPLE, 0)):
        again = project.matrix("resume", "it", "--executor", "in-process", "--max-cost", cap)
        assert again.code == code, again.err
        assert "looked at the cap" not in again.err
        later = compared(project)
        assert newest_look(project.path("it")) == look
        for same in ("verdict", "sentence", "pairs", "rounds"):
            assert later[same] == first[same]
    since = ROUNDS - look.rounds
    assert f"{since} rounds played since are not in it" in later["cautions"][0]
    assert [one["ended"] for one in later["variants"]] == [ROUNDS, ROUNDS]


@pytest.mark.slow
def test_nothing_is_looked_at_below_ten_rounds_nor_when_the_plan_is_over(tmp_path: Path) -> None:
    project = project_of(tmp_path, look_at_cap=True)
    done = project.matrix(
        "run", "--executor", "in-process", "--run-id", "it", "--max-cost", TOO_LITTLE
    )
    assert done.code == 4, done.err
    assert newest_look(project.path("it")) is None
    assert compared(project)["verdict"] == "not_enough_data"
    assert project.matrix("resume", "it", "--executor", "in-process", "--max-cost", AMPLE).code == 0
    assert newest_look(project.path("it")) is None
    assert compared(project)["rounds"]["used"] == ROUNDS


@pytest.mark.slow
def test_a_cap_is_no_reason_for_a_verdict_where_none_was_declared(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    done = project.matrix("run", "--executor", "in-process", "--run-id", "it", "--max-cost", TIGHT)
    assert done.code == 4, done.err
    assert newest_look(project.path("it")) is None
    assert compared(project)["reasons"][0] == "plan not over"


def test_a_plan_that_is_looked_at_anyway_or_compares_nothing_cannot_declare_it(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.write(
        counter_spec(per_cell=20, stop="when-decided", compare={"look_at_cap": True}, factors={})
    )
    done = project.matrix("validate")
    assert done.code == 2
    said = " ".join(done.err.split())
    assert "compare.look_at_cap: planned looks after every round anyway" in said
    assert "compare.look_at_cap: needs a factor with at least two levels" in said
