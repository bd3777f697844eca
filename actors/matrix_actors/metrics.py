"""A run's figures as Ray metrics, which Ray exports for Prometheus on every node.

They are made from the pictures that the driver takes anyway, a few times a second; no call is
counted twice or by itself. Where Ray has no metrics agent (``pip install 'ray[default]'`` brings
it), they go nowhere and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from matrix.engine.wire.messages import Picture
from matrix.model.money import to_usd
from matrix.model.records import OUTCOMES, Outcome


class Metric(NamedTuple):
    """One metric. A ``count`` only ever grows; Prometheus calls it ``..._total``."""

    name: str
    kind: Literal["gauge", "count"]
    text: str


METRICS: Final = (
    Metric("matrix_cap_usd", "gauge", "Hard cap on the run's money."),
    Metric("matrix_spent_usd", "gauge", "Settled and presumed spent."),
    Metric("matrix_presumed_usd", "gauge", "Presumed spent: nobody knows what the attempt cost."),
    Metric("matrix_held_usd", "gauge", "Set aside for attempts in flight."),
    Metric("matrix_overrun_usd", "gauge", "What providers billed above the holds."),
    Metric("matrix_in_flight", "gauge", "Attempts in flight."),
    Metric("matrix_waiting", "gauge", "Calls waiting for money or a rate limit."),
    Metric("matrix_calls", "count", "Calls answered."),
    Metric("matrix_attempts", "count", "Attempts sent."),
    Metric("matrix_retries", "count", "Attempts beyond a call's first."),
    Metric("matrix_rate_limited", "count", "Attempts that met a 429."),
    Metric("matrix_turns", "count", "Turns played."),
    Metric("matrix_tokens_in", "count", "Tokens read by models."),
    Metric("matrix_tokens_out", "count", "Tokens written by models."),
)

SESSIONS: Final = Metric("matrix_sessions", "gauge", "Sessions ended in this life, by outcome.")


def values_of(picture: Picture) -> dict[str, float]:
    """The value of every metric of :data:`METRICS` in a picture."""
    balance, counters = picture.balance, picture.counters
    return {
        "matrix_cap_usd": to_usd(balance.cap),
        "matrix_spent_usd": to_usd(balance.spent),
        "matrix_presumed_usd": to_usd(balance.presumed),
        "matrix_held_usd": to_usd(balance.held),
        "matrix_overrun_usd": to_usd(balance.overrun),
        "matrix_in_flight": counters.in_flight,
        "matrix_waiting": counters.waiting,
        "matrix_calls": counters.answered,
        "matrix_attempts": counters.attempts,
        "matrix_retries": counters.retries,
        "matrix_rate_limited": counters.rate_limited,
        "matrix_turns": counters.turns,
        "matrix_tokens_in": counters.tokens_in,
        "matrix_tokens_out": counters.tokens_out,
    }


class RunMetrics:
    """The metrics of one run, exported by the process that makes this."""

    def __init__(self, run_id: str) -> None:
        """Needs a Ray that has been joined."""
        from ray.util.metrics import Counter, Gauge

        kinds: Mapping[str, Any] = {"gauge": Gauge, "count": Counter}
        self._tags = {"run": run_id}
        self._metrics: dict[str, Any] = {
            name: kinds[kind](name, description=text, tag_keys=("run",))
            for name, kind, text in METRICS
        }
        self._sessions = Gauge(
            SESSIONS.name, description=SESSIONS.text, tag_keys=("run", "outcome")
        )
        self._last: dict[str, float] = {}

    def update(self, picture: Picture, outcomes: Mapping[Outcome, int]) -> None:
        """Set every metric to what it is now; counts grow by what has come since."""
        values = values_of(picture)
        for name, kind, _ in METRICS:
            if kind == "gauge":
                self._metrics[name].set(values[name], self._tags)
            elif (more := values[name] - self._last.get(name, 0.0)) > 0:
                self._metrics[name].inc(more, self._tags)
        for outcome in OUTCOMES:
            count = outcomes.get(outcome, 0)
            self._sessions.set(count, {**self._tags, "outcome": outcome})
        self._last = values
