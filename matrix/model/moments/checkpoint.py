"""A moment of a session that can be played on from: everything it takes, in one value.

Read from a run's journal or from a file that was exported from one, it is the same value; what is
made of it (:mod:`matrix.engine.continuation.continuing`) does not ask where it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from matrix.model.entries import Settled, TurnDone
from matrix.model.errors import StoreError
from matrix.model.records import JSON, Message, Player, SessionPlan


class Contents(Protocol):
    """What working folders are made of, by content hash, wherever it is kept.

    Every method raises ``StoreError`` for what is not there or damaged.
    """

    @property
    def source(self) -> str:
        """Where it is kept, for messages."""
        ...

    def size(self, digest: str) -> int:
        """Bytes of a content."""
        ...

    def read(self, digest: str) -> bytes:
        """The whole of a small content."""
        ...

    def pieces(self, digest: str) -> Iterator[bytes]:
        """A content piece by piece."""
        ...


class HeldContents:
    """Contents in memory, whose hashes were compared when they were read."""

    def __init__(self, source: str, blobs: Mapping[str, bytes]) -> None:
        self._source, self._blobs = source, blobs

    @property
    def source(self) -> str:
        return self._source

    def size(self, digest: str) -> int:
        return len(self.read(digest))

    def read(self, digest: str) -> bytes:
        try:
            return self._blobs[digest]
        except KeyError:
            raise StoreError(
                f"{self._source} does not hold blob {digest[:16]}, which the working folder in it "
                "needs; export it anew"
            ) from None

    def held(self) -> Iterable[bytes]:
        """Every content."""
        return self._blobs.values()

    def pieces(self, digest: str) -> Iterator[bytes]:
        yield self.read(digest)


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
        contents: What the working folders that its turns name are made of; ``None`` where no
            turn names one.
        answers: What models answered after the last turn, when the session was over, in order;
            empty at an earlier moment, and in a file.
    """

    run_id: str
    spec: JSON
    plan: SessionPlan
    turns: tuple[TurnDone, ...]
    prelude: JSON
    texts: Mapping[str, JSON]
    contents: Contents | None = field(default=None, compare=False, repr=False)
    answers: tuple[Settled, ...] = field(default=(), compare=False, repr=False)

    @property
    def turn(self) -> int:
        """The turn that it is after; 0 after the start."""
        return self.turns[-1].turn

    @property
    def state(self) -> bytes:
        """The kind's state, as JSON."""
        return self.turns[-1].state

    @property
    def tree(self) -> str:
        """The session's working folder, by content; empty if it has none."""
        return self.turns[-1].tree

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
