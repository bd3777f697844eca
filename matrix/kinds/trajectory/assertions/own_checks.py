"""Assertions of other people: of installed packages, and of the ``checks.py`` beside a scenario.

The second is code of whoever wrote the scenario, run with the rights of whoever plays it, which is
why it has to be allowed (``--allow-code``).
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import lru_cache
from importlib.metadata import entry_points
from threading import Thread
from typing import Any, Final

from matrix.kinds.trajectory.assertions.folder import View
from matrix.kinds.trajectory.assertions.structural import (
    BUILT_IN,
    Assertion,
    AssertionContext,
    Found,
)
from matrix.telemetry.redaction import redact, secrets_in

GROUP: Final = "matrix.assertions"
"""Entry point group of further assertions."""

CHECKS: Final = "checks.py"
"""A scenario's own, beside it."""

CHECK_S: Final = 60.0
"""How long a check may take, in seconds."""

_TRUTHS: Final = ("bool", "bool_")
"""Types of what is true or false; that of numpy's comparisons is the second."""


@lru_cache(maxsize=32)
def assertions_of(code: str) -> Mapping[str, Assertion]:
    """Every assertion that a scenario with this code knows."""
    known = installed()
    if not code:
        return known
    names: dict[str, object] = {"__name__": "checks"}
    exec(compile(code, CHECKS, "exec"), names)  # noqa: S102 - allowed by who plays it
    own = {
        name: of_function(one)
        for name, one in names.items()
        if callable(one) and not name.startswith("_") and getattr(one, "__module__", "") == "checks"
    }
    return {**own, **known}


def installed() -> dict[str, Assertion]:
    """Every assertion there is: the built-in ones, and those of installed packages.

    A package names a function ``(view, argument) -> bool | str``: true if it holds, or the reason
    why it does not.
    """
    found = {entry.name: of_function(entry.load()) for entry in entry_points(group=GROUP)}
    return {**found, **BUILT_IN}


def of_function(check: Callable[[View, Any], bool | str], *, limit_s: float = CHECK_S) -> Assertion:
    """An assertion of somebody else's function, which has so many seconds."""

    def decide(scene: AssertionContext, argument: Any) -> Found:
        outcome: Future[bool | str] = Future()

        def run() -> None:
            try:
                outcome.set_result(check(scene.view.alone(), argument))
            except BaseException as error:  # SystemExit, and what test frameworks raise
                outcome.set_exception(error)

        # no program waits for a thread of its own like this one, and so none hangs with the check
        Thread(target=run, daemon=True).start()
        try:
            said = outcome.result(limit_s)
        except BaseException as error:
            if not outcome.done():
                return Found(False, f"the check did not end in {limit_s:g} s")
            told = redact(f"{type(error).__name__}: {error}", secrets_in(os.environ))
            return Found(False, f"the check broke{_place_of(error)}: {told}"[:500])
        if isinstance(said, str):
            told = redact(said, secrets_in(os.environ))  # it is code that may see what is set
            return Found(False, told[:500] or "it does not hold")
        if type(said).__name__ not in _TRUTHS:
            told = f"the check gave back {said!r:.50}; it is true, or the reason why not"
            return Found(False, redact(told, secrets_in(os.environ)))
        return Found(bool(said), "it holds" if said else "it does not hold")

    return Assertion(decide, lambda argument: "")


def _place_of(error: BaseException) -> str:
    """The line of ``checks.py`` in which a check broke, if it was there."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == CHECKS]
    return f" in line {lines[-1]}" if lines else ""
