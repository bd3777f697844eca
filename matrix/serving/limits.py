"""The server's own rate limits: requests and tokens per minute, told in the usual headers.

Tokens are counted as they are used: the input when a request is let in, the output when it is
written. Nothing is set aside for ``max_tokens``, so a client that counts what it really used and
keeps to the same limits never meets a 429 for tokens. Nothing is shared with the client's own
limiter, or a mistake there would be made on both sides and go unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from matrix.serving.api_errors import ApiError, rate_limited

Clock = Callable[[], float]

BURST_S = 6.0
"""Seconds of refill that may come at once, where the command line does not say."""


_HAIR_S = 1e-6
"""A wait below this is none: who came back exactly in time must not be sent away by rounding."""


class _Bucket:
    """``per_minute`` units a minute, and ``burst_s`` seconds of refill at once after a rest."""

    def __init__(self, per_minute: float, burst_s: float, now: float) -> None:
        self.limit = per_minute
        self.rate = per_minute / 60.0
        self.capacity = max(1.0, self.rate * burst_s)
        self._level, self._at = self.capacity, now

    def level(self, now: float) -> float:
        """What is there at this moment; below zero after more was used than was foreseen."""
        if now > self._at:
            self._level = min(self.capacity, self._level + (now - self._at) * self.rate)
            self._at = now
        return self._level

    def wait_for(self, amount: float, now: float) -> float:
        """Seconds until ``amount`` is there; more than the bucket holds waits for a full one."""
        return max(0.0, (min(amount, self.capacity) - self.level(now)) / self.rate)

    def take(self, amount: float, now: float) -> None:
        """Use ``amount``, or give it back if negative."""
        self._level = min(self.capacity, self.level(now) - amount)


class Limiter:
    """Lets requests in or answers 429.

    Args:
        rpm: Requests per minute, ``None`` for no limit.
        tpm: Tokens per minute, ``None`` for no limit.
        burst: Requests that may come at once after a rest; both buckets hold as many seconds of
            refill as that takes. ``None`` is :data:`BURST_S` seconds.
        clock: Seconds of any monotonic clock.
    """

    def __init__(
        self, rpm: float | None, tpm: float | None, burst: float | None, clock: Clock
    ) -> None:
        self._clock = clock
        burst_s = BURST_S if burst is None or rpm is None else burst / (rpm / 60.0)
        now = clock()
        self._requests = None if rpm is None else _Bucket(rpm, burst_s, now)
        self._tokens = None if tpm is None else _Bucket(tpm, burst_s, now)

    def admit(self, model: str, tokens: int) -> None:
        """Let a request of ``tokens`` input tokens in; :meth:`settle` follows.

        Raises:
            ApiError: 429, with the time to wait.
        """
        now = self._clock()
        waits = [
            (bucket.wait_for(amount, now), what, bucket, amount)
            for what, bucket, amount in (
                ("requests", self._requests, 1),
                ("tokens", self._tokens, tokens),
            )
            if bucket is not None
        ]
        longest = max(waits, key=lambda wait: wait[0], default=None)
        if longest is not None and longest[0] > _HAIR_S:
            raise _refusal(model, *longest)
        if self._requests is not None:
            self._requests.take(1, now)
        if self._tokens is not None:
            self._tokens.take(tokens, now)

    def settle(self, admitted: int, used: int) -> None:
        """Correct what was counted for a request once it is known what it used."""
        if self._tokens is not None:
            self._tokens.take(used - admitted, self._clock())

    def headers(self) -> dict[str, str]:
        """``x-ratelimit-*``: what is left at this moment and when the buckets are full again."""
        found: dict[str, str] = {}
        for name, bucket in (("requests", self._requests), ("tokens", self._tokens)):
            if bucket is not None:
                level = bucket.level(self._clock())
                found[f"x-ratelimit-limit-{name}"] = f"{bucket.limit:.0f}"
                found[f"x-ratelimit-remaining-{name}"] = str(max(0, math.floor(level)))
                full = (bucket.capacity - level) / bucket.rate
                found[f"x-ratelimit-reset-{name}"] = show_duration(full)
        return found


def _refusal(model: str, delay: float, what: str, bucket: _Bucket, asked: float) -> ApiError:
    wait_ms = max(1, math.ceil(delay * 1000))
    headers = {"retry-after": str(-(-wait_ms // 1000)), "retry-after-ms": str(wait_ms)}
    return rate_limited(model, what, bucket.limit, asked, headers, f"{wait_ms}ms")


def show_duration(seconds: float) -> str:
    """``0.0123`` -> ``12ms``, ``61.5`` -> ``1m1.5s``: the form that these headers have."""
    ms = max(0, math.ceil(seconds * 1000))
    if ms < 1000:
        return f"{ms}ms"
    minutes, rest = divmod(ms, 60_000)
    return f"{minutes}m{rest / 1000:g}s" if minutes else f"{rest / 1000:g}s"
