"""`--time-limit` is on play: what it takes to bring the processes up is not in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from matrix.engine.executors.executor import load_executor
from matrix.engine.run.driver import Driver
from matrix.engine.run.progress import RunEnd, Silent
from matrix.engine.wire.setup import RunSetup
from tests.executors.driving import WithClients, prepared_in, run_folder

SPEC = {
    "name": "count",
    "kind": "counter",
    "scenarios": ["one"],
    "options": {"turns": 3},
    "limits": {"cost_usd": 10, "run_minutes": 1, "open_sessions": 5},
}


class Clock:
    """Stands still but for what it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowToStart(WithClients):
    """Brings its processes up in five minutes."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(load_executor("in-process"), 0)
        self._clock = clock

    async def start(self, setup: RunSetup) -> None:
        await super().start(setup)
        self._clock.now += 300.0


class SlowToPlay(Silent):
    """Lets five minutes pass at the first progress."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def progress(self, progress: object) -> None:
        self._clock.now += 300.0


def end_of(folder: Path, listener: Silent, clock: Clock, sessions: int) -> RunEnd:
    (folder / "matrix.yaml").write_text(yaml.safe_dump({**SPEC, "sessions": sessions}))
    prepared = prepared_in(folder)
    run_dir = run_folder(prepared, folder, "one")
    driver = Driver(prepared, "one", run_dir, SlowToStart(clock), listener, clock=clock)
    return asyncio.run(driver.run())


@pytest.mark.slow
def test_a_slow_start_uses_up_no_time_limit(tmp_path: Path) -> None:
    end = end_of(tmp_path, Silent(), Clock(), sessions=300)
    assert (end.status, end.reason) == ("complete", "done")


def test_slow_play_does(tmp_path: Path) -> None:
    clock = Clock()
    end = end_of(tmp_path, SlowToPlay(clock), clock, sessions=4000)
    assert (end.status, end.reason) == ("incomplete", "time limit")
