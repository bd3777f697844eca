"""`matrix report --explain`: a priced pass over failures, paid once, kept with the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import matrix as python_api
from matrix.model.errors import BadInput, StoreError
from tests.cli.program import GoldenRun, Matrix


def explanations(here: Path) -> list[Path]:
    return sorted((here / "results").glob("first-explained-*"))


@pytest.mark.long
@pytest.mark.slow
def test_what_it_takes_is_said_first_and_the_groups_are_in_every_report(
    finished: Path, golden_run: GoldenRun, matrix: Matrix
) -> None:
    said = golden_run("explain", "report", "first", "--explain", "sim/opus-4.5")
    assert said.code == 0
    page = (finished / "results/first/report.html").read_text()
    assert "What a model makes of it" in page
    assert "a model&#39;s reading and no evidence" in page
    for form in ("md", "github"):
        told = matrix("report", "first", "--format", form).stdout
        assert "sim/opus-4.5" in told
        assert " turn " in told, "groups cite sessions and turns"
    assert "What a model makes of it" not in matrix("report", "first", "--session", "worst").stdout


@pytest.mark.long
@pytest.mark.slow
def test_the_same_failures_are_paid_for_once(finished: Path, matrix: Matrix) -> None:
    assert matrix("report", "first", "--explain", "sim/opus-4.5").code == 0
    (made,) = explanations(finished)
    spent = python_api.open_run(made).file.totals
    again = matrix("report", "first", "--explain", "sim/opus-4.5")
    assert "nothing is asked" in again.stderr
    assert explanations(finished) == [made]
    assert python_api.open_run(made).file.totals == spent
    (finished / "results/first/explanation.json").unlink()
    assert matrix("report", "first", "--explain", "sim/opus-4.5").code == 0
    assert (finished / "results/first/explanation.json").is_file()
    assert python_api.open_run(made).file.totals == spent


@pytest.mark.slow
def test_a_pass_that_its_cap_stopped_goes_on_with_what_it_has_paid(here: Path) -> None:
    rows = [f"q{n},{m},,Timeout {n % 3},{'words ' * 300}" for n in range(15) for m in "ab"]
    (here / "r.csv").write_text("\n".join(["id,model,score,error,output", *rows, "z,a,1,,", ""]))
    parent = python_api.import_results(here / "r.csv", results=here / "results", run_id="first")
    with pytest.raises(StoreError, match="goes on where it was"):
        python_api.explain(parent, "sim/opus-4.5", max_cost=0.18)
    (made,) = explanations(here)
    before = python_api.open_run(made).frame("calls")
    assert 0 < before.answered.sum() < 3
    found = python_api.explain(parent, "sim/opus-4.5", max_cost=5.0)
    run = python_api.open_run(made)
    calls = run.frame("calls")
    assert sorted(calls[calls.answered].turn) == [1, 2, 3]  # none was asked twice
    assert calls.cost_nano.sum() == found.cost_nano
    assert found.read == sum(len(group.sessions) for group in found.groups) == 30
    assert {group.label for group in found.groups} == {"error"}


@pytest.mark.slow
def test_money_is_not_spent_unasked_nor_without_a_cap(finished: Path, matrix: Matrix) -> None:
    bare = matrix("report", "first", "--explain", "gpt-4o-mini")
    assert bare.code == 2
    assert "--max-cost: say how much it may spend" in bare.stderr
    unasked = matrix("report", "first", "--explain", "gpt-4o-mini", "--max-cost", "0.5")
    assert unasked.code == 2
    assert "money is not spent unasked; nothing was sent" in unasked.stderr
    assert "is sent to whoever serves it" in unasked.stderr
    assert matrix("report", "first", "--max-cost", "1").code == 2
    assert matrix("report", "first", "--explain", "sim/opus-4.5", "--below", "nan").code == 2
    assert explanations(finished) == []


@pytest.mark.slow
def test_the_newest_run_is_the_one_that_was_explained(finished: Path, matrix: Matrix) -> None:
    assert matrix("report", "last", "--explain", "sim/opus-4.5").code == 0
    assert matrix("show", "last").stdout.startswith("run first ")
    assert "explanation" in matrix("list").stdout


@pytest.mark.slow
def test_every_session_that_is_cited_is_in_the_run(finished: Path) -> None:
    found = python_api.explain(finished / "results/first", "sim/opus-4.5", below=80.0)
    sessions = python_api.open_run(finished / "results/first").sessions().set_index("session_id")
    cited = [one for group in found.groups for one in group.sessions]
    assert cited
    assert all(0 <= one.turn <= sessions.turns[one.session] for one in cited)
    assert found.dropped == ()


@pytest.mark.slow
def test_a_strangers_explanation_is_text_and_a_broken_one_is_none(
    finished: Path, matrix: Matrix
) -> None:
    python_api.explain(finished / "results/first", "sim/opus-4.5")
    file = finished / "results/first/explanation.json"
    found = json.loads(file.read_text())
    found["groups"][0]["label"] = "<script>alert(1)</script>\n# **done**"
    file.write_text(json.dumps(found))
    assert matrix("report", "first").code == 0
    page = (finished / "results/first/report.html").read_text()
    assert "<script>alert" not in page
    assert "\n# **done" not in matrix("report", "first", "--format", "md").stdout
    file.write_text('{"format": 7}')
    assert matrix("report", "first", "--format", "md").code == 0


@pytest.mark.slow
def test_a_folder_of_its_name_that_is_somebody_elses_is_not_believed(
    finished: Path, matrix: Matrix
) -> None:
    python_api.explain(finished / "results/first", "sim/opus-4.5")
    file = explanations(finished)[0] / "run.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "mark": ""}))
    with pytest.raises(BadInput, match="no explanation that you made here"):
        python_api.explain(finished / "results/first", "sim/opus-4.5")
