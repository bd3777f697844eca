"""How much each benchmark does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of every benchmark.

    Attributes:
        folder: Where runs are written; on the disk whose speed counts.
        sessions: Play-tests of the engine benchmark, about 200 calls each.
        counter_sessions: Sessions of the counter kind.
        counter_turns: Their turns, a call each.
        open_sessions: Sessions being played at the same time.
        main_job: Sessions of the whole job that is timed from command to verdict.
        looked_at: Sessions of the run that commands look at.
        few: Sessions of the smaller run that memory growth is taken from.
        many: Sessions of the larger one.
        growth_open: Sessions open at the same time in both.
        growth_turns: Turn limit in both, so that many sessions end in little time.
        entries: Journal entries, at least, that tables are made from.
        journal_sessions: Play-tests that those entries are copies of.
        compared_sessions: Sessions of the results folder that is compared.
        profiled: Play-tests that are profiled.
        overhead: Play-tests in which the journal's share is measured.
        repeats: Repeats of what is cheap; the median is reported.
        adapter_seconds: How long each client asks, per length of history.
        limit_seconds: How long rate limits are kept busy, for each number of processes.
        gateway_calls: Requests of a program at a metered address.
        served_calls: Calls of a run against a server without history; fewer with more.
        crowd: Sessions of the large run against a server.
        crowd_turns: Their turns, a call each.
        beside: Another checkout, built, whose program does the same in turn.
    """

    folder: Path
    sessions: int = 200
    counter_sessions: int = 600
    counter_turns: int = 20
    open_sessions: int = 200
    main_job: int = 500
    looked_at: int = 500
    few: int = 200
    many: int = 1000
    growth_open: int = 100
    growth_turns: int = 6
    entries: int = 50_000
    journal_sessions: int = 20
    compared_sessions: int = 100_000
    profiled: int = 40
    overhead: int = 200
    repeats: int = 3
    adapter_seconds: int = 4
    limit_seconds: int = 120
    gateway_calls: int = 2_000
    served_calls: int = 8_000
    crowd: int = 500
    crowd_turns: int = 20
    beside: Path | None = None
