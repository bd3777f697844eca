"""A circuit breaker: a provider that is down is left alone, then tried with one request.

Closed, everything passes. After ``threshold`` failures in a row it opens: nothing passes for a
while. Then it is half open: one request goes through as a probe. A probe that succeeds closes it,
one that fails opens it again for twice as long, up to a ceiling. 429s are no failures here: they
are a sign of life.
"""

from __future__ import annotations

from dataclasses import dataclass

THRESHOLD = 12
FIRST_PAUSE_S = 10.0
LONGEST_PAUSE_S = 300.0
MOST_PROBES = 7
"""Probes that fail one after another, a quarter of an hour, after which nobody should wait."""


@dataclass(slots=True)
class CircuitBreaker:
    """Whether a limit group's provider is worth a request. Times in seconds, handed in."""

    threshold: int = THRESHOLD
    _failures: int = 0
    _pause_s: float = FIRST_PAUSE_S
    _open_until: float | None = None
    _probing: bool = False
    _probes: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it has tripped and no probe has succeeded since."""
        return self._open_until is not None

    @property
    def is_hopeless(self) -> bool:
        """Whether probe after probe has failed."""
        return self._probes >= MOST_PROBES

    def wait(self, now: float) -> float | None:
        """Seconds until a request may be sent; 0 is now, ``None`` until the probe is back."""
        if self._open_until is None:
            return 0.0
        if self._probing:
            return None
        return max(0.0, self._open_until - now)

    def sent(self) -> None:
        """A request was sent; if the circuit is open, it is the probe."""
        if self._open_until is not None:
            self._probing = True

    def succeeded(self) -> None:
        """The provider answered: the circuit closes."""
        self._failures, self._pause_s = 0, FIRST_PAUSE_S
        self._open_until, self._probing, self._probes = None, False, 0

    def failed(self, now: float) -> None:
        """The provider was unreachable, timed out or answered 5xx."""
        self._failures += 1
        if self._probing:
            self._probing = False
            self._probes += 1
            self._pause_s = min(LONGEST_PAUSE_S, self._pause_s * 2.0)
            self._open_until = now + self._pause_s
        elif self._open_until is None and self._failures >= self.threshold:
            self._open_until = now + self._pause_s
