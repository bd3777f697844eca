"""What can be compared of a session besides its scores: its cost, length and use of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from matrix.model.entries import Ended
from matrix.model.money import to_usd

_OF_SESSION: Final[Mapping[str, Callable[[Ended], float | None]]] = {
    "score": lambda ended: ended.score,
    "cost_usd": lambda ended: to_usd(ended.tally.cost),
    "turns": lambda ended: float(ended.turns),
    "calls": lambda ended: float(ended.tally.calls),
    "duration_s": lambda ended: ended.tally.clock_s,
    "tokens_in": lambda ended: float(ended.tally.tokens_in),
    "tokens_out": lambda ended: float(ended.tally.tokens_out),
}

SESSION_METRICS: Final = tuple(_OF_SESSION)
"""Columns of ``sessions`` that can be compared; any other metric is a name in ``scores``."""

LOWER_IS_BETTER: Final = frozenset(SESSION_METRICS) - {"score"}
"""Those of them of which less is better."""


def measured(metric: str, ended: Ended) -> float | None:
    """A session's value of a metric, if it came so far that it has one."""
    if ended.outcome not in ("completed", "timeout"):
        return None
    read = _OF_SESSION.get(metric)
    return ended.measured if read is None else read(ended)
