"""`--budget`: money over several runs, from the command line to the file that keeps it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from matrix import api
from matrix.model.errors import BadInput
from matrix.model.money import show_usd
from matrix.store.shared.budgets import BUDGETS_NAME
from tests.cli.program import GoldenRun, Matrix
from tests.cli.test_running import SMALL

SPEND_ALL = (*SMALL, "--at-cap", "spend-all", "--open-sessions", "2")


def drawn(matrix: Matrix) -> dict[str, Any]:
    (budget,) = json.loads(matrix("budgets", "--json").stdout)
    found: dict[str, Any] = budget
    return found


@pytest.mark.slow
def test_a_run_draws_what_it_spent_and_the_next_may_spend_what_is_left(
    project: Path, matrix: Matrix
) -> None:
    args = (*SPEND_ALL, "--budget", "nightly=0.12/day", "--yes")
    first = matrix(*args, "--per-cell", "1", "--run-id", "first")
    assert first.code == 0
    spent = api.open_run("first", results=project / "results").summary().spent_nano
    assert drawn(matrix)["drawn_usd"] == pytest.approx(spent / 1e9)
    second = matrix(*args, "--per-cell", "20", "--run-id", "second")
    assert second.code == 4, "it ends at the cap that the budget leaves it"
    assert "is left, so the run may spend no more than that" in second.stderr
    more = api.open_run("second", results=project / "results").summary().spent_nano
    assert 0 < more <= 120_000_000 - spent
    assert drawn(matrix)["drawn_usd"] == pytest.approx((spent + more) / 1e9)
    assert drawn(matrix)["name"] == "nightly (simulated)", "no real budget pays for these"


def test_a_run_is_refused_before_it_starts_when_the_budget_leaves_no_round(
    project: Path, golden_run: GoldenRun
) -> None:
    args = ("run", "--executor", "in-process", "--budget", "nightly=0.1/day", "--yes")
    assert golden_run("budget-too-small", *args).code == 2
    assert not list((project / "results").glob("*/run.json"))


@pytest.mark.slow
def test_a_resumed_run_draws_again_only_what_it_may_still_spend(
    project: Path, matrix: Matrix
) -> None:
    args = (*SPEND_ALL, "--budget", "nightly=1/day", "--per-cell", "4", "--yes", "--quiet")
    assert matrix(*args, "--max-cost", "0.05", "--run-id", "one").code == 4
    assert drawn(matrix)["drawn_usd"] <= 0.05
    assert matrix("resume", "--executor", "in-process", "--max-cost", "0.9", "--quiet").code == 0
    run = api.open_run("one", results=project / "results")
    assert drawn(matrix)["drawn_usd"] == pytest.approx(run.summary().spent_nano / 1e9)
    assert len(drawn(matrix)["draws"]) == 2


def test_a_budget_with_less_than_one_call_left_starts_nothing(
    project: Path, golden_run: GoldenRun
) -> None:
    args = ("--budget", "nightly=0.0001/day", "--run-id", "one", "--sessions", "2", "--yes")
    assert golden_run("budget-no-call", *SPEND_ALL, *args).code == 2
    assert not list((project / "results").glob("*/run.json"))


@pytest.mark.slow
def test_a_run_is_not_resumed_on_less_than_one_call(project: Path, matrix: Matrix) -> None:
    args = (*SPEND_ALL, "--budget", "nightly=1/day", "--per-cell", "4", "--yes", "--quiet")
    assert matrix(*args, "--max-cost", "0.05", "--run-id", "one").code == 4
    before = api.open_run("one", results=project / "results").file
    assert before.totals is not None
    left = before.totals.settled_nano / 1e9 + 0.00002
    again = ("resume", "one", "--executor", "in-process", "--max-cost", "0.9", "--quiet")
    result = matrix(*again, "--budget", f"nightly={left:.6f}/day")
    assert result.code == 2
    assert "and one call may cost $0.0" in result.stderr
    assert api.open_run("one", results=project / "results").file == before


@pytest.mark.slow
def test_a_run_is_not_resumed_under_less_than_it_has_spent(project: Path, matrix: Matrix) -> None:
    args = (*SPEND_ALL, "--per-cell", "4", "--yes", "--quiet", "--max-cost", "0.05")
    assert matrix(*args, "--run-id", "one").code == 4
    before = api.open_run("one", results=project / "results").file
    result = matrix("resume", "one", "--executor", "in-process", "--max-cost", "0.01", "--quiet")
    assert (result.code, result.stdout) == (2, "")
    spent = show_usd(before.totals.settled_nano) if before.totals else ""
    assert result.stderr.startswith(f"--max-cost: found $0.01, but run one has spent {spent}")
    assert api.open_run("one", results=project / "results").file == before


@pytest.mark.slow
def test_budgets_are_shown(project: Path, matrix: Matrix, golden_run: GoldenRun) -> None:
    assert golden_run("budgets-none", "budgets").code == 0
    matrix(*SMALL, "--sessions", "2", "--budget", "nightly=9/week", "--run-id", "one", "--quiet")
    assert golden_run("budgets", "budgets").code == 0


def test_a_budget_of_another_form_is_a_mistake_in_its_flag_or_line(
    project: Path, matrix: Matrix
) -> None:
    result = matrix("plan", "--budget", "nightly=5/fortnight")
    assert result.stderr.startswith("--budget: limits.budget: found 'nightly=5/fortnight'; write ")
    assert result.code == 2
    text = (project / "matrix.yaml").read_text()
    (project / "matrix.yaml").write_text(text.replace("limits:\n", "limits:\n  budget: x\n"))
    with pytest.raises(BadInput, match=r"^matrix\.yaml:\d+: limits\.budget: "):
        api.plan(project)


def test_the_doctor_says_what_a_budget_has_left(project: Path, matrix: Matrix) -> None:
    for amount, state in (("0.01", "missing"), ("900", "ok")):
        settings = ("--set", f"limits.budget=nightly={amount}/day")
        result = matrix("doctor", "--executor", "in-process", "--json", *settings)
        found = {f["what"]: f for f in json.loads(result.stdout)["findings"]}
        assert found["budget nightly (simulated)"]["state"] == state


@pytest.mark.slow
def test_a_run_that_was_stopped_between_its_end_and_its_budget_gives_back_what_it_left(
    project: Path, matrix: Matrix
) -> None:
    """As a kill at that moment leaves it: complete, and with its whole draw held."""
    args = ("--budget", "nightly=5/day", "--max-cost", "5", "--sessions", "2", "--yes", "--quiet")
    assert matrix(*SMALL, *args, "--run-id", "one").code == 0
    spent = drawn(matrix)["drawn_usd"]
    assert 0 < spent < 1
    with closing(sqlite3.connect(project / "results" / BUDGETS_NAME)) as db, db:
        db.execute("UPDATE draws SET amount = 5000000000, ended = NULL, settled = 0")
    assert drawn(matrix)["drawn_usd"] == pytest.approx(spent)
    assert matrix(*SMALL, *args, "--run-id", "two").code in (0, 4)
