"""Which session kills its worker? Found out without condemning the innocent.

When a worker dies, every session it played is put on another one. A session that was played by two
workers that died, and got no further between the two, has a strike: from then on it is played
alone. Only one that dies alone, twice, without getting further, is given up. So a machine that is
killed again and again condemns nobody, as long as sessions get on in between.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Fate = Literal["again", "alone", "poisoned"]

DEATHS_TOGETHER = 2
"""Deaths at one checkpoint after which a session is played alone."""

DEATHS_ALONE = 2
"""Deaths alone at one checkpoint after which a session is given up."""


@dataclass(slots=True)
class _Record:
    at: Hashable
    together: int = 0
    alone: int = 0


@dataclass(slots=True)
class PoisonDetector:
    """The deaths that sessions have seen, and how far each session had come by then."""

    _records: dict[str, _Record] = field(default_factory=dict)

    def died(self, reached: Mapping[str, Hashable], *, alone: bool) -> dict[str, Fate]:
        """A worker died; ``reached`` says how far each of its sessions had come.

        Returns:
            Session -> what is to become of it.
        """
        return {session: self._judge(session, at, alone) for session, at in reached.items()}

    def forget(self, sessions: Iterable[str]) -> None:
        """These sessions are over."""
        for session in sessions:
            self._records.pop(session, None)

    def _judge(self, session: str, at: Hashable, alone: bool) -> Fate:
        record = self._records.get(session)
        if record is None or record.at != at:
            record = self._records[session] = _Record(at)
        if alone:
            record.alone += 1
        else:
            record.together += 1
        if record.alone >= DEATHS_ALONE:
            return "poisoned"
        return "alone" if record.together >= DEATHS_TOGETHER or record.alone else "again"
