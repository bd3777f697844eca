"""What the governor tells: every change once, nothing while nothing changes."""

from __future__ import annotations

from typing import Any

from matrix.admission.breaker import CircuitBreaker
from matrix.admission.ledger import Balance
from matrix.admission.rates import RateGroup
from matrix.engine.governor.watch import GovernorWatch
from matrix.model.entries import Disposition, Settled
from matrix.model.records import CallKey, Usage
from matrix.telemetry.log import NoLog

CALM = Balance(100, 0, 0, 0, 0)


class Events(NoLog):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def warning(self, event: str, **fields: Any) -> None:
        self.told.append((event, fields))

    error = warning

    @property
    def names(self) -> list[str]:
        return [event for event, _ in self.told]


def settled(disposition: Disposition, error: str) -> Settled:
    return Settled(
        1, CallKey("s", "turn", 1, "0"), 2, "narrator", "m", "", 5_000_000, disposition,
        5_000_000, Usage(), 0.0, 0.0, error, None, 0.0,
    )  # fmt: skip


def test_a_pause_is_told_once_and_again_when_it_grows() -> None:
    log, group = Events(), RateGroup()
    watch = GovernorWatch(log, {"openai": group}, CALM)
    watch.look([], 0.0)
    group.pause(12.0)
    watch.look([], 2.0)
    watch.look([], 3.0)
    group.pause(20.0)
    watch.look([], 4.0)
    assert log.told == [
        ("group.paused", {"group": "openai", "seconds": 10.0}),
        ("group.paused", {"group": "openai", "seconds": 16.0}),
    ]


def test_a_breaker_is_told_of_when_it_opens_and_when_it_closes() -> None:
    log, breaker = Events(), CircuitBreaker(threshold=2)
    watch = GovernorWatch(log, {"openai": RateGroup(breaker=breaker)}, CALM)
    for step in (breaker.failed, breaker.failed, breaker.failed):
        step(0.0)
        watch.look([], 0.0)
    breaker.succeeded()
    watch.look([], 1.0)
    assert log.names == ["breaker.opened", "breaker.closed"]


def test_money_that_nobody_can_account_for_is_told_of() -> None:
    log = Events()
    watch = GovernorWatch(log, {}, CALM)
    watch.look([settled("settled", ""), settled("released", "RateLimited")], 0.0)
    assert log.told == []
    watch.look([settled("presumed", "ProviderTimeout"), settled("presumed", "")], 0.0)
    assert [fields["error"] for _, fields in log.told] == ["ProviderTimeout", "UsageMissing"]
    assert log.told[0][1]["usd"] == 0.005


def test_an_overrun_is_told_of_with_whose_it_is_and_what_it_adds() -> None:
    log = Events()
    watch = GovernorWatch(log, {}, Balance(100, 0, 0, 0, 7))
    watch.look([settled("settled", "")], 0.0)
    assert log.told == []
    watch.look([settled("settled", "")._replace(overrun=1_000_000_000, agent="ann")], 0.0)
    ((event, fields),) = log.told
    assert event == "money.overrun"
    assert (fields["by_usd"], fields["in_all_usd"]) == (1.0, 1.000000007)
    assert (fields["cost_usd"], fields["hold_usd"]) == (1.005, 0.005)
    assert (fields["session"], fields["role"], fields["agent"]) == ("s", "narrator", "ann")
