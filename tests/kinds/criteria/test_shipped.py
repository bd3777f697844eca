"""The shipped chain: it passes as it is, and ten prompts that lost something each fail."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.planted import REGRESSIONS, measure, with_regressions
from tests.executors.programs import Project

RUNS = Path("scenarios/runs")
PROMPTS = Path("scenarios/criteria/prompts")


def report_of(project: Project, *command: str) -> tuple[int, Any]:
    done = project.matrix(*command, "--executor", "in-process", "--run-id", "it", "--quiet")
    return done.code, json.loads((project.folder / "reports/criteria/it.json").read_text())


@pytest.mark.slow
def test_the_pilot_and_the_whole_chain_pass(tmp_path: Path) -> None:
    code, report = report_of(Project(tmp_path), "run", "criteria-pilot")
    assert (code, report["summary"]["passed"]) == (0, 6)
    shutil.rmtree(tmp_path / "results")
    code, report = report_of(Project(tmp_path), "run", "criteria")
    assert code == 0, report["summary"]
    found = report["summary"]
    assert found["cells"] + found["skipped"] == 13 * 5
    assert found["passed"] == found["cells"]
    assert set(report["by_category"]) == {"Web app", "CLI", "API", "Marketplace", "Mobile"}


@pytest.mark.slow
def test_a_conditional_agent_runs_exactly_where_the_one_before_says_so(tmp_path: Path) -> None:
    _, report = report_of(Project(tmp_path), "run", "criteria", "--seed", "3")
    ran = []
    for session in report["sessions"]:
        cells = {cell["agent"]: cell for cell in session["agents"]}
        high = "Overall risk: HIGH" in cells["startup_validator"]["output"]
        assert cells["pivot_strategy"]["ran"] is high
        ran.append(high)
    assert set(ran) == {True, False}


@pytest.mark.slow
def test_ten_prompts_that_lost_an_instruction_each_fail_on_every_input(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(yaml.safe_dump(with_regressions()))
    code, report = report_of(Project(tmp_path), "run", "agents.yaml")
    assert code == 3
    clean = [one for one in report["sessions"] if one["levels"]["variant"] == "as-written"]
    assert len(clean) == 5
    assert all(cell["verdict"] != "FAIL" for one in clean for cell in one["agents"])
    for agent in REGRESSIONS:
        sessions = [one for one in report["sessions"] if one["levels"]["variant"] == agent]
        assert len(sessions) == 5
        for session in sessions:
            (cell,) = [cell for cell in session["agents"] if cell["agent"] == agent]
            assert cell["verdict"] == "FAIL", (agent, cell["output"])
            assert agent in session["began_with"]


@pytest.mark.slow
def test_planted_labels_go_through_the_check_of_labels() -> None:
    told = measure("sim/gpt-4o-mini", "sim/gpt-4o-mini", None)
    assert "fails wrongly   0 of" in told
    assert "passes wrongly  0 of 50 " in told
    assert "wrong failures  0 of 50 " in told


@pytest.mark.parametrize(("spec", "most"), [("criteria-pilot", 1.0), ("criteria", 10.0)])
def test_it_is_within_its_cap_on_dear_models(spec: str, most: float, tmp_path: Path) -> None:
    done = Project(tmp_path).matrix("plan", spec, "--model", "all=sim/opus-4.5", "--json")
    assert done.code == 0, done
    told = json.loads(done.out)
    assert told["estimate_usd"]["high"] <= most
    assert told["cap_usd"] == most


def test_nothing_is_keyed_to_the_names_and_words_of_the_shipped_chain(tmp_path: Path) -> None:
    value = {
        "inputs": {"a": "Boats for hire on a lake", "b": "Letters that a robot writes by hand"},
        "agents": {
            "planner": {
                "prompt": "Plan.\n\n- `## Rooms`: five of them, numbered `ROOM-10`, with `Door`\n"
                "- `## Verdict`: one of `YES` or `NO`",
                "criteria": [
                    "`## Rooms` has at least five lines",
                    "Every line of `## Rooms` has a `Door`",
                    "Each `ROOM-*` is unique",
                    "`## Verdict` is one of `YES` or `NO`",
                ],
            },
            "checker": {
                "prompt": "Check.\n\n- `## Report`: one line for each `ROOM-*`, with `of:ROOM-*`",
                "reads": "planner",
                "criteria": [
                    "Each `of:ROOM-*` names one that was given",
                    "`## Costs` says what each room costs",
                ],
            },
        },
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(value))
    code, report = report_of(Project(tmp_path), "run", "mine.yaml")
    assert code == 3
    for session in report["sessions"]:
        planner, checker = session["agents"]
        assert planner["verdict"] == "PASS", planner
        assert [one["met"] for one in checker["criteria"]] == [True, False]
        assert "**ROOM-10**" in planner["output"]


@pytest.mark.slow
def test_a_run_that_its_cap_ended_is_resumed_to_the_same_end(tmp_path: Path) -> None:
    for name, more in (("whole", ()), ("cut", ("--max-cost", "0.002"))):
        folder = tmp_path / name
        folder.mkdir()
        project = Project(folder)
        done = project.matrix(
            "run",
            "criteria",
            *more,
            "--executor",
            "in-process",
            "--run-id",
            "it",
            "--quiet",
            "--record",
        )
        if more:
            assert done.code == 4, done
            done = project.matrix(
                "resume", "it", "--max-cost", "10", "--executor", "in-process", "--quiet"
            )
        assert done.code == 0, done
    whole, cut = (
        json.loads((tmp_path / name / "reports/criteria/it.json").read_text())
        for name in ("whole", "cut")
    )
    assert whole["sessions"] == cut["sessions"]
    recorded = [
        (tmp_path / name / "criteria.recorded.json").read_text() for name in ("whole", "cut")
    ]
    assert json.loads(recorded[0])["outputs"] == json.loads(recorded[1])["outputs"]
