"""What a run looks like from outside, for displays and logs: values, no drawing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from matrix.engine.governor.lingering import GRACE_S
from matrix.engine.prepare.estimate import CostInterval
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.wire.messages import Counters, Picture
from matrix.model.entries import Looked
from matrix.model.money import NanoUSD
from matrix.model.records import Outcome

_ERRORS: Final = 2


class VariantSoFar(NamedTuple):
    """Running scores of one level of the compared factor; ``planned`` are its sessions."""

    level: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    planned: int


class FailedSoFar(NamedTuple):
    """The newest session that failed or errored: which it was, and how it ended."""

    session_id: str
    outcome: Outcome
    error_class: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The run at one moment.

    ``eta_s`` is an estimate of the seconds left, or ``None`` while there is no basis for one.
    ``unplayed`` are planned sessions that looks at the scores have made needless so far; ``looks``
    says whether the run looks at all, and ``looked`` how many rounds the newest look covers.
    """

    elapsed_s: float
    planned: int
    opened: int
    open: int
    outcomes: Mapping[Outcome, int]
    picture: Picture
    calls_per_s: float
    variants: tuple[VariantSoFar, ...]
    eta_s: float | None
    draining: bool
    unplayed: int = 0
    looks: bool = False
    looked: int = 0
    failed: FailedSoFar | None = None

    @property
    def to_play(self) -> int:
        """Planned sessions that are not needless."""
        return self.planned - self.unplayed

    @property
    def ended(self) -> int:
        """Sessions with an outcome."""
        return sum(self.outcomes.values())

    @property
    def counters(self) -> Counters:
        return self.picture.counters

    @property
    def waits_for(self) -> str:
        """What a run that stops still waits for; empty while it goes on."""
        return waited_for(self.picture) if self.draining else ""


RunStatus = Literal["complete", "incomplete", "failed"]
EndReason = Literal[
    "done",
    "decided",
    "cap",
    "overrun",
    "interrupted",
    "time limit",
    "account",
    "provider",
    "defect",
    "failed",
]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended; ``detail`` is what must be done about it, where there is more to say.

    ``resume_with`` are options without which it would come no further when it is resumed.
    ``pilot`` is what its first round said the whole would cost. ``look`` is the newest look at the
    scores, ``unplayed`` the planned sessions that looks made needless, and ``saved`` what those
    were expected to cost. ``processes_lost`` and ``nodes_lost`` are of all lives that its
    log tells of.
    """

    run_id: str
    run_dir: Path
    status: RunStatus
    reason: EndReason
    detail: str
    resume_with: str
    progress: Progress
    pilot: CostInterval | None = None
    look: Looked | None = None
    unplayed: int = 0
    saved: NanoUSD = 0
    processes_lost: int = 0
    nodes_lost: int = 0


def waited_for(picture: Picture) -> str:
    """What keeps a run that stops from its end; empty if nothing does."""
    calls, idle = picture.counters.in_flight, picture.idle
    told = [f"{calls:,} call{'s' * (calls != 1)} in flight"] if calls else []
    if idle:
        sessions = f"{idle:,} session{'s' * (idle != 1)} in the kind's own code"
        told.append(f"{sessions}, let go {GRACE_S:.0f} s after the last call")
    return ", and for ".join(told)


class Listener(Protocol):
    """Somebody who shows what happens; every method must return quickly."""

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None:
        """The plan is known; processes are coming up."""
        ...

    def progress(self, progress: Progress) -> None:
        """A few times a second."""
        ...

    def note(self, text: str) -> None:
        """Something that must be seen: why a run ends early, or spends less than it might."""
        ...

    def remark(self, text: str) -> None:
        """Something worth a line of its own where progress is shown."""
        ...

    def last_word(self, text: str) -> None:
        """The process ends now, without its being taken down.

        Called in another thread while anything may be held, so it waits for no lock.
        """
        ...


def write_past_everything(text: str) -> None:
    """A line on standard error, whatever holds the stream."""
    with suppress(OSError):
        os.write(_ERRORS, f"{text}\n".encode())


class Silent:
    """A listener that shows nothing."""

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None: ...

    def progress(self, progress: Progress) -> None: ...

    def note(self, text: str) -> None: ...

    def remark(self, text: str) -> None: ...

    def last_word(self, text: str) -> None:
        """Even so: nobody else can say why the process is gone."""
        write_past_everything(text)
