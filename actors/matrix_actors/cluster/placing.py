"""How many session workers a run has, and on which nodes. Pure.

The driver's node holds the journal: governor, publisher and provider clients are there, and one of
its CPUs is left to them. Workers go to all other nodes first.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

MOST_WORKERS: Final = 32
"""Session workers of a run that says no number; one governor carries more, and gains little."""


class NodePlace(NamedTuple):
    """A node that sessions may be played on.

    Attributes:
        node: Its id.
        cpus: CPUs that Ray counts on it.
        last: Whether it is taken last: the head, or the driver's.
    """

    node: str
    cpus: float
    last: bool = False


def room(places: Sequence[NodePlace]) -> int:
    """Workers that these nodes have CPUs for; a node that is taken last keeps one for itself."""
    return sum(_room_of(place) for place in places)


def _room_of(place: NodePlace) -> int:
    whole = math.floor(place.cpus)
    return max(whole - 1, min(whole, 1)) if place.last else whole


def wanted_workers(places: Sequence[NodePlace], asked: int | None) -> int:
    """How many workers a run is to have now; at least one, for which a node may have to come."""
    if asked is not None:
        return asked
    return max(1, min(MOST_WORKERS, room(places)))


def avoided(number: int, places: Sequence[NodePlace], unusable: Collection[str]) -> tuple[str, ...]:
    """Nodes that worker ``number`` may not be placed on.

    These are the unusable ones, and those that are taken last while others have room for it.
    """
    elsewhere = room([place for place in places if not place.last])
    last = [place.node for place in places if place.last] if number < elsewhere else []
    return tuple(sorted({*unusable, *last}))


class Waiting(NamedTuple):
    """What workers that are not up yet may be waiting for.

    Attributes:
        coming: How many they are.
        placed: Those of them that Ray has given a CPU.
        free: CPUs that nobody has, on the nodes that fit.
        used: CPUs that somebody has there, this run's own workers included.
        own: Those of them that this run's workers have.
    """

    coming: int
    placed: int
    free: float
    used: float
    own: int

    @property
    def is_starting(self) -> bool:
        """Whether they have their CPUs, or only have to take them."""
        return self.coming - self.placed <= math.floor(self.free)

    @property
    def others(self) -> int:
        """CPUs that others use."""
        return max(0, math.ceil(self.used) - self.own)


def waiting_text(waiting: Waiting | None, requested: int, fitting: int) -> str:
    """What a run that has no worker yet is waiting for, in a line.

    Args:
        waiting: What Ray says of it; ``None`` if it does not say.
        requested: Workers that the run is to have.
        fitting: Workers that the nodes there are have CPUs for.
    """
    if waiting is not None and waiting.is_starting:
        are = "worker is" if requested == 1 else "workers are"
        return f"{waiting.coming} of {requested} {are} still starting; there is a CPU for each"
    fit = f"{fitting} {'fits' if fitting == 1 else 'fit'} on the nodes there are"
    if waiting is not None and waiting.others:
        fit += f", and others use {waiting.others} of their CPUs"
    workers = f"{requested} worker{'' if requested == 1 else 's'}"
    return (
        f"waiting for CPUs: {workers} wanted, {fit}; `ray status` says who has them, --workers "
        "asks for fewer"
    )


def cpus_here() -> int:
    """CPUs that this process may use: its affinity, and the limit of its container."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        allowed = os.cpu_count() or 1
    return max(1, min(allowed, math.ceil(quota(Path("/sys/fs/cgroup")) or allowed)))


def quota(groups: Path) -> float | None:
    """CPUs that the control group of a container allows; ``None`` for no limit."""
    try:
        share, _, period = (groups / "cpu.max").read_text().strip().partition(" ")
    except OSError:
        try:
            share = (groups / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (groups / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    try:
        return int(share) / int(period) if int(share) > 0 else None
    except (ValueError, ZeroDivisionError):
        return None  # "max"
