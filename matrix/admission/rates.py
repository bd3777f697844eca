"""Rate limits of one group of models: requests and tokens per minute, and concurrency.

Token buckets with a small burst, so that a limit per minute is also kept over any few seconds.
Tokens are charged at acquire by estimate and corrected when the attempt is over; a level may go
below zero, which simply delays the next request. Time is handed in, in seconds of any monotonic
clock. Levels start empty after a restart (``level=0``): what the last owner used is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from matrix.admission.adaptive import AdaptiveConcurrency
from matrix.admission.breaker import CircuitBreaker

Health = Literal["alive", "limited", "down"]
"""How an attempt went, for the group: a 4xx is alive, a 429 limited, a 5xx or timeout down."""

BURST_S = 6.0
"""Seconds of refill that a bucket can hold."""

HAIR_S = 1e-6
"""A wait below this is none: on a clock of large numbers such a short step may not even move it,
and whoever was told to wait for it would wake too early for ever."""


@dataclass(slots=True)
class Bucket:
    """A token bucket of ``rate`` units per second that holds at most ``capacity`` units."""

    rate: float
    capacity: float
    level: float
    at: float

    def advance(self, now: float) -> None:
        """Refill up to ``now``; a clock that jumps back refills nothing."""
        if now > self.at:
            self.level = min(self.capacity, self.level + (now - self.at) * self.rate)
        self.at = now

    def wait_for(self, amount: float) -> float:
        """Seconds until ``amount`` may be taken; amounts above the capacity wait for a full one."""
        delay = (min(amount, self.capacity) - self.level) / self.rate
        return delay if delay > HAIR_S else 0.0


def per_minute(limit: float, now: float, *, fresh: bool = True) -> Bucket:
    """A bucket for a limit per minute.

    A fresh one starts with a burst's worth; one that takes over from an earlier life starts
    empty, because what that life has used is not known.
    """
    rate = limit / 60.0
    capacity = max(1.0, rate * BURST_S)
    return Bucket(rate, capacity, capacity if fresh else 0.0, now)


@dataclass(slots=True)
class RateGroup:
    """The limits that several models share. ``None`` means: not limited in this way.

    ``adaptive`` looks for a concurrency of its own where no limit is known; ``breaker`` leaves a
    provider alone that is down.
    """

    requests: Bucket | None = None
    tokens: Bucket | None = None
    concurrency: int | None = None
    adaptive: AdaptiveConcurrency | None = None
    breaker: CircuitBreaker | None = None
    in_flight: int = 0
    paused_until: float = field(default=0.0)

    def wait(self, now: float, tokens: float) -> float | None:
        """Seconds until an attempt of about ``tokens`` tokens may start; 0 is now.

        Returns:
            ``None`` when only the end of another attempt can help.
        """
        if self._full:
            return None
        pause = self.paused_until - now
        if self.breaker is not None:
            probe = self.breaker.wait(now)
            if probe is None:
                return None
            pause = max(pause, probe)
        delay = pause if pause > HAIR_S else 0.0
        for bucket, amount in ((self.requests, 1.0), (self.tokens, tokens)):
            if bucket is not None:
                bucket.advance(now)
                delay = max(delay, bucket.wait_for(amount))
        return delay

    def take(self, now: float, tokens: float) -> None:
        """Start an attempt; the caller has seen ``wait`` return 0."""
        self.in_flight += 1
        if self.adaptive is not None:
            self.adaptive.started(self.in_flight)
        if self.breaker is not None:
            self.breaker.sent()
        for bucket, amount in ((self.requests, 1.0), (self.tokens, tokens)):
            if bucket is not None:
                bucket.advance(now)
                bucket.level -= amount

    def finish(self, estimated: float, actual: float | None) -> None:
        """End an attempt and correct the tokens that were charged by estimate."""
        self.in_flight -= 1
        if self.adaptive is not None:
            self.adaptive.finished(self.in_flight)
        if self.tokens is not None and actual is not None:
            self.tokens.level = min(self.tokens.capacity, self.tokens.level + estimated - actual)

    def hear(self, health: Health, now: float) -> None:
        """Learn from how an attempt went."""
        if self.adaptive is not None and health == "limited":
            self.adaptive.limited(now)
        if self.breaker is not None:
            if health == "down":
                self.breaker.failed(now)
            else:
                self.breaker.succeeded()

    @property
    def _full(self) -> bool:
        if self.concurrency is not None and self.in_flight >= self.concurrency:
            return True
        return self.adaptive is not None and self.in_flight >= self.adaptive.allowed

    def pause(self, until: float) -> None:
        """Let nobody in before ``until``: the provider said 429."""
        self.paused_until = max(self.paused_until, until)
