"""The server's own rate limits: requests and tokens per minute, told in the usual headers.

Tokens are counted as they are used: the input when a request is let in, the output when it is
written. Nothing is set aside for ``max_tokens``, so a client that counts what it really used and
keeps to the same limits never meets a 429 for tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from matrix.admission.rates import BURST_S, Bucket, RateGroup
from matrix.serving.api_errors import ApiError, rate_limited

Clock = Callable[[], float]


def _bucket(per_minute: float | None, burst_s: float, now: float) -> Bucket | None:
    if per_minute is None:
        return None
    capacity = max(1.0, per_minute / 60.0 * burst_s)
    return Bucket(per_minute / 60.0, capacity, capacity, now)


class Limiter:
    """Lets requests in or answers 429.

    Args:
        rpm: Requests per minute, ``None`` for no limit.
        tpm: Tokens per minute, ``None`` for no limit.
        burst: Requests that may come at once after a rest; both buckets hold as many seconds of
            refill as that takes. ``None`` is :data:`~matrix.admission.rates.BURST_S` seconds.
        clock: Seconds of any monotonic clock.
    """

    def __init__(
        self, rpm: float | None, tpm: float | None, burst: float | None, clock: Clock
    ) -> None:
        self._clock, self._rpm, self._tpm = clock, rpm, tpm
        burst_s = BURST_S if burst is None or rpm is None else burst / (rpm / 60.0)
        now = clock()
        self._group = RateGroup(_bucket(rpm, burst_s, now), _bucket(tpm, burst_s, now))
        self._limited = rpm is not None or tpm is not None

    def admit(self, model: str, tokens: int) -> None:
        """Let a request of ``tokens`` input tokens in; :meth:`settle` follows.

        Raises:
            ApiError: 429, with the time to wait.
        """
        if not self._limited:
            return
        now = self._clock()
        delay = self._group.wait(now, tokens)
        if delay:
            raise self._refusal(model, tokens, delay)
        self._group.take(now, tokens)

    def settle(self, admitted: int, used: int) -> None:
        """Correct what was counted for a request once it is known what it used."""
        if self._limited:
            self._group.finish(admitted, used)

    def headers(self) -> dict[str, str]:
        """``x-ratelimit-*``: what is left at this moment and when the buckets are full again."""
        found: dict[str, str] = {}
        for name, limit, bucket in (
            ("requests", self._rpm, self._group.requests),
            ("tokens", self._tpm, self._group.tokens),
        ):
            if bucket is not None:
                bucket.advance(self._clock())
                found[f"x-ratelimit-limit-{name}"] = f"{limit:.0f}"
                found[f"x-ratelimit-remaining-{name}"] = str(max(0, math.floor(bucket.level)))
                full = (bucket.capacity - bucket.level) / bucket.rate
                found[f"x-ratelimit-reset-{name}"] = show_duration(full)
        return found

    def _refusal(self, model: str, tokens: int, delay: float) -> ApiError:
        requests = self._group.requests
        short_of_requests = requests is not None and requests.wait_for(1.0) > 0
        what, limit, asked = (
            ("requests", self._rpm, 1) if short_of_requests else ("tokens", self._tpm, tokens)
        )
        wait_ms = max(1, math.ceil(delay * 1000))
        headers = {"retry-after": str(-(-wait_ms // 1000)), "retry-after-ms": str(wait_ms)}
        return rate_limited(model, what, limit or 0.0, asked, headers, f"{wait_ms}ms")


def show_duration(seconds: float) -> str:
    """``0.0123`` -> ``12ms``, ``61.5`` -> ``1m1.5s``: the form that these headers have."""
    ms = max(0, math.ceil(seconds * 1000))
    if ms < 1000:
        return f"{ms}ms"
    minutes, rest = divmod(ms, 60_000)
    return f"{minutes}m{rest / 1000:g}s" if minutes else f"{rest / 1000:g}s"
