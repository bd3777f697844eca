"""Rate limits of one group of models: requests and tokens per minute, and concurrency.

Token buckets with a small burst, so that a limit per minute is also kept over any few seconds.
Tokens are charged at acquire by estimate and corrected when the attempt is over; a level may go
below zero, which simply delays the next request. Time is handed in, in seconds of any monotonic
clock. Levels start empty after a restart: what the last owner used is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from matrix.admission.adaptive import AdaptiveConcurrency
from matrix.admission.breaker import CircuitBreaker

Health = Literal["alive", "limited", "down"]
"""How an attempt went, for the group: a 4xx is alive, a 429 limited, a 5xx or timeout down."""

BURST_S = 1.0
"""Seconds of refill that a provider takes at once, where nobody says otherwise."""

HEADROOM = 0.98
"""Share of a limit that is used. Requests arrive a little earlier or later than they were let go;
at the full rate, every early one would meet a 429."""

BURST_SHARE = 0.8
"""Share of a burst that is used, for the same reason: right after it nothing is left for jitter."""

HAIR_S = 1e-6
"""A wait below this is none: on a clock of large numbers such a short step may not even move it,
and whoever was told to wait for it would wake too early for ever."""


class Load(NamedTuple):
    """What one attempt takes of its group's limits, in tokens: an estimate, then the truth."""

    input: float = 0.0
    output: float = 0.0


class Remaining(NamedTuple):
    """What a provider says is left of its limits; ``None`` where it says nothing."""

    requests: float | None = None
    tokens: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None


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

    def lower(self, left: float, age_s: float) -> None:
        """Take over what a provider said was left ``age_s`` seconds ago, if that is less.

        It has refilled since, and it rounds down; so the level comes down only as far as the
        report proves. It never goes up: what is configured is the limit.
        """
        self.level = min(self.level, left + 1.0 + self.rate * age_s)


def per_minute(limit: float, now: float, *, burst_s: float = BURST_S, fresh: bool = True) -> Bucket:
    """A bucket for a limit per minute.

    A fresh one starts with a burst's worth; one that takes over from an earlier life starts
    empty, because what that life has used is not known.
    """
    rate = limit / 60.0 * HEADROOM
    capacity = max(1.0, limit / 60.0 * burst_s * BURST_SHARE)
    return Bucket(rate, capacity, capacity if fresh else 0.0, now)


@dataclass(slots=True)
class RateGroup:
    """The limits that several models share. ``None`` means: not limited in this way.

    ``tokens`` counts input and output together, as some providers do; others count them apart.
    ``adaptive`` looks for a concurrency of its own where no limit is known; ``breaker`` leaves a
    provider alone that is down.
    """

    requests: Bucket | None = None
    tokens: Bucket | None = None
    input_tokens: Bucket | None = None
    output_tokens: Bucket | None = None
    concurrency: int | None = None
    adaptive: AdaptiveConcurrency | None = None
    breaker: CircuitBreaker | None = None
    in_flight: int = 0
    paused_until: float = field(default=0.0)

    @property
    def open_breaker(self) -> CircuitBreaker | None:
        """The breaker, while it keeps attempts away from a provider that is down."""
        return self.breaker if self.breaker is not None and self.breaker.is_open else None

    def wait(self, now: float, load: Load) -> float | None:
        """Seconds until an attempt of about this load may start; 0 is now.

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
        for bucket, amount in self._charges(1.0, load):
            bucket.advance(now)
            delay = max(delay, bucket.wait_for(amount))
        return delay

    def take(self, now: float, load: Load) -> None:
        """Start an attempt; the caller has seen ``wait`` return 0."""
        self.in_flight += 1
        if self.adaptive is not None:
            self.adaptive.started(self.in_flight)
        if self.breaker is not None:
            self.breaker.sent()
        for bucket, amount in self._charges(1.0, load):
            bucket.advance(now)
            bucket.level -= amount

    def finish(self, estimated: Load, actual: Load | None) -> None:
        """End an attempt and correct the tokens that were charged by estimate."""
        self.in_flight -= 1
        if self.adaptive is not None:
            self.adaptive.finished(self.in_flight)
        if actual is None:
            return
        back = Load(estimated.input - actual.input, estimated.output - actual.output)
        for bucket, amount in self._charges(0.0, back):
            bucket.level = min(bucket.capacity, bucket.level + amount)

    def hear(self, health: Health, now: float) -> None:
        """Learn from how an attempt went."""
        if self.adaptive is not None and health == "limited":
            self.adaptive.limited(now)
        if self.breaker is not None:
            if health == "down":
                self.breaker.failed(now)
            else:
                self.breaker.succeeded()

    def correct(self, left: Remaining, age_s: float, now: float) -> None:
        """Lower the levels to what the provider said was left ``age_s`` seconds ago."""
        for bucket, said in (
            (self.requests, left.requests),
            (self.tokens, left.tokens),
            (self.input_tokens, left.input_tokens),
            (self.output_tokens, left.output_tokens),
        ):
            if bucket is not None and said is not None:
                bucket.advance(now)
                bucket.lower(said, age_s)

    def pause(self, until: float) -> None:
        """Let nobody in before ``until``: the provider said 429."""
        self.paused_until = max(self.paused_until, until)

    @property
    def _full(self) -> bool:
        if self.concurrency is not None and self.in_flight >= self.concurrency:
            return True
        return self.adaptive is not None and self.in_flight >= self.adaptive.allowed

    def _charges(self, requests: float, load: Load) -> Iterator[tuple[Bucket, float]]:
        if self.requests is not None:
            yield self.requests, requests
        if self.tokens is not None:
            yield self.tokens, load.input + load.output
        if self.input_tokens is not None:
            yield self.input_tokens, load.input
        if self.output_tokens is not None:
            yield self.output_tokens, load.output
