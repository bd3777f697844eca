"""Plays a project's spec on Ray and hurts its processes at given moments.

    hurting.py <project folder> <run id> <JSON list of wounds> [<seconds to hang>]

Prints how the run ended, who was hurt and how often each place was filled, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

from matrix.engine.run.progress import Progress, Silent
from matrix.model.errors import MatrixError
from matrix_actors.executor import HANG_S, RayExecutor
from tests.executors.driving import WithClients, drive

FULL = "ENOSPC"
"""Instead of a signal: from now on the process can write only into the beginnings of files, as if
the disk were full."""

ROOM = {"governor": 16_384, "publisher": 500}
"""Place -> largest file in bytes: less than a journal or a Parquet part needs."""


class Wound(NamedTuple):
    """Once so many turns are played, this process is hurt.

    A process that is stopped (``SIGSTOP``) is continued after ``seconds``; with 0 it never is.
    """

    turns: int
    place: str
    how: str
    seconds: float = 0.0


class Hurting(Silent):
    """Hurts processes as the run comes to its moments; each once it is up."""

    def __init__(self, executor: RayExecutor, wounds: list[Wound]) -> None:
        self._executor, self._wounds = executor, wounds
        self.hurt: list[Wound] = []

    def progress(self, progress: Progress) -> None:
        for wound in [one for one in self._wounds if one.turns <= progress.counters.turns]:
            pid = self._executor.pids.get(wound.place)
            if pid is None:
                continue  # it is being replaced, and waits for nobody else
            with suppress(ProcessLookupError):  # it is dead already, but nobody has noticed yet
                self._inflict(wound, pid)
                self._wounds.remove(wound)
                self.hurt.append(wound)

    def _inflict(self, wound: Wound, pid: int) -> None:
        if wound.how == FULL:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (ROOM[wound.place],) * 2)
            return
        os.kill(pid, getattr(signal, wound.how))
        if wound.seconds:
            timer = Timer(wound.seconds, _wake, [pid])
            timer.daemon = True
            timer.start()


def _wake(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def main(folder: str, run_id: str, wounds: str, hang_s: str = str(HANG_S)) -> None:
    executor = RayExecutor(workers=2, hang_s=float(hang_s))
    hurting = Hurting(executor, [Wound(*wound) for wound in json.loads(wounds)])
    said: dict[str, Any]
    try:
        end = asyncio.run(drive(Path(folder), run_id, WithClients(executor, 2), hurting))
        said = {"status": end.status, "reason": end.reason}
    except MatrixError as error:
        said = {"status": "failed", "reason": str(error), "code": error.exit_code}
    incarnations = {member.place: member.incarnations for member in executor.supervisor.members}
    print(json.dumps(said | {"hurt": hurting.hurt, "incarnations": incarnations}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
