"""Recorded outputs through the command line: each variant and round is judged on its own."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.executors.programs import Project
from tests.kinds.criteria.test_runs import FILE, agent, played, project_of

MINE = """
from matrix.agents import Reply

async def first(turn):
    asked = turn.messages[0].content
    if "BREAKS" in asked:
        raise ValueError("no")
    words = "" if "GOOD" in asked or turn.seed % 2 else ", it lacks alpha"
    return Reply(f"{asked} on {turn.prompt}, drawn {turn.seed}{words}", 0.0)
"""

READS = {"reads": "first"}

PAID = """
async def paid(turn):
    return Reply("alpha of " + turn.prompt, 0.01)
"""

CALLED = "async def first(turn):\n    raise SystemError('an agent was called')\n"

VALUE: dict[str, Any] = FILE | {
    "inputs": {name: f"an idea called {name}" for name in ("I1", "I2", "I3")},
    "agents": {"first": agent("first", prompt="BAD", criteria=["alpha is there"])},
    "variants": {"good": {"first": "GOOD"}},
}
PLAIN = {name: item for name, item in VALUE.items() if name != "variants"}


def recorded(
    folder: Path, value: dict[str, Any], *options: str, run_id: str = "before"
) -> tuple[Project, Any, Any]:
    """A project whose outputs are recorded, and whose agents must not be called again."""
    project = project_of(folder, value)
    judge = (folder / "mine.py").read_text().partition("FORM = ")
    (folder / "mine.py").write_text("import re\n" + MINE + judge[1] + judge[2])
    done, report = played(project, "--record", *options, run_id=run_id)
    (folder / "mine.py").write_text(
        f"import re\nfrom matrix.agents import Reply\n\n{CALLED}\n{judge[1]}{judge[2]}"
    )
    assert done.code in (0, 3), done
    return project, done, report


def cells(report: Any) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Variant, input, round and agent -> verdict and output."""
    return {
        (one["levels"].get("variant"), one["input"], one["round"], cell["agent"]): (
            cell["verdict"],
            cell["output"],
        )
        for one in report["sessions"]
        for cell in one["agents"]
    }


@pytest.mark.slow
def test_every_variant_and_round_is_judged_on_its_own_output(tmp_path: Path) -> None:
    project, done, before = recorded(tmp_path, VALUE, "--per-cell", "4")
    assert "24 outputs are recorded in agents.recorded.json" in done.out
    assert {word for word, _ in cells(before).values()} == {"PASS", "FAIL"}
    done, after = played(project, "--use-recorded", run_id="after")
    assert len(cells(after)) == 24
    assert cells(after) == cells(before)
    assert after["changed_since_recorded"] == []
    done, fewer = played(project, "--use-recorded", "--per-cell", "2", run_id="fewer")
    assert cells(fewer) == {key: one for key, one in cells(before).items() if key[2] < 2}


@pytest.mark.slow
def test_the_file_says_of_which_variant_and_round_an_output_is(tmp_path: Path) -> None:
    recorded(tmp_path, VALUE, "--per-cell", "2")
    told = json.loads((tmp_path / "agents.recorded.json").read_text())
    assert [(one["levels"], one["round"], one["input"]) for one in told["outputs"]] == [
        ({"variant": variant}, number, name)
        for variant in ("as-written", "good")
        for number in (0, 1)
        for name in ("I1", "I2", "I3")
    ]


@pytest.mark.slow
def test_levels_of_other_factors_that_change_outputs_count_and_the_judges_do_not(
    tmp_path: Path,
) -> None:
    value = PLAIN | {
        "agents": {"first": {"prompt": "Say it.", "criteria": ["alpha is there"]}},
        "factors": {"agent.temperature": [0, 1], "judge": ["judge", "sim/gpt-4o-mini"]},
    }
    project, done, _ = recorded(tmp_path, value)
    assert "6 outputs are recorded" in done.out
    told = json.loads((tmp_path / "agents.recorded.json").read_text())
    assert {one["levels"]["agent.temperature"] for one in told["outputs"]} == {"0", "1"}
    assert {len(one["levels"]) for one in told["outputs"]} == {2}
    done, after = played(project, "--use-recorded", run_id="after")
    assert len(after["sessions"]) == 12
    assert all(cell["source"] == "recorded" for one in after["sessions"] for cell in one["agents"])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("played_for", [1, 2, 3, 5])
def test_a_run_that_met_its_cap_leaves_a_whole_recording_as_it_is(
    tmp_path: Path, played_for: int
) -> None:
    """Wherever the cap cuts: before a session, or between the agents of a chain."""
    paid: dict[str, Any] = {
        "run": {"python": "mine:paid", "max_usd": 0.01},
        "prompt": "GOOD",
        "criteria": ["alpha is there"],
    }
    project = project_of(
        tmp_path, PLAIN | {"agents": {"first": paid, "last": deepcopy(paid) | READS}}
    )
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + PAID)
    done, _ = played(project, "--record", "--max-cost", "1", run_id="before")
    assert done.code == 0, done
    path = tmp_path / "agents.recorded.json"
    whole, cap = path.read_bytes(), f"{played_for * 0.01 + 0.001:.3f}"
    done, cut = played(project, "--record", "--max-cost", cap, "--open-sessions", "1", run_id="cut")
    assert done.code == 4, done
    assert any(not one["agents"] for one in cut["sessions"]) or len(cut["sessions"]) < 3
    assert "nothing is recorded, because not all was played: agents.recorded.json" in done.out
    assert path.read_bytes() == whole
    done = project.matrix("resume", "cut", "--max-cost", "1", "--executor", "in-process")
    assert done.code in (0, 3), done
    assert "6 outputs are recorded in agents.recorded.json" in done.out
    assert len(json.loads(path.read_text())["outputs"]) == 6


