"""How an attempt that did not give an answer ended: for the money, and for trying again."""

from __future__ import annotations

from typing import NamedTuple

from matrix.admission.pricing import (
    FAR_BEYOND,
    implausible,
    input_of,
    texts_of,
    too_small,
    usable,
)
from matrix.agents.answers import BAD_COST
from matrix.engine.wire.providers import AGENT
from matrix.engine.wire.setup import ModelEntry
from matrix.model.entries import Disposition
from matrix.model.errors import AgentFailed, ProviderError, RateLimited
from matrix.model.money import NanoUSD, from_usd
from matrix.model.records import Call, Usage
from matrix.providers.base import ProviderReply

UNASKED_PAUSE_S = 1.0
"""Pause of a limit group after a 429 that does not say how long."""

NO_USAGE = Usage()

IMPLAUSIBLE = "ImplausibleUsage"
"""Error class of an attempt that was answered, with a usage report that cannot be true."""


_ABSURD_TURN = from_usd(100)
"""An agent's account of a turn above this, and far beyond its hold, is implausible."""


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
        small = text is not None and too_small(usage, texts_of(call), text)
        if small or implausible(usage, size, call.params.max_tokens):
            return cls(None, IMPLAUSIBLE)
        return cls(usage)


class Bill(NamedTuple):
    """What an answered attempt costs.

    ``cost`` is ``None`` if nobody who is believed says it: the governor presumes its hold then, and
    adds that to the answer.
    """

    usage: Usage
    cost: NanoUSD | None
    doubt: str = ""

    @classmethod
    def of(cls, reply: ProviderReply, call: Call, entry: ModelEntry) -> Bill:
        """By the tariff and the tokens, or as an agent says it."""
        if entry.provider == AGENT:
            return _agents_bill(reply.usage or NO_USAGE, reply.billed, reply.doubt, entry)
        usage, doubt = Report.of(reply.usage, call, reply.written)
        if usage is None:
            return cls(NO_USAGE, None, doubt)
        return cls(usage, entry.tariff.cost(usage), doubt)


def _agents_bill(usage: Usage, said: NanoUSD | None, doubt: str, entry: ModelEntry) -> Bill:
    if said is not None and said > max(FAR_BEYOND * entry.tariff.most_fee, _ABSURD_TURN):
        said, doubt = None, BAD_COST
    return Bill(usage, said, doubt)


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
        if isinstance(error, AgentFailed):
            return cls._of_agent(error, entry)
        usage = Report.of(error.usage, call, error.written).usage
        if usage is not None:
            return cls(name, error.retryable, "settled", usage, entry.tariff.cost(usage), pause)
        disposition: Disposition = "released" if error.unsent else "presumed"
        return cls(name, error.retryable, disposition, NO_USAGE, 0, pause)

    @classmethod
    def _of_agent(cls, error: AgentFailed, entry: ModelEntry) -> FailedAttempt:
        """A turn that failed costs what the agent says all the same, or all of its hold."""
        bill = _agents_bill(NO_USAGE, 0 if entry.tariff.is_free else error.cost, "", entry)
        how: Disposition = "presumed" if bill.cost is None else "settled"
        return cls(type(error).__name__, False, how, NO_USAGE, bill.cost or 0, 0.0)
