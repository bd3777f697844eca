"""Fields of scenarios: kept with the run, a table of its own, and levels of ``--by``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import matrix
from tests.executors.programs import Project


@pytest.mark.slow
def test_a_difference_is_broken_down_by_any_field_of_the_scenarios(tmp_path: Path) -> None:
    cases = [
        {"id": f"c{n}", "description": f"notes {n}", "category": "ab"[n % 2], "area": n // 2}
        for n in range(4)
    ]
    file = {
        "version": 1,
        "strictness": 0.5,
        "per_cell": 2,
        "factors": {"system": ["sim/gpt-4o-mini", "sim/haiku"]},
        "scenarios": cases,
    }
    (tmp_path / "selftest.yaml").write_text(yaml.safe_dump(file))
    project = Project(tmp_path)
    done = project.matrix(
        "run", "selftest.yaml", "--executor", "in-process", "--run-id", "it", "--quiet"
    )
    assert done.code in (0, 3), done
    table = matrix.open_run(tmp_path / "results" / "it").scenarios()
    assert table.loc["c3"].to_dict() == {
        "title": "c3",
        "category": "b",
        "area": 1,
        "expected_status": "COMPLETE",
        "requires_reply": False,
    }
    for name, levels in (("category", ["a", "b"]), ("area", ["0", "1"])):
        done = project.matrix("compare", "it", "--by", name, "--json")
        assert done.code == 0, done
        found = json.loads(done.out)["breakdown"]
        assert found["by"] == name
        assert [row["level"] for row in found["rows"]] == levels
        assert sum(row["pairs"] for row in found["rows"]) == 8
    done = project.matrix("compare", "it", "--by", "categroy")
    assert done.code == 2
    assert "did you mean 'category'" in done.err
    again = (
        "rejudge",
        "it",
        "--judge",
        "sim/haiku",
        "--executor",
        "in-process",
        "--run-id",
        "again",
    )
    assert project.matrix(*again).code in (0, 3)
    assert matrix.open_run(tmp_path / "results" / "again").scenarios().equals(table)
    assert project.matrix("compare", "again", "--by", "category").code == 0