@pytest.mark.slow
@pytest.mark.parametrize("simulated", [True, False])
def test_outputs_of_simulated_models_stay_simulated_whoever_judges_them(
    tmp_path: Path, simulated: bool
) -> None:
    first = {"prompt": "Say it."} if simulated else agent("first", prompt="BAD")
    value = PLAIN | {"agents": {"first": {**first, "criteria": ["alpha is there"]}}}
    project, _, before = recorded(tmp_path, value)
    assert before["simulated"] is simulated
    done, after = played(project, "--use-recorded", run_id="after")
    assert after["simulated"] is simulated
    assert ("(simulated: recorded outputs)" in done.out) is simulated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (
            {"variants": {"other": {"first": "OTHER"}}},
            (),
            "nothing is recorded of first with I1, I2, I3 (variant other); recorded is "
            "variant as-written; variant good; --record",
        ),
        (
            {},
            ("--per-cell", "9"),
            "nothing is recorded of first with I1, I2, I3 (variant as-written) in rounds 3-9; "
            "--per-cell 2 asks for what is there, --record",
        ),
        (
            {"factors": {"agent.temperature": [0.5]}},
            (),
            "first with I1, I2, I3 (variant as-written, agent.temperature 0.5); recorded is",
        ),
    ],
)
def test_what_the_file_does_not_hold_is_refused_before_the_start(
    tmp_path: Path, change: dict[str, Any], options: tuple[str, ...], told: str
) -> None:
    project, _, _ = recorded(tmp_path, VALUE, "--per-cell", "2")
    (tmp_path / "agents.yaml").write_text(yaml.safe_dump(VALUE | change, sort_keys=False))
    done, report = played(project, "--use-recorded", *options, run_id="after")
    assert done.code == 2, done
    assert report is None
    assert told in done.err


@pytest.mark.slow
def test_one_output_of_each_is_judged_in_every_round_and_that_is_told(tmp_path: Path) -> None:
    project, _, _ = recorded(tmp_path, PLAIN)
    told = "one output of each agent and input is recorded, and judged in every round"
    planned = project.matrix("plan", "agents.yaml", "--use-recorded", "--per-cell", "3")
    assert told in " ".join(planned.out.split())
    done, after = played(project, "--use-recorded", "--per-cell", "3", run_id="after")
    assert told in done.out
    assert len(after["sessions"]) == 9
    # several are not reused: which one would stand for the fourth round?
    project, _, _ = recorded(tmp_path, PLAIN, "--per-cell", "2", run_id="two")
    done, _ = played(project, "--use-recorded", "--per-cell", "3", run_id="more")
    assert done.code == 2, done
    assert "in round 3; --per-cell 2 asks for what is there" in done.err


@pytest.mark.slow
def test_an_agent_that_failed_fails_again_and_is_not_called(tmp_path: Path) -> None:
    value = PLAIN | {
        "agents": {
            "first": agent("first", prompt="BREAKS", criteria=["alpha is there"]),
            "last": agent("first", prompt="GOOD", reads="first", criteria=["alpha is there"]),
        }
    }
    project, _, before = recorded(tmp_path, value)
    done, after = played(project, "--use-recorded", run_id="after")
    assert {word for word, _ in cells(before).values()} == {"FAIL", "blocked"}
    assert cells(after) == cells(before)
    assert done.code == 3, done


@pytest.mark.slow
def test_a_file_that_does_not_say_the_variant_is_refused(tmp_path: Path) -> None:
    project, _, _ = recorded(tmp_path, PLAIN)
    path = tmp_path / "agents.recorded.json"
    outputs = [{"input": "I1", "agent": "first", "output": "x", "task": "t", "ran": True}]
    old = {"version": 1, "kind": "criteria", "run_id": "r", "recorded_at": "", "outputs": outputs}
    path.write_text(json.dumps(old))
    done = project.matrix("plan", "agents.yaml", "--use-recorded")
    assert done.code == 2, done
    assert "agents.recorded.json is of another version" in done.err
    assert "--record makes a new one" in done.err


@pytest.mark.slow
def test_two_outputs_of_one_agent_are_a_mistake(tmp_path: Path) -> None:
    """Which of the two was judged would be nobody's choice."""
    project, _, _ = recorded(tmp_path, VALUE, "--per-cell", "1")
    path = tmp_path / "agents.recorded.json"
    told = json.loads(path.read_text())
    told["outputs"].append({**told["outputs"][0], "output": "another"})
    path.write_text(json.dumps(told))
    done = project.matrix("plan", "agents.yaml", "--use-recorded")
    assert done.code == 2, done
    said = " ".join(done.err.split())
    assert "has two outputs of first for I1, variant as-written, round 1; remove one" in said


@pytest.mark.slow
def test_a_recording_of_more_rounds_than_a_session_can_hold_is_refused(tmp_path: Path) -> None:
    project, _, _ = recorded(tmp_path, VALUE, "--per-cell", "1")
    path = tmp_path / "agents.recorded.json"
    told = json.loads(path.read_text())
    told["outputs"].append({**told["outputs"][0], "round": 1_000})
    path.write_text(json.dumps(told))
    done = project.matrix("plan", "agents.yaml", "--use-recorded")
    assert done.code == 2, done
    assert "round: Input should be less than 1000" in " ".join(done.err.split())
