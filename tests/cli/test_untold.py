"""What no file tells of imported results is nowhere shown as 0, and decides nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import matrix as python_api
from matrix.model.errors import BadInput
from tests.cli.program import Matrix

UNITS = 80
GATED = ("--margin", ".05", "--fail-on", "regression")


def table(path: Path, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([headers, *rows])


def share(unit: int) -> float:
    """A score from 0 to 1."""
    return round(0.6 + (unit * 37 % 41) / 100, 3)


@pytest.fixture
def two_runs(here: Path, matrix: Matrix) -> None:
    """``base`` tells nothing of failures, ``told`` has a status: five failed; scores are alike."""
    names = [f"q{unit:03}" for unit in range(UNITS)]
    plain = [[name, share(at), "m"] for at, name in enumerate(names)]
    told = [[*row, "error" if at % 16 == 3 else "ok"] for at, row in enumerate(plain)]
    table(here / "base.csv", ("id", "score", "model"), plain)
    table(here / "told.csv", ("id", "score", "model", "status"), told)
    for name in ("base", "told"):
        assert matrix("import", f"{name}.csv", "--run-id", name).code == 0


@pytest.mark.parametrize(("run", "baseline"), [("told", "base"), ("base", "told")])
def test_failures_that_one_of_two_runs_does_not_tell_are_no_part_of_a_gate(
    two_runs: None, matrix: Matrix, run: str, baseline: str
) -> None:
    gated = ("--baseline", baseline, *GATED)
    found = matrix("compare", run, *gated)
    assert found.code == 0
    (line,) = (line for line in found.stdout.splitlines() if line.startswith("gate "))
    assert line.startswith(f"gate passed: {run} is not worse than {baseline} by the margin")
    assert "failures: not told by base;" in line
    assert "failed:" not in line
    assert "failure_margin" not in line
    gate = json.loads(matrix("compare", run, *gated, "--json").stdout)["gate"]["baseline"]
    assert gate["verdict"] == gate["scores"] == "pass"
    seen = {"verdict": None, "not_told_by": ["base"], "baseline": None, "run": None, "margin": None}
    assert seen.items() <= gate["failures"].items()


def test_a_gate_on_failures_alone_is_refused_where_they_are_not_told(
    two_runs: None, here: Path
) -> None:
    with pytest.raises(BadInput, match="'failed', of which the imported files tell no"):
        python_api.open_run("told", results=here / "results").gate("base", metric="failed")


def test_failures_that_are_told_by_both_still_fail_a_gate(
    two_runs: None, here: Path, matrix: Matrix
) -> None:
    rows = [[f"q{unit:03}", share(unit), "m", "ok"] for unit in range(UNITS)]
    table(here / "fine.csv", ("id", "score", "model", "status"), rows)
    worse = [[*row[:3], "error" if at % 4 else "ok"] for at, row in enumerate(rows)]
    table(here / "worse.csv", ("id", "score", "model", "status"), worse)
    for name in ("fine", "worse"):
        assert matrix("import", f"{name}.csv", "--run-id", name).code == 0
    found = matrix("compare", "worse", "--baseline", "told", *GATED)
    assert "which is shown to be more often" in found.stdout
    assert found.code == 3


def test_who_does_not_tell_failures_has_no_count_of_them_beside_who_does(
    two_runs: None, matrix: Matrix
) -> None:
    shown = matrix("compare", "base", "told").stdout
    cells = {line.split()[0]: line.split() for line in shown.splitlines() if "/80" in line}
    assert cells["base"][-4:] == ["-", "0/80", "0/80", "-"]
    assert cells["told"][-4:] == ["5/80", "0/80", "0/80", "-"]
    assert "on scores alone, as the files of base do not say what failed" in " ".join(shown.split())
    assert "failure_margin" not in shown
    found = json.loads(matrix("compare", "base", "told", "--json").stdout)
    assert [row["failed"] for row in found["variants"]] == [None, 5]
