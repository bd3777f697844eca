"""What a simulated server has seen, for tests and benchmarks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from matrix.model.records import JSON, Usage


@dataclass(slots=True)
class Stats:
    """Counts since the start or the last reset.

    Attributes:
        requests: Requests for a completion, whatever became of them.
        accepted: Those that a model answered; the limits let them in and no fault refused them.
        rate_limited: Those that were answered 429, by the limits or by a fault.
        in_flight: Those being handled now.
        max_in_flight: The most that were handled at the same time.
        tokens_in: Input tokens of accepted requests, as counted (not as a fault reports them).
        tokens_out: Output tokens of accepted requests.
        statuses: HTTP status -> answers.
        faults: Name of a fault -> how often it was made.
    """

    requests: int = 0
    accepted: int = 0
    rate_limited: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        """A request has come."""
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def end(self) -> None:
        """A request has been answered, or its client has gone."""
        self.in_flight -= 1

    def answered(self, status: int) -> None:
        """An answer with this status is on its way."""
        self.statuses[status] += 1
        self.rate_limited += status == 429

    def accept(self, used: Usage) -> None:
        """A model has answered."""
        self.accepted += 1
        self.tokens_in += used.input
        self.tokens_out += used.output

    def as_data(self) -> dict[str, JSON]:
        """As JSON."""
        return {
            "requests": self.requests,
            "accepted": self.accepted,
            "rate_limited": self.rate_limited,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "faults": dict(sorted(self.faults.items())),
        }

    def reset(self) -> Stats:
        """Counts from now on; what is in flight stays so."""
        return Stats(in_flight=self.in_flight, max_in_flight=self.in_flight)
