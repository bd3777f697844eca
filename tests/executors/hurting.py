"""Plays a project's spec on Ray and hurts its processes at given moments.

    hurting.py <project folder> <run id> <JSON list of [turns, place, signal]> [<seconds to hang>]

Prints how the run ended and who was hurt, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from matrix.engine.progress import Progress, Silent
from matrix_actors.executor import HANG_S, RayExecutor
from tests.executors.driving import WithClients, drive


class Wound(NamedTuple):
    """Once so many turns are played, this process is hurt."""

    turns: int
    place: str
    signal: str


class Hurting(Silent):
    """Hurts processes as the run comes to its moments; each once it is up."""

    def __init__(self, executor: RayExecutor, wounds: list[Wound]) -> None:
        self._executor, self._wounds = executor, wounds
        self.hurt: list[str] = []

    def progress(self, progress: Progress) -> None:
        if not self._wounds or progress.counters.turns < self._wounds[0].turns:
            return
        wound = self._wounds[0]
        pid = self._executor.pids.get(wound.place)
        if pid is None:
            return  # it is being replaced
        with suppress(ProcessLookupError):  # it is dead already, but nobody has noticed yet
            os.kill(pid, getattr(signal, wound.signal))
            self._wounds.pop(0)
            self.hurt.append(wound.place)


def main(folder: str, run_id: str, wounds: str, hang_s: str = str(HANG_S)) -> None:
    executor = RayExecutor(workers=2, hang_s=float(hang_s))
    hurting = Hurting(executor, [Wound(*wound) for wound in json.loads(wounds)])
    end = asyncio.run(drive(Path(folder), run_id, WithClients(executor, 2), hurting))
    print(json.dumps({"status": end.status, "reason": end.reason, "hurt": hurting.hurt}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
