"""Calls per second to a server, through everything, beside bare ``litellm.acompletion`` loops.

Both ways use the same number of processes that send requests and meet the same server, one after
the other; the bare loops run before and after each run of ``matrix``, and their mean counts.
Everything shares this machine's processors, the server included.
"""

from __future__ import annotations

import asyncio
from statistics import mean
from typing import Final, NamedTuple

from benchmarks.bare_litellm import IN_FLIGHT, Pace, Work, together
from benchmarks.figures import Section
from benchmarks.runs import Played
from benchmarks.served import SERVER, plain, rehearse
from benchmarks.sizes import Sizes
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer

PROCESSES: Final = 2
LATENCIES_MS: Final = (0.0, 50.0)
_BARE_S: Final = 5.0


class _History(NamedTuple):
    """Messages of each call; the share of the calls that are made; the goal for the ratio."""

    messages: int
    share: float
    goal: str


_HISTORIES: Final = (
    _History(2, 1.0, ">= 0.8"),
    _History(50, 0.75, ">= 3"),
    _History(200, 0.35, ">= 8"),
)


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section, for every latency and length of history."""
    for latency_ms in LATENCIES_MS:
        for history in _HISTORIES:
            _measure(latency_ms, history, sizes, section)
    section.note(
        f"{PROCESSES} processes send requests either way, with {IN_FLIGHT} sessions or calls for "
        "each; calls/s of matrix by the middle 80 % of the answers in the journal."
    )
    section.note("CPU of litellm.acompletion: its processes alone; of matrix: all its processes.")


def _measure(latency_ms: float, history: _History, sizes: Sizes, section: Section) -> None:
    name = f"{latency_ms:.0f} ms, {history.messages} messages"
    sessions = PROCESSES * IN_FLIGHT
    turns = max(2, round(sizes.served_calls * history.share / sessions))
    what = plain(
        latency_ms,
        sessions=sessions,
        options={"turns": turns, "history": history.messages - 2},
        processes=PROCESSES,
    )
    before = _bare(latency_ms, history.messages)
    played = rehearse(sizes.folder, f"served-{latency_ms:.0f}-{history.messages}", what).played
    after = _bare(latency_ms, history.messages)
    bare = Pace(*(mean(pair) for pair in zip(before, after, strict=True)))
    how = f"before {before.calls_per_s:,.0f}, after {after.calls_per_s:,.0f}"
    section.add(f"{name}: litellm.acompletion", bare.calls_per_s, "calls/s", how)
    section.add(f"{name}: litellm.acompletion, CPU", bare.cpu_ms, "ms/call")
    rate = played.middle_rate
    section.add(f"{name}: matrix", rate, "calls/s", played.command)
    section.add(f"{name}: matrix / litellm", rate / bare.calls_per_s, "ratio", "", history.goal)
    if own_ms := report_cpu(name, played, section):
        section.add(f"{name}: CPU of litellm / matrix", bare.cpu_ms / own_ms, "ratio")


def report_cpu(name: str, played: Played, section: Section) -> float:
    """Add the processor time per call of every kind of process, in the steady part of a run.

    Returns:
        Milliseconds per call of all processes of the run; 0 if it was over too soon to look at.
    """
    tenth = played.calls // 10
    busy = played.watched.cores_between(
        played.answered_at[tenth], played.answered_at[played.calls - tenth - 1]
    )
    cores_own = sum(cores for role, cores in busy.items() if role != SERVER)
    own_ms = cores_own * 1000 / played.middle_rate
    if busy:
        section.add(f"{name}: matrix, CPU", own_ms, "ms/call")
    for role, cores in busy.items():
        if cores >= 0.005:
            how = f"{cores:.2f} processors busy"
            each = cores * 1000 / played.middle_rate
            section.add(f"{name}: CPU of {role}", each, "ms/call", how)
    return own_ms


def _bare(latency_ms: float, messages: int) -> Pace:
    return asyncio.run(_bare_served(latency_ms, messages))


async def _bare_served(latency_ms: float, messages: int) -> Pace:
    async with SimServer(ServeOptions(latency_ms=latency_ms)) as server:
        work = Work(server.url, messages, _BARE_S)
        return await asyncio.to_thread(together, work, PROCESSES, server.pid)
