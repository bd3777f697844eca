"""Agents that leave in their folder what cannot be kept: their own failure, at their own cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.programs import project_of, spec_of
from tests.faults.laws import assert_books

LEAVES = {
    "a pipe": "mkfifo pipe",
    "no folder": 'cd / && rm -rf "$OLDPWD"',
    "a file in its place": 'cd "$PWD/.." && rm -rf files && touch files',
}
COST = 12_300_000


def agent(does: str, **form: object) -> dict[str, object]:
    answer = {"text": "text", "cost_usd": "cost"}
    says = """echo '{"text": "7", "cost": 0.0123}'"""
    command = ["sh", "-c", f"cat > /dev/null; {does}; {says}"]
    return {"command": command, "answer": answer, "sandbox": "none", **form}


@pytest.mark.slow
def test_what_cannot_be_kept_is_the_agents_failure_and_costs_what_it_says(tmp_path: Path) -> None:
    held = {name: agent(does, max_usd=0.5) for name, does in LEAVES.items()}
    metered = {
        f"{name}, metered": agent(does, meter="sim/haiku", expected_usd=0.001)
        for name, does in LEAVES.items()
    }
    for form in metered.values():
        form["answer"] = {"text": "text"}
    good = {"good": agent("true", max_usd=0.5)}
    project = project_of(tmp_path, spec_of({**held, **metered, **good}, limits={"cost_usd": 999}))
    project.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert_books(project.path("it"))
    sessions = project.tables("it").frame("sessions").set_index("counter")
    calls = project.tables("it").frame("calls")
    assert (sessions.loc["good"].outcome == "completed").all()
    for name in (*held, *metered):
        assert (sessions.loc[name].outcome == "failed").all(), name
        assert (sessions.loc[name].error_class == "AgentFailed").all()
    for name in held:
        assert calls[calls.agent == name].cost_nano.unique().tolist() == [COST]
