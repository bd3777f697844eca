"""The tests themselves: what is slow fails none of them, and every target runs what it says."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[2]


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def given(tree: ast.Module, keyword: str) -> Iterator[tuple[int, ast.expr]]:
    """Line and value of every argument of this name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((node.lineno, it.value) for it in node.keywords if it.arg == keyword)


@pytest.mark.slow
def test_no_example_of_any_property_has_a_deadline() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check
    numbers = [
        f"{name}:{line}"
        for name, tree in modules()
        for line, value in given(tree, "deadline")
        if not (isinstance(value, ast.Constant) and value.value is None)
    ]
    assert numbers == []


def test_settings_of_one_property_leave_those_of_the_suite_as_they_are() -> None:
    own = settings(max_examples=7)
    assert (own.max_examples, own.deadline) == (7, None)
    assert HealthCheck.too_slow in own.suppress_health_check


# --- targets --------------------------------------------------------------------------------------


def would_run(target: str) -> str:
    """The commands of a target, without running them."""
    done = subprocess.run(
        ["make", "--dry-run", "--silent", target],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else ""


def test_make_test_leaves_out_what_is_long_and_make_long_plays_it() -> None:
    assert '/pytest -n 2 --dist worksteal -m "not slow and not long"\n' in would_run("test")
    assert '/pytest -n 2 --dist worksteal -m "slow and not long"\n' in would_run("slow")
    assert '/pytest -n 2 --dist worksteal -m "long or sampled"\n' in would_run("long")
    assert would_run("test-all") == "", "make long does it"


def test_what_has_to_pass_before_anything_lands_has_the_tests_in_it() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make test\nmake slow$", run, re.M)
