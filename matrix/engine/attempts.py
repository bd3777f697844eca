"""How an attempt that did not give an answer ended: for the money, and for trying again."""

from __future__ import annotations

from typing import NamedTuple

from matrix.admission.pricing import usable
from matrix.engine.setup import ModelEntry
from matrix.model.entries import Disposition
from matrix.model.errors import ProviderError, RateLimited
from matrix.model.money import NanoUSD
from matrix.model.records import Usage

UNASKED_PAUSE_S = 1.0
"""Pause of a limit group after a 429 that does not say how long."""

NO_USAGE = Usage()


class FailedAttempt(NamedTuple):
    """What an error means. ``pause_s`` is for the limit group, and for the next attempt."""

    name: str
    retryable: bool
    disposition: Disposition
    usage: Usage
    cost: NanoUSD
    pause_s: float

    @classmethod
    def of(cls, error: Exception, entry: ModelEntry) -> FailedAttempt:
        """Read an error: what the provider billed all the same is settled, the rest presumed.

        Only what provably cost nothing is released. An error that is none of this project's own
        is a defect: trying again would not help, and nobody knows what it spent.
        """
        name = type(error).__name__
        if not isinstance(error, ProviderError):
            return cls(name, False, "presumed", NO_USAGE, 0, 0.0)
        pause = error.retry_after_s or 0.0
        if isinstance(error, RateLimited) and error.retry_after_s is None:
            pause = UNASKED_PAUSE_S
        if error.usage is not None and usable(error.usage):
            cost = entry.tariff.cost(error.usage)
            return cls(name, error.retryable, "settled", error.usage, cost, pause)
        disposition: Disposition = "released" if error.unsent else "presumed"
        return cls(name, error.retryable, disposition, NO_USAGE, 0, pause)
