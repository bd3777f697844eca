"""Caps of a role and of a session: what they stopped is named, and what they ended has no score."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from matrix import api
from tests.cli.program import Matrix

SPEC = {
    "name": "capped",
    "kind": "counter",
    "scenarios": ["one"],
    "factors": {"step": [1, 2]},
    "options": {"turns": 10},
    "per_cell": 10,
    "at_cap": "spend-all",
    "limits": {"cost_usd": 5, "role_usd": {"counter": 0.0004}, "open_sessions": 4},
}
RUN = ("run", "--executor", "in-process", "--run-id", "it")
REMEDY = "matrix resume it --set limits.role_usd.counter=USD"


@pytest.fixture
def capped(here: Path) -> Path:
    (here / "matrix.yaml").write_text(yaml.safe_dump(SPEC))
    return here


@pytest.mark.slow
def test_a_run_says_which_role_has_no_money_left_and_starts_nothing_more(
    capped: Path, matrix: Matrix
) -> None:
    done = matrix(*RUN)
    assert done.code == 4
    told = " ".join(done.stdout.split())
    assert "used up is the cap of role counter ($0.0004), so nothing more was started" in told
    held = r"cap of role counter: one call of \S+ is held at \$\S+, and \$\S+ is left"
    assert re.search(held, told)
    (line,) = [line for line in done.stdout.splitlines() if line.strip().startswith(REMEDY)]
    assert "--max-cost" not in line, "there is money left in the run's own cap"
    sessions = api.open_run("it", results=capped / "results").sessions()
    begun = sessions[sessions["turns"] > 0]
    assert len(begun) < len(sessions) == 20


@pytest.mark.slow
def test_the_remedy_goes_on_to_the_end(capped: Path, matrix: Matrix) -> None:
    matrix(*RUN, "--quiet")
    again = matrix("resume", "it", "--executor", "in-process", "--set", "limits.role_usd.counter=1")
    assert again.code == 0
    assert set(api.open_run("it", results=capped / "results").sessions()["outcome"]) == {
        "completed"
    }


WHOLE = ("--set", "at_cap=whole-rounds")


@pytest.mark.slow
def test_no_round_is_begun_whose_roles_cannot_be_paid(capped: Path, matrix: Matrix) -> None:
    planned = " ".join(matrix("plan", *WHOLE).stdout.split())
    assert "WARNING Role counter is expected to cost $0.00144, and limits.role" in planned
    done = matrix(*RUN, *WHOLE)
    sessions = api.open_run("it", results=capped / "results").sessions()
    assert set(sessions["turns"]) == {0, 10}, "cut short is none, the others were not begun"
    assert sessions["cost_usd"].sum() <= 0.0004
    told = " ".join(done.stdout.split())
    assert re.search(
        r"may cost up to \$\S+ on role counter, and \$\S+ is left of its cap of \$0.0004",
        told,
    )
    assert (done.code, f"{REMEDY} " in f"{told} ") == (4, True)
    again = matrix("resume", "it", "--executor", "in-process", "--set", "limits.role_usd.counter=1")
    assert again.code == 0
    assert "WARNING Role" not in matrix("plan", "--set", "limits.role_usd.counter=1").stdout


def test_a_cap_of_a_role_that_pays_for_no_round_is_a_mistake(capped: Path, matrix: Matrix) -> None:
    done = matrix("plan", *WHOLE, "--set", "limits.role_usd.counter=0.0001")
    assert done.code == 2
    assert "limits.role_usd.counter: a cap of $0.0001 is too small for role counter" in done.stderr


@pytest.mark.slow
def test_a_role_is_given_no_cap_below_what_it_has_spent(capped: Path, matrix: Matrix) -> None:
    matrix(*RUN, "--quiet")
    done = matrix(
        "resume", "it", "--executor", "in-process", "--set", "limits.role_usd.counter=0.0002"
    )
    assert done.code == 2
    assert "found $0.0002, but role counter has spent $0.000" in done.stderr


@pytest.mark.slow
def test_nothing_but_limits_can_be_set_when_a_run_is_resumed(capped: Path, matrix: Matrix) -> None:
    matrix(*RUN, "--quiet")
    done = matrix("resume", "it", "--executor", "in-process", "--set", "options.turns=3")
    assert done.code == 2
    assert "cannot change when a run is resumed" in done.stderr


@pytest.mark.slow
def test_sessions_that_their_own_cap_has_ended_are_not_scored(capped: Path, matrix: Matrix) -> None:
    own_cap = ("--set", "limits={cost_usd: 5, session_usd: 0.00004}")
    plan = " ".join(matrix("plan", *own_cap).stdout.split())
    assert "WARNING A session is expected to cost up to $7.20e-05" in plan
    done = matrix(*RUN, *own_cap)
    assert done.code == 1
    assert "nothing was scored: 20 of 20 sessions ended without a score" in done.stderr
    why = r"its own cap of \$\S+: one call of sim/\S+ is held at \$\S+, and \$\S+ is left"
    assert re.search(why, " ".join(done.stdout.split()))
    assert "WARNING A session" not in matrix("plan").stdout
