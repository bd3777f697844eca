"""What a branch may cost: how often it is played, its estimate, and a cap that is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix import api
from matrix.api import Run
from matrix.model.documents.overrides import from_flags
from tests.branching.looking import ids

VARIANTS = {"step": [1, 4]}
WHERE = "events.kind == 'counted' and events.turn >= 2"
"""Every moment of every session but its start: 30 of them, five in each of six sessions."""


def branched(parent: Run, results: Path, max_cost: float | None = None) -> Run:
    return parent.branch(
        where=WHERE,
        variants=VARIANTS,
        times=1,
        max_cost=max_cost,
        results=results,
        executor="in-process",
        overrides=from_flags({"open_sessions": 4}),
    )


def cost_of_moments(run: Run) -> list[int]:
    """What each moment's sessions cost, in launch order, in nano-dollars."""
    return [int(cost) for cost in run.sessions().groupby("round")["cost_nano"].sum()]


def test_a_branch_from_one_moment_is_played_ten_times_and_from_many_once(counter: Run) -> None:
    one = api.plan_branch(counter.path, ids(counter)[0], turn=3, variants=VARIANTS)
    many = api.plan_branch(counter.path, where=WHERE, variants=VARIANTS)
    continued = [planned.continuation.prepared.plan.continued for planned in (one, many)]
    assert [None if each is None else each.repeats for each in continued] == [10, 1]


@pytest.mark.slow
def test_a_branch_is_expected_to_cost_only_what_is_left_of_its_sessions(
    counter: Run, tmp_path: Path
) -> None:
    planned = api.plan_branch(counter.path, where=WHERE, variants=VARIANTS)
    estimate = planned.continuation.prepared.estimate
    spent = sum(cost_of_moments(branched(counter, tmp_path)))
    whole, spent_whole = counter.file.estimate, counter.summary().spent_nano
    assert whole is not None
    dearer = whole.middle / spent_whole  # what the kind's profile makes of any session
    assert estimate.middle == pytest.approx(spent * dearer, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.35, 0.6, 0.85])
def test_a_branch_starts_every_moment_that_fits_under_its_cap(
    counter: Run, tmp_path: Path, share: float
) -> None:
    costs = cost_of_moments(branched(counter, tmp_path / "whole"))
    cap = round(sum(costs) * share / 1e3) / 1e6
    capped = branched(counter, tmp_path / "capped", max_cost=cap)
    rows = capped.sessions()
    played = rows[rows["outcome"] == "completed"]["round"].nunique()
    spent = int(rows["cost_nano"].sum())
    assert capped.file.end_reason == "cap"
    assert spent <= cap * 1e9
    assert cap * 1e9 - spent < 1.2 * costs[played], "the next moment would not have fitted"
    assert played == rows["round"].nunique() - (rows["outcome"] == "censored").sum() / 2
