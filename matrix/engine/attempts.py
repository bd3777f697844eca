"""How an attempt that did not give an answer ended: for the money, and for trying again."""

from __future__ import annotations

from typing import NamedTuple

from matrix.admission.pricing import implausible, input_of, too_small, usable
from matrix.engine.setup import ModelEntry
from matrix.model.entries import Disposition
from matrix.model.errors import ProviderError, RateLimited
from matrix.model.money import NanoUSD
from matrix.model.records import Call, Usage

UNASKED_PAUSE_S = 1.0
"""Pause of a limit group after a 429 that does not say how long."""

NO_USAGE = Usage()

IMPLAUSIBLE = "ImplausibleUsage"
"""Error class of an attempt that was answered, with a usage report that cannot be true."""


class Report(NamedTuple):
    """A usage report as far as it can be believed; ``usage`` is ``None`` if it cannot."""

    usage: Usage | None
    error_class: str = ""

    @classmethod
    def of(cls, usage: Usage | None, call: Call, text: str | None = None) -> Report:
        """Judge what a provider reports of a call, and of its answer if there was one."""
        if usage is None or not usable(usage):
            return cls(None)
        size = input_of(call)
        small = text is not None and too_small(usage, call.messages, text)
        if small or implausible(usage, size, call.params.max_tokens):
            return cls(None, IMPLAUSIBLE)
        return cls(usage)


class FailedAttempt(NamedTuple):
    """What an error means. ``pause_s`` is for the limit group, and for the next attempt."""

    name: str
    retryable: bool
    disposition: Disposition
    usage: Usage
    cost: NanoUSD
    pause_s: float

    @classmethod
    def of(cls, error: Exception, call: Call, entry: ModelEntry) -> FailedAttempt:
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
        usage = Report.of(error.usage, call).usage
        if usage is not None:
            return cls(name, error.retryable, "settled", usage, entry.tariff.cost(usage), pause)
        disposition: Disposition = "released" if error.unsent else "presumed"
        return cls(name, error.retryable, disposition, NO_USAGE, 0, pause)
