"""A scenario's own assertions: functions of the ``checks.py`` beside it, run where that is allowed.

It is code of whoever wrote the scenario, run with the rights of whoever plays it, which is why it
has to be allowed (``--allow-code``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from matrix.kinds.trajectory.assertions.structural import Assertion, installed, of_function


@lru_cache(maxsize=32)
def assertions_of(code: str) -> Mapping[str, Assertion]:
    """Every assertion that a scenario with this code knows."""
    known = installed()
    if not code:
        return known
    names: dict[str, object] = {"__name__": "checks"}
    exec(compile(code, "checks.py", "exec"), names)  # noqa: S102 - allowed by who plays it
    own = {
        name: of_function(one)
        for name, one in names.items()
        if callable(one) and not name.startswith("_") and getattr(one, "__module__", "") == "checks"
    }
    return {**own, **known}
