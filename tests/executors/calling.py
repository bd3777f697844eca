"""Asks the governor of a run many times, and says by how much Ray's GCS has grown.

    calling.py <project folder> <questions>

Prints the growth in bytes per question.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from matrix.engine.run.setting_up import setup_of
from matrix.store.journal.journal import JOURNAL_NAME, JournalWriter
from matrix_actors.executor import RayExecutor
from tests.executors.driving import prepared_in, run_folder
from tests.executors.programs import processes_of

SETTLE_S = 3.0
"""Processes report to Ray's GCS every second, so what they have said is there by then."""


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def growth(folder: Path, questions: int) -> float:
    """Bytes per question; the first tenth is not counted."""
    prepared = prepared_in(folder)
    run_dir = run_folder(prepared, folder, "asked")
    JournalWriter(run_dir / JOURNAL_NAME).close()
    executor = RayExecutor(workers=1)
    await executor.start(setup_of(prepared, "asked", run_dir))
    try:
        (gcs,) = processes_of(os.getsid(0), "/gcs/gcs_server")
        before = 0
        for tenth in range(10):
            await asyncio.gather(*(executor.picture() for _ in range(questions // 10)))
            if tenth == 0:
                await asyncio.sleep(SETTLE_S)
                before = memory(gcs)
        await asyncio.sleep(SETTLE_S)
        return (memory(gcs) - before) / (questions * 0.9)
    finally:
        await executor.stop()


if __name__ == "__main__":
    print(asyncio.run(growth(Path(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
