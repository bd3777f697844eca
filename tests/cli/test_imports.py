"""What a command loads: nothing that it can do without."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.program import environment
from tests.waiting import LONGEST_WAIT_S

SLOW = frozenset({"pydantic", "ray", "litellm", "pandas", "numpy", "scipy", "pyarrow", "rich"})

LOADED = """
import sys
from matrix.cli.main import main
sys.argv[0] = "matrix"
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded_by(folder: Path, *args: str, variables: Mapping[str, str] | None = None) -> set[str]:
    """Top-level packages that ``matrix *args`` has loaded by its end."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *args],
        cwd=folder,
        env=environment(folder, variables),
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_nothing_slow(here: Path, option: str) -> None:
    assert loaded_by(here, option) & SLOW == set()


def test_help_of_a_command_loads_no_more_than_its_options_need(here: Path) -> None:
    assert loaded_by(here, "run", "--help") & SLOW <= {"pydantic"}, "typer reads options with it"


@pytest.mark.slow
def test_a_plan_loads_neither_ray_nor_litellm_nor_tables(project: Path) -> None:
    loaded = loaded_by(project, "plan")
    assert loaded & {"ray", "litellm", "pandas", "pyarrow", "scipy"} == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["show", "compare"])
def test_a_verdict_loads_no_scipy(finished: Path, command: str) -> None:
    loaded = loaded_by(finished, command, "last")
    assert "scipy" not in loaded
    assert "pandas" in loaded, "the test looks at the right list"


@pytest.mark.slow
def test_listing_runs_loads_no_tables(finished: Path) -> None:
    loaded = loaded_by(finished, "list")
    assert loaded & {"ray", "litellm", "pandas", "pyarrow"} == set()


@pytest.mark.slow
def test_a_run_in_this_process_loads_neither_ray_nor_litellm(project: Path) -> None:
    loaded = loaded_by(project, "run", "--executor", "in-process", "--sessions", "4")
    assert loaded & {"ray", "litellm"} == set()
    assert {"pandas", "pyarrow"} <= loaded, "the test looks at the right list"


@pytest.mark.slow
@pytest.mark.parametrize("process", ["governor", "publisher"])
def test_a_process_that_reads_no_spec_loads_no_forms_of_one(process: str) -> None:
    code = f"import sys, matrix_actors.processes.{process}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & {"pydantic", "numpy", "pandas", "pyarrow"} == set()
    assert "matrix_actors" in loaded
