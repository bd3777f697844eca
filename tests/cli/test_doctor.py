"""`matrix doctor`: what is missing, before a cent is spent."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import GoldenRun, Matrix
from tests.cli.test_keys import no_keys

KEY = "sk-planted-0815-of-this-test"
NAMES = ("DEEPSEEK", "OPENAI", "XAI", "MOONSHOT", "DASHSCOPE")
OWN = """\
scenarios: [put-it-back]
roles: {{all: mine}}
models:
  mine: {{target: openai/x, api_base: "http://127.0.0.1:{port}/v1", price: {{input: 1, output: 1}}}}
"""


def findings(matrix: Matrix, *args: str, **more: object) -> dict[str, Any]:
    """What was found, by the thing that was looked at."""
    result = matrix("doctor", "--executor", "in-process", "--json", *args, **more)
    data = json.loads(result.stdout)
    assert result.code == (0 if data["ready"] else 2)
    assert data["ready"] == all(found["state"] != "missing" for found in data["findings"])
    return {found["what"]: found for found in data["findings"]}


@pytest.mark.slow
def test_a_first_look_without_any_key(here: Path, golden_run: GoldenRun) -> None:
    args = ("doctor", "smoke", "--executor", "in-process")
    assert golden_run("doctor-smoke", *args, variables=no_keys()).code == 2
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_keys_in_the_file_are_found_and_no_part_of_one_is_shown(
    here: Path, golden_run: GoldenRun
) -> None:
    (here / ".env").write_text("".join(f"{name}_API_KEY={KEY}\n" for name in NAMES))
    (here / ".env").chmod(0o644)
    unset = {name: text for name, text in no_keys().items() if not name.startswith(NAMES)}
    result = golden_run(
        "doctor-keys", "doctor", "smoke", "--executor", "in-process", variables=unset
    )
    assert result.code == 0
    assert KEY[:9] not in result.stdout


def test_a_new_project_on_simulated_models_misses_nothing(
    project: Path, golden_run: GoldenRun
) -> None:
    assert golden_run("doctor-template", "doctor", "--executor", "in-process").code == 0


@pytest.mark.slow
def test_an_address_is_reached_or_not(here: Path, matrix: Matrix) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (here / "matrix.yaml").write_text(OWN.format(port=port))
        what = f"address http://127.0.0.1:{port}/v1"
        assert findings(matrix)[what]["state"] == "ok"
    assert findings(matrix)[what]["state"] == "missing"


@pytest.mark.slow
def test_mistakes_in_the_spec_are_findings_beside_the_others(here: Path, matrix: Matrix) -> None:
    (here / "matrix.yaml").write_text("roles: {judge: sim/opsu, narrator: acme/unpriced}\n")
    result = matrix("doctor", "--executor", "in-process", "--json")
    spec = [f["found"] for f in json.loads(result.stdout)["findings"] if f["what"] == "spec"]
    assert result.code == 2
    assert len(spec) == 2
    assert any("did you mean 'opus'" in line for line in spec)
    assert any("no price" in line for line in spec)


@pytest.mark.slow
def test_a_bad_line_in_the_file_is_a_finding(here: Path, matrix: Matrix) -> None:
    (here / ".env").write_text("fine=1\nnot a line\n")
    found = findings(matrix, "smoke", variables=no_keys())
    assert found[".env"]["state"] == "missing"
    assert found[".env"]["found"].endswith(":2: not of the form NAME=VALUE")


@pytest.mark.slow
def test_limits_that_are_given_are_told(here: Path, matrix: Matrix) -> None:
    (here / "matrix.yaml").write_text(
        "roles: {all: gpt-4o-mini}\ngroups: {openai: {rpm: 500, tpm: 200000}}\n"
    )
    found = findings(matrix, variables=no_keys())["limits openai"]
    assert (found["state"], found["found"]) == ("ok", "rpm 500, tpm 200,000")


def test_results_that_cannot_be_written_are_missing(here: Path, matrix: Matrix) -> None:
    (here / "taken").write_text("a file")
    assert findings(matrix, "--results", "taken/runs")["results taken/runs"]["state"] == "missing"


@pytest.mark.ray
def test_a_ray_that_cannot_be_reached_is_missing(here: Path, matrix: Matrix) -> None:
    variables = {"MATRIX_RAY_ADDRESS": "127.0.0.1:1"}
    result = matrix("doctor", "--json", variables=variables)
    found = {f["what"]: f for f in json.loads(result.stdout)["findings"]}["executor ray"]
    assert (found["state"], result.code) == ("missing", 2)
    assert "127.0.0.1:1" in found["found"]
