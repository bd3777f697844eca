"""A moment of a session that can be played on from: everything it takes, in one value.

Read from a run's journal or from a file that was exported from one, it is the same value; what is
made of it (:mod:`matrix.engine.continuing`) does not ask where it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matrix.model.entries import TurnDone
from matrix.model.records import JSON, Message, Player, SessionPlan


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A session after one of its turns.

    Attributes:
        run_id: The run it is in.
        spec: That run's resolved spec, as JSON: its models, prices, limits, simulation.
        plan: The session, as it was planned.
        turns: Its checkpoints in order, without superseded ones: the start and every turn up to
            this moment, at least the start.
        prelude: What its round's shared preparation made; ``None`` without one.
        texts: Name -> text or data, for every name in ``plan.resources``.
    """

    run_id: str
    spec: JSON
    plan: SessionPlan
    turns: tuple[TurnDone, ...]
    prelude: JSON
    texts: Mapping[str, JSON]

    @property
    def turn(self) -> int:
        """The turn that it is after; 0 after the start."""
        return self.turns[-1].turn

    @property
    def state(self) -> bytes:
        """The kind's state, as JSON."""
        return self.turns[-1].state

    @property
    def log(self) -> tuple[Message, ...]:
        """Every message so far."""
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def players(self) -> tuple[Player, ...]:
        """The members of the group."""
        return tuple(player for turn in self.turns for player in turn.players)

    @property
    def versions(self) -> tuple[int, int]:
        """Versions of the kind and of its state that made it."""
        return self.turns[-1].versions
