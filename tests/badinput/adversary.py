"""What attempts report and raise when somebody means harm, drawn from seeded dice."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from matrix.admission.pricing import BEYOND_DOUBT
from matrix.model.errors import (
    AuthenticationFailed,
    ContentRefused,
    ContextOverflow,
    MalformedAnswer,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    RequestRejected,
)
from matrix.model.records import Usage

MOST_TOKENS = 8
HONEST = (Usage(30, 4), Usage(1, 1), Usage(60, MOST_TOKENS, cached=40))
LIES: tuple[Any, ...] = (
    None,
    Usage(-1, 5),
    Usage(0, 0),
    Usage(10**12, 10**12),
    Usage(5, BEYOND_DOUBT + 1),
    Usage(10, 4, cached=-3),
    Usage._make((10.5, 4, 0, 0, 0)),
)
EXCESSIVE = Usage(40, 50_000)
"""Believable, and far above what ``max_tokens`` allowed."""
FAILURES = (
    AuthenticationFailed,
    ContentRefused,
    ContextOverflow,
    MalformedAnswer,
    ProviderTimeout,
    ProviderUnavailable,
    RequestRejected,
)


class Strategy(NamedTuple):
    """What the adversary may do, as chances per attempt or per step of a run."""

    lie: float = 0.0
    excess: float = 0.0
    error: float = 0.0
    cancel: float = 0.0
    kill: float = 0.0
    restart: float = 0.0


class Adversary:
    """Draws what happens from seeded dice."""

    def __init__(self, dice: random.Random, strategy: Strategy) -> None:
        self.dice, self.strategy = dice, strategy

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens now."""
        return self.dice.random() < probability

    def usage(self) -> Any:
        """What an attempt reports, true or not."""
        if self.chance(self.strategy.excess):
            return EXCESSIVE
        return self.dice.choice(LIES if self.chance(self.strategy.lie) else HONEST)

    def failure(self) -> Exception:
        """What an attempt raises; some failures come with a usage."""
        if self.chance(0.1):
            return ZeroDivisionError("a defect")
        if self.chance(0.1):
            return RateLimited("429", retry_after_s=0.0)
        usage = self.usage() if self.chance(0.5) else None
        return self.dice.choice(FAILURES)("trouble", usage=usage)
