"""Many sessions on a server that takes its time: what a real run asks of this machine."""

from __future__ import annotations

from typing import Final

from benchmarks.figures import Section, mebibytes
from benchmarks.served import plain, rehearse
from benchmarks.sizes import Sizes
from benchmarks.throughput import report_cpu

LATENCY_MS: Final = 50.0
PROCESSES: Final = 2
_SLOW_MS: Final = 4_000.0
"""Latency at which a thousand requests are in flight at a few hundred a second."""
_WIDTH: Final = 25
_IN_FLIGHT: Final = 1_000


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section: the crowd, then how many requests one process can have in flight."""
    _crowd(sizes, section)
    _in_flight(sizes, section)
    section.note("memory: all processes of the run together, without the server; PSS.")


def _crowd(sizes: Sizes, section: Section) -> None:
    what = plain(
        LATENCY_MS,
        sessions=sizes.crowd,
        options={"turns": sizes.crowd_turns},
        processes=PROCESSES,
        memory=True,
    )
    played, [stats] = rehearse(sizes.folder, "crowd", what)
    name = f"{sizes.crowd} sessions of {sizes.crowd_turns} calls"
    ended = played.ended_at
    minutes = (ended[-1] - played.answered_at[0]) / 60
    section.add(f"{name}: calls", played.steady_rate, "calls/s", played.command, ">= 450")
    section.add(f"{name}: middle 80 % of calls", played.middle_rate, "calls/s", "", ">= 1,000")
    section.add(f"{name}: sessions", len(ended) / minutes, "sessions/min", "steady part")
    section.add(f"{name}: command to exit", played.watched.wall_s, "s")
    section.add(f"{name}: most in flight", stats["max_in_flight"], "requests", "by the server")
    report_cpu(name, played, section)
    section.add(f"{name}: peak memory", mebibytes(played.watched.peak_pss), "MiB", "PSS")
    for role, use in played.watched.by_role().items():
        if use.pss:
            section.add(f"{name}: peak memory of {role}", mebibytes(use.pss), "MiB", "PSS")


def _in_flight(sizes: Sizes, section: Section) -> None:
    what = plain(
        _SLOW_MS,
        sessions=_IN_FLIGHT // _WIDTH + 4,
        options={"turns": 3, "width": _WIDTH},
        processes=1,
    )
    played, [stats] = rehearse(sizes.folder, "in-flight", what)
    how = f"one provider process, by the server; {played.calls:,} calls of {_SLOW_MS / 1000:.0f} s"
    section.add("most requests in flight", stats["max_in_flight"], "requests", how, ">= 1,000")
