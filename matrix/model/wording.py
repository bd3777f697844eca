"""Errors in the words of who is told: flags for the program ``matrix``, arguments for Python.

Messages are written once, with flags. Whoever reads one as text reads it in the words of the
interface that is in use: the program says so for as long as it works, everything else is Python.
Whole commands (```matrix resume last --max-cost 8```) stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

ARGUMENTS: Final = {
    **{f"--{name.replace('_', '-')}": name for name in (
        "against", "allow_errored", "at_cap", "baseline", "below", "budget", "by", "confidence",
        "correlation", "cost", "effect", "engine", "executor", "factor", "fail_on", "failed",
        "failure_margin", "judge", "kind", "lower", "margin", "max_cost", "max_turns", "metric",
        "pairs", "per_cell", "repeat", "repeats", "results", "rounds", "run_id", "scenario",
        "score", "sd", "sd_a", "sd_b", "seed", "sessions", "since", "status", "target", "times",
        "to", "top", "turn", "unit", "variant", "variants", "where",
    )},
    **{f"--{name.replace('_', '-')}": f"{name}=True" for name in (
        "allow_outside", "finish_last", "force", "lower_is_better", "missing", "redo_errored",
        "redo_turn", "stop_early", "trust", "yes_no",
    )},
    "--explain": "model",
    "--higher-is-better": "lower_is_better=False",
    "--format": "form",
    "--from": "pilot",
    "--model": "models",
    "--older-than": "age",
    "--power": "chance",
    "--rubric": "rubrics",
    "--set": "settings",
    "--snapshot": "folder",
    "--threshold": "thresholds",
}  # fmt: skip
"""Flag -> how the same is said in Python. Flags of a kind's own files are said with their dashes
there, too."""

_PARTS: Final = re.compile(r"`[^`\n]*`|(?<![\w-])--[a-z]+(?:-[a-z]+)*(?![\w-])")
_of_program: ContextVar[bool] = ContextVar("of_program", default=False)


def with_arguments(text: str) -> str:
    """A message with flags as Python says it; saying it twice changes nothing."""

    def said(found: re.Match[str]) -> str:
        part = found[0]
        if part.startswith("`matrix "):
            return part
        if part.startswith("`"):
            return _PARTS.sub(said, part[1:-1]).join("``")
        return ARGUMENTS.get(part, part)

    return _PARTS.sub(said, text)


def told(text: str) -> str:
    """A message in the words of the interface that is in use."""
    return text if _of_program.get() else with_arguments(text)


@contextmanager
def speaking_of_flags() -> Iterator[None]:
    """What is read of errors inside the block is for the command line."""
    token = _of_program.set(True)
    try:
        yield
    finally:
        _of_program.reset(token)
