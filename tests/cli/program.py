"""Running the real program in a folder, and making what it prints comparable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.forked import may_be_forked, run_forked
from tests.waiting import LONGEST_WAIT_S

PROGRAM = Path(sys.executable).with_name("matrix")
GOLDEN = Path(__file__).with_name("golden")
CHECKOUT = Path(__file__).resolve().parents[2]

_TIME = r"\d+ (?:s|min|h)(?: \d+ (?:s|min))?"
_VOLATILE = (
    (re.compile(r"-\d{8}-\d{6}-[0-9a-f]{4}\b"), "-<WHEN>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "<DATE AND TIME>"),
    (re.compile(rf"\) in {_TIME}$", re.MULTILINE), ") in <TIME>"),
    (re.compile(rf"\[{_TIME}\]"), "[<TIME>]"),
    (re.compile(rf"ETA {_TIME}"), "ETA <TIME>"),
    (re.compile(r"^\[<TIME>\] [\d,]+/[\d,]+ sessions; .*\n", re.MULTILINE), ""),
    (re.compile(r"[\d,]+ calls/s"), "<N> calls/s"),
    (re.compile(r"^(ok +(?:Python|litellm|ray) +)[\d.]+\w*$", re.MULTILINE), r"\1<VERSION>"),
    (re.compile(r"[\d,.]+ GB free"), "<N> GB free"),
    (re.compile(r"(after the first round, .* to cost) .*$", re.MULTILINE), r"\1 <MONEY>"),
    (re.compile(r"before; .*? after the first round"), "before; <MONEY> after the first round"),
    (re.compile(r"list [0-9a-f]{12}\b"), "list <HASH>"),
    (re.compile(r'_hash": "[0-9a-f]+"'), '_hash": "<HASH>"'),
)


NO_SPEC = (
    "no matrix.yaml here: this is the built-in play-test matrix "
    "(`matrix init FOLDER` makes a project of your own)\n"
)
"""Said where nobody named a spec and the working directory has none."""


class Result(NamedTuple):
    """What one command printed, and its exit code."""

    stdout: str
    stderr: str
    code: int


Matrix = Callable[..., Result]
Golden = Callable[[str, str], None]
GoldenRun = Callable[..., Result]
"""Types of the fixtures in ``conftest.py``."""


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A plain environment: no settings of this project's, of Ray's or of the terminal's."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MATRIX_", "RAY_", "_MATRIX", "PYTEST_", "COLUMNS", "LINES"))
    }
    own = {"HOME": str(home), "COLUMNS": "80", "LC_ALL": "C.UTF-8", "MATRIX_REPORT": "0"}
    return kept | own | dict(extra or {})


def run_program(
    folder: Path, *args: str, variables: Mapping[str, str] | None = None, stdin: str = ""
) -> Result:
    """Run ``matrix`` in a folder: a process of its own, forked from one that has loaded it."""
    if may_be_forked(variables or {}):
        return Result(*run_forked(folder, args, environment(folder, variables), stdin))
    done = subprocess.run(
        [PROGRAM, *args],
        cwd=folder,
        env=environment(folder, variables),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
        check=False,
    )
    return Result(done.stdout, done.stderr, done.returncode)


def normalised(text: str, folder: Path) -> str:
    """``text`` without what differs from run to run and from machine to machine."""
    for path, name in ((folder, "<HERE>"), (CHECKOUT, "<MATRIX>")):
        text = text.replace(str(path), name)
    for pattern, name in _VOLATILE:
        text = pattern.sub(name, text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def shown(folder: Path, args: tuple[str, ...], result: Result) -> str:
    """A command with all that came of it, as a golden file has it."""
    parts = [f"$ matrix {' '.join(args)}".rstrip() + "\n", result.stdout]
    if result.stderr:
        parts += ["--- standard error\n", result.stderr]
    parts.append(f"--- exit code {result.code}\n")
    return normalised("".join(parts), folder)
