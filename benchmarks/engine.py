"""Model calls per second through everything, beside a bare asyncio loop over the same models."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.bare import BareLoop
from benchmarks.figures import Section
from benchmarks.runs import COUNTER_SPEC, Job, Played, WrongRun, play
from benchmarks.sizes import Sizes
from matrix.api import plan
from matrix.model.documents.overrides import from_flags

_RAY: Final = "Ray"
_IN_PROCESS: Final = "in-process"


class _Load(NamedTuple):
    """What is played: by every way of playing, the same."""

    name: str
    sessions: int
    spec: str | None
    goal: str


class _Bare(NamedTuple):
    """What the bare loop did: calls, calls per second, CPU milliseconds per call."""

    calls: float
    rate: float
    cpu_ms: float


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section: the counter kind, then play-tests."""
    for load in (
        _Load("counter", sizes.counter_sessions, COUNTER_SPEC % sizes.counter_turns, ">= 1,500"),
        _Load("play-test", sizes.sessions, None, ">= 1,000"),
    ):
        _measure(load, sizes, section)
    section.note(
        "steady: from the first answered call to the last, by the times in the journal; "
        "end to end: from the command to its exit, with Ray's start and the final tables."
    )
    section.note("The bare loop has one core and makes the same calls, journalling nothing.")


def _measure(load: _Load, sizes: Sizes, section: Section) -> None:
    bare = _bare(load, sizes)
    name, calls, how = load.name, bare.calls, "benchmarks.bare, this process"
    section.add(f"{name}: calls played by each", calls, "calls")
    section.add(f"{name}: bare asyncio loop", bare.rate, "calls/s", how)
    section.add(f"{name}: bare asyncio loop, CPU", bare.cpu_ms, "ms/call", how)
    for way in (_IN_PROCESS, _RAY):
        job = Job(load.sessions, load.spec, sizes.open_sessions, in_process=way == _IN_PROCESS)
        played = play(sizes.folder, f"{name}-{way}", job)
        if played.calls != calls:
            raise WrongRun(f"{name}: {way} made {played.calls} calls, the bare loop {calls}")
        goal = load.goal if way == _RAY else ""
        _report(f"{name}, {way}", played, bare, goal, section)


def _report(name: str, played: Played, bare: _Bare, goal: str, section: Section) -> None:
    steady = played.steady_rate
    section.add(f"{name}: steady", steady, "calls/s", played.command, goal)
    section.add(f"{name}: middle 80 % of calls", played.middle_rate, "calls/s", "same run")
    end_to_end = played.calls / played.watched.wall_s
    section.add(f"{name}: end to end", end_to_end, "calls/s", "same run")
    section.add(f"{name}: steady / bare loop", steady / bare.rate, "ratio", "same run")
    first, last = played.answered_at[0], played.answered_at[-1]
    busy = played.watched.cores_between(first, last)
    if not busy:  # over before it could be looked at twice
        return
    each = sum(busy.values()) * 1000 / steady
    section.add(f"{name}: CPU", each, "ms/call", "all processes, steady part")
    section.add(f"{name}: CPU / bare loop", each / bare.cpu_ms, "ratio", "same run")
    for role, cores in busy.items():
        how = f"{cores:.2f} processors busy, steady part"
        section.add(f"{name}: CPU of {role}", cores * 1000 / steady, "ms/call", how)


def _bare(load: _Load, sizes: Sizes) -> _Bare:
    """Play everything on a bare loop; medians of some repeats."""
    prepared = plan(
        _spec_file(load, sizes.folder),
        overrides=from_flags({"sessions": load.sessions, "max_cost": 1_000_000}),
    )
    found = []
    for _ in range(sizes.repeats):
        loop = BareLoop(prepared, sizes.open_sessions)
        began, used = time.perf_counter(), time.process_time()
        asyncio.run(loop.play())
        wall, cpu = time.perf_counter() - began, time.process_time() - used
        if loop.ended != load.sessions:
            raise WrongRun(f"{load.name}: {loop.ended} of {load.sessions} sessions ended")
        found.append(_Bare(loop.calls, loop.calls / wall, cpu * 1000 / loop.calls))
    return _Bare(*(median(values) for values in zip(*found, strict=True)))


def _spec_file(load: _Load, folder: Path) -> Path | None:
    if load.spec is None:
        return None
    path = folder / f"{load.name}.yaml"
    path.write_text(load.spec)
    return path
