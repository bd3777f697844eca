"""Keys of real models: found in the environment or in `.env`, missed before anything starts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer
from tests.cli.program import GoldenRun, Matrix, Result, run_program

KEY = "sk-planted-4711-of-this-test"

OWN = """\
scenarios: [put-it-back]
factors: {{prompt: [baseline]}}
per_cell: 1
roles: {{all: mine}}
options: {{group_size_max: 2}}
limits: {{turns: 3, cost_usd: 2}}
models:
  mine:
    {{target: openai/gpt-4o-mini, api_base: "{url}", api_key_env: MY_SECRET, price: {{input: 1, output: 1}}}}
providers: {{processes: 1}}
"""  # noqa: E501


def no_keys() -> dict[str, str]:
    """Every key of the surroundings, emptied: an empty variable is a key that is not there."""
    return {name: "" for name in os.environ if name.endswith(("_API_KEY", "_TOKEN"))}


@pytest.mark.slow
def test_every_missing_key_is_named_before_anything_starts(
    here: Path, golden_run: GoldenRun
) -> None:
    result = golden_run("run-no-keys", "run", "smoke", "--yes", variables=no_keys())
    assert result.code == 2
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_a_bad_line_in_the_file_is_named_and_not_repeated(here: Path, matrix: Matrix) -> None:
    (here / ".env").write_text(f"OPENAI_API_KEY=x\n{KEY}\n")
    result = matrix("run", "smoke", "--yes", variables=no_keys())
    assert result.stderr == f"{here / '.env'}:2: not of the form NAME=VALUE\n"
    assert result.code == 2


@pytest.mark.slow
def test_simulated_models_need_no_keys_and_look_at_no_file(project: Path, matrix: Matrix) -> None:
    (project / ".env").write_text("not a line\n")
    result = matrix("run", "--executor", "in-process", "--sessions", "1", "--quiet")
    assert (result.stderr, result.code) == ("", 0)


@pytest.fixture(params=["in-process", pytest.param("ray", marks=pytest.mark.ray)])
def executor(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return ("--executor", request.param)


@pytest.mark.long
@pytest.mark.slow
async def test_a_key_in_the_file_reaches_the_provider_and_nothing_else(
    here: Path, executor: tuple[str, ...]
) -> None:
    async with SimServer(ServeOptions(api_key=KEY)) as server:
        (here / "matrix.yaml").write_text(OWN.format(url=server.url))
        (here / ".env").write_text(f"MY_SECRET={KEY}\n")
        (here / ".env").chmod(0o640)
        result: Result = await asyncio.to_thread(
            run_program, here, "run", *executor, "--run-id", "one"
        )
    assert result.code == 0, result.stderr
    assert "1 completed" in result.stdout or "1 timeout" in result.stdout
    assert "can be read by other users" in result.stderr
    assert KEY not in result.stdout + result.stderr
    for path in (here / "results").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
