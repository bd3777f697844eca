"""The state of a session between two turns: cursors into the log and small counts.

About 1 kB of JSON for a session of usual length. Words live in the log, once; prompts and guides
in the session's resources, so that a branch with another prompt needs nothing changed in here.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=0, lt=2**31)]
"""Also a place in the log: states may come from a file."""


_NO_LONGER: Final = frozenset({"sketches"})
"""Parts that states of earlier versions have and nothing needs."""


class _Small(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class Seat(_Small):
    """A member of the group; ``persona`` is the log position of their system prompt."""

    name: str
    archetype: str
    persona: Count


class TangentBook(_Small):
    """The tangent under way (``since`` is 0 without one) and sums over those that are over.

    ``kind`` is what the one under way began with, ``about`` the same in the group's words where
    somebody who read it says so, ``subjects`` how many it has had, and ``words``
    those by which the narrator would take it up. ``handled`` is how each that is over
    was met, from 0 to 1, in order. ``returned`` is the turn of the newest output if that has led
    back to the story (else 0), with ``segue``, ``quality`` and whether it ``took_up`` the tangent:
    what the group does next decides whether it is over. ``explored`` counts turns in which the
    group looked around in the story, and ``followed`` those of them that were met as such.
    """

    since: int = 0
    initiator: str = ""
    kind: str = ""
    about: str = ""
    subjects: int = 0
    words: tuple[str, ...] = ()
    woven: int = 0
    spirals: int = 0
    handled: tuple[float, ...] = ()
    explored: int = 0
    followed: int = 0
    returned: int = 0
    took_up: bool = False
    segue: str = ""
    quality: float | None = None
    count: int = 0
    turns: int = 0
    longest: int = 0
    natural: int = 0
    forced: int = 0
    quality_sum: float = 0.0
    quality_count: int = 0


class Secret(_Small):
    """A private moment that has not paid off yet, and words that would show that it has."""

    turn: int
    target: str
    words: tuple[str, ...]


class MomentBook(_Small):
    """Private moments: how many, how many paid off, those still open, and how they were placed.

    ``followed`` counts those of which it could be seen whether they pay off. ``kept`` are those
    that nobody else knows of, each with the turn and the player; ``told`` counts those that the
    player shared, ``spoiled`` those that the narrator gave away. The rest are sums over all of them
    of what :class:`~matrix.kinds.playtest.detect.moments.Placing` has.
    """

    count: int = 0
    followed: int = 0
    paid: int = 0
    open: tuple[Secret, ...] = ()
    kept: tuple[tuple[int, str], ...] = ()
    told: int = 0
    spoiled: int = 0
    alignment: float = 0.0
    appropriateness: float = 0.0
    timing: float = 0.0


class RelayBook(_Small):
    """What spokespersons made of the group's words: relays, and sums over them."""

    count: int = 0
    misattributed: int = 0
    added: float = 0.0
    left_out: float = 0.0


class DroppedHistory(_Small):
    """What of the story the narrator was not shown in the newest turn, but in a summary."""

    messages: Count = 0
    tokens: Count = 0


class Fact(_Small):
    """Something stated about the world, e.g. ``door`` is ``locked`` on the axis ``access``."""

    axis: str
    subject: str
    value: str
    turn: int


class UnconfirmedIssue(_Small):
    """An issue that a rule has reported, and a judge is asked about when the session is over.

    ``turn`` is that of the output, ``heard`` the place in the log where the output begins; the rest
    is what is to be recorded.
    """

    kind: str
    subject: str
    detail: str
    severity: str
    turn: Count
    heard: Count
    value: float | None = None
    data: dict[str, Any] | None = None


PULSE_TURNS_KEPT: Final = 120


class PlaytestState(_Small):
    """Everything a session needs to go on after any turn.

    ``beats`` are the guide's that were told, by their places from 0; ``dead`` are people and the
    turns of their deaths; ``broken`` are people who have acted against their nature;
    ``unconfirmed`` are issues that do not count yet.
    """

    seats: tuple[Seat, ...]
    spokesperson: Count
    relay_prompt: Count
    story_at: Count
    turns: Count = 0
    blanks: int = 0
    concluded: bool = False
    pulses: int = 0
    pulse_turns: tuple[int, ...] = ()
    last_pulse: int = 0
    widest_gap: int = 0
    tangents: TangentBook = TangentBook()
    moments: MomentBook = MomentBook()
    relays: RelayBook = RelayBook()
    dropped: DroppedHistory | None = None
    repeats: tuple[int, ...] = ()
    facts: tuple[Fact, ...] = ()
    strangers: tuple[str, ...] = ()
    issues: dict[str, int] = {}
    beats: tuple[int, ...] = ()
    dead: dict[str, int] = {}
    broken: tuple[str, ...] = ()
    unconfirmed: tuple[UnconfirmedIssue, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, state: Any) -> Any:
        if isinstance(state, dict) and not _NO_LONGER.isdisjoint(state):
            return {name: part for name, part in state.items() if name not in _NO_LONGER}
        return state

    @property
    def last_told(self) -> int:
        """Turn of the newest pulse that counts; 0 without one.

        ``last_pulse`` is that of the newest output that looked like one. It stands in for it where
        there are more than are kept.
        """
        if len(self.pulse_turns) >= PULSE_TURNS_KEPT:
            return self.last_pulse
        return self.pulse_turns[-1] if self.pulse_turns else 0

    def seat_of(self, name: str) -> Seat | None:
        """The seat that somebody has, by name as it is spelt."""
        return next((seat for seat in self.seats if seat.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the group, in seat order."""
        return tuple(seat.name for seat in self.seats)
