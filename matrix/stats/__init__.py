"""Statistics of matrices of sessions: intervals, complete rounds, and an honest verdict.

From sessions to a verdict takes two calls::

    table = complete_rounds(rounds, scenarios, variants, scores, outcomes,
                            n_rounds_planned=40, n_scenarios=3, n_variants=2)
    verdict = verdict_of(table, Rules(delta=2.0))
    print(verdict_sentence(verdict, ["baseline", "pulse-aware"], "quality", "points"))

Importing this package costs nothing, as processes that play sessions do it for a running mean; the
first name loads numpy, the first function that needs it ``scipy.special``, nothing ``scipy.stats``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matrix.stats.public import *  # noqa: F403


_PUBLIC: Final = "matrix.stats.public"


def __dir__() -> list[str]:
    return list(import_module(_PUBLIC).__all__)


def __getattr__(name: str) -> Any:
    # other private names, and the module itself, are asked for while it loads
    offered = name == "__all__" or not (name.startswith("_") or name == "public")
    public = import_module(_PUBLIC) if offered else None
    if public is None or name not in ("__all__", *public.__all__):
        raise AttributeError(f"module 'matrix.stats' has no attribute {name!r}")
    return getattr(public, name)
