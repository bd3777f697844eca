"""Tells the log what the governor decided: pauses, breakers, overruns, money presumed spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matrix.admission.ledger import Balance
from matrix.admission.rates import RateGroup
from matrix.model.entries import Entry, Settled
from matrix.model.money import NanoUSD, to_usd
from matrix.telemetry.log import Log


class GovernorWatch:
    """Compares the groups and the balance with what they were at the last look."""

    def __init__(self, log: Log, groups: Mapping[str, RateGroup], balance: Balance) -> None:
        self._log, self._groups = log, groups
        self._paused = {name: group.paused_until for name, group in groups.items()}
        self._open = {name: group.open_breaker is not None for name, group in groups.items()}
        self._overrun: NanoUSD = balance.overrun

    def look(self, entries: Sequence[Entry], now: float) -> None:
        """Tell what has changed; ``entries`` are those of this tick, ``now`` in seconds."""
        for entry in entries:
            if type(entry) is Settled and entry.disposition == "presumed":
                self._presumed(entry)
            if type(entry) is Settled and entry.overrun:
                self._overran(entry)
        for name, group in self._groups.items():
            if group.paused_until > self._paused[name]:
                self._paused[name] = group.paused_until
                self._log.warning(
                    "group.paused", group=name, seconds=round(group.paused_until - now, 3)
                )
            if (is_open := group.open_breaker is not None) != self._open[name]:
                self._open[name] = is_open
                event = "breaker.opened" if is_open else "breaker.closed"
                self._log.warning(event, group=name)

    def _overran(self, entry: Settled) -> None:
        self._overrun += entry.overrun
        self._log.error(
            "money.overrun",
            **_attempt(entry),
            role=entry.role,
            agent=entry.agent,
            cost_usd=to_usd(entry.cost + entry.overrun),
            hold_usd=to_usd(entry.held),
            by_usd=to_usd(entry.overrun),
            in_all_usd=to_usd(self._overrun),
        )

    def _presumed(self, entry: Settled) -> None:
        self._log.warning(
            "money.presumed_spent",
            **_attempt(entry),
            error=entry.error_class or "UsageMissing",
            usd=to_usd(entry.cost),
        )


def _attempt(entry: Settled) -> dict[str, Any]:
    """Which attempt an event is about."""
    return {
        "session": entry.key.session_id,
        "call": str(entry.key),
        "attempt": entry.attempt,
        "model": entry.model,
    }
