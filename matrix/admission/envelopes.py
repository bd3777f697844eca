"""Caps on parts of a run: on each session, and on all calls of one role.

An envelope stands beside the ledger, which keeps the cap of the whole run, and works the same way:
money is set aside before an attempt and settled after it, so no part exceeds its cap either. An
attempt may belong to several envelopes, and needs room in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from matrix.model.money import NanoUSD


@dataclass(slots=True)
class _Envelope:
    cap: NanoUSD
    spent: NanoUSD
    held: NanoUSD = 0
    closed: bool = False


@dataclass(slots=True)
class Envelopes:
    """The capped parts of one run, by name."""

    _open: dict[str, _Envelope] = field(default_factory=dict)

    def open(self, name: str, cap: NanoUSD, spent: NanoUSD = 0) -> None:
        """Start an envelope, with what was spent of it before; one with holds out goes on."""
        known = self._open.setdefault(name, _Envelope(cap, spent))
        known.closed = False

    def close(self, name: str) -> None:
        """Forget an envelope once nothing of it is in flight any more."""
        if (one := self._open.get(name)) is not None:
            one.closed = True
            self._sweep(name, one)

    def spent_up(self, names: Iterable[str], amount: NanoUSD) -> str | None:
        """The first envelope that ``amount`` will never fit into, however attempts in flight end.

        What is in flight may come back cheaper, so only one without anything in flight is sure.
        """
        for name in names:
            one = self._open.get(name)
            if one is not None and not one.held and one.spent + amount > one.cap:
                return name
        return None

    def left(self, name: str) -> NanoUSD:
        """What may still be spent of an envelope; 0 if there is none of this name."""
        one = self._open.get(name)
        return 0 if one is None else max(0, one.cap - one.spent)

    def fits(self, names: Iterable[str], amount: NanoUSD) -> bool:
        """Whether all of these envelopes have room now."""
        envelopes = (self._open.get(name) for name in names)
        return all(one is None or one.spent + one.held + amount <= one.cap for one in envelopes)

    def hold(self, names: Iterable[str], amount: NanoUSD) -> None:
        """Set money aside; the caller has seen that it fits."""
        for name in names:
            if (one := self._open.get(name)) is not None:
                one.held += amount

    def settle(self, names: Iterable[str], held: NanoUSD, spent: NanoUSD) -> None:
        """An attempt is over: its hold becomes what it spent."""
        for name in names:
            if (one := self._open.get(name)) is not None:
                one.held -= held
                one.spent += spent
                self._sweep(name, one)

    def _sweep(self, name: str, one: _Envelope) -> None:
        if one.closed and not one.held:
            del self._open[name]
