"""Caps on parts of a run: on each session, and on all calls of one role.

They stand beside the ledger, which keeps the cap of the whole run, and work the same way: money is
set aside before an attempt and settled after it, so a part never exceeds its cap either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from matrix.model.money import NanoUSD

Room = Literal["fits", "wait", "never"]
"""``wait``: not now, but money of this part is in flight and may come back."""


@dataclass(slots=True)
class _Part:
    cap: NanoUSD
    spent: NanoUSD = 0
    held: NanoUSD = 0

    def room(self, amount: NanoUSD) -> Room:
        if self.spent + self.held + amount <= self.cap:
            return "fits"
        return "wait" if self.held else "never"


@dataclass(slots=True)
class PartCaps:
    """The parts of one run.

    Attributes:
        per_session: Cap on each session; ``None`` for none.
        per_role: Role -> cap on all its calls; roles that are not named have none.
    """

    per_session: NanoUSD | None = None
    per_role: Mapping[str, NanoUSD] = field(default_factory=dict)
    _sessions: dict[str, _Part] = field(default_factory=dict)
    _roles: dict[str, _Part] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether there is any cap to keep."""
        return self.per_session is not None or bool(self.per_role)

    def room(self, session_id: str, role: str, amount: NanoUSD) -> Room:
        """Whether an attempt fits: the worst answer of the parts it belongs to."""
        answers = [part.room(amount) for part in self._parts(session_id, role)]
        return "never" if "never" in answers else "wait" if "wait" in answers else "fits"

    def hold(self, session_id: str, role: str, amount: NanoUSD) -> None:
        """Set money aside; the caller has seen that it fits."""
        for part in self._parts(session_id, role):
            part.held += amount

    def close(self, session_id: str, role: str, held: NanoUSD, spent: NanoUSD) -> None:
        """An attempt is over: its hold becomes what it spent."""
        for part in self._parts(session_id, role):
            part.held -= held
            part.spent += spent

    def restore(self, session_id: str, role: str, spent: NanoUSD) -> None:
        """Money spent in an earlier life of the run."""
        for part in self._parts(session_id, role):
            part.spent += spent

    def forget(self, session_id: str) -> None:
        """A session is over."""
        self._sessions.pop(session_id, None)

    def _parts(self, session_id: str, role: str) -> list[_Part]:
        parts = []
        if self.per_session is not None:
            parts.append(self._sessions.setdefault(session_id, _Part(self.per_session)))
        if role in self.per_role:
            parts.append(self._roles.setdefault(role, _Part(self.per_role[role])))
        return parts
