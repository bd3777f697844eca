"""The limit groups of a run, as its governor keeps them: how much may be asked of whom."""

from __future__ import annotations

from matrix.admission.adaptive import AdaptiveConcurrency
from matrix.admission.breaker import CircuitBreaker
from matrix.admission.rates import Bucket, RateGroup, per_minute
from matrix.engine.wire.setup import GroupLimits, RunSetup

MOST_IN_FLIGHT = 1000
"""Where a limit group looks for its own concurrency, it never goes above this."""


def rate_groups(setup: RunSetup, now: float, *, fresh: bool) -> dict[str, RateGroup]:
    """A group for every limit group in use, from ``now`` on (monotonic seconds).

    Real providers that nobody has set a limit for look for their own concurrency, and every real
    provider has a breaker. Buckets of a ``fresh`` run are full.
    """
    real = {entry.group for entry in setup.models.values() if not entry.facts.simulated}
    groups = {}
    for name in sorted(setup.groups.keys() | {entry.group for entry in setup.models.values()}):
        limits = setup.groups.get(name, GroupLimits())
        groups[name] = _rate_group(limits, now, fresh=fresh)
        if name in real:
            groups[name].breaker = CircuitBreaker()
            if limits == GroupLimits():
                groups[name].adaptive = AdaptiveConcurrency(MOST_IN_FLIGHT)
    return groups


def _rate_group(limits: GroupLimits, now: float, *, fresh: bool) -> RateGroup:
    def bucket(limit: float | None) -> Bucket | None:
        if limit is None:
            return None
        return per_minute(limit, now, burst_s=limits.burst_s, fresh=fresh)

    return RateGroup(
        requests=bucket(limits.rpm),
        tokens=bucket(limits.tpm),
        input_tokens=bucket(limits.itpm),
        output_tokens=bucket(limits.otpm),
        concurrency=limits.concurrency,
    )
