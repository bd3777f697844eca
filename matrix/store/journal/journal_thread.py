"""A journal's writer in the one thread that uses it, for a process that lives on an event loop.

SQLite itself refuses every other thread, so that reads and writes cannot overtake each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from matrix.store.journal.journal import JournalWriter

T = TypeVar("T")


class JournalThread:
    """Owns a writer; whatever is to be done with it is handed in, and done in that order."""

    def __init__(self, path: Path) -> None:
        """Open for writing; see :class:`JournalWriter` for what it raises."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        try:
            self._writer = self._thread.submit(JournalWriter, path).result()
        except BaseException:
            self._thread.shutdown(wait=False)
            raise

    def do_now(self, work: Callable[[JournalWriter], T]) -> T:
        """Do something and wait for it, where no event loop runs yet."""
        return self._thread.submit(work, self._writer).result()

    async def do(self, work: Callable[[JournalWriter], T]) -> T:
        """Do something; what has begun is finished even if its caller is cancelled."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._writer)

    async def close(self) -> None:
        """Let go of the journal, after everything that was begun."""
        try:
            await self.do(JournalWriter.close)
        finally:
            self._thread.shutdown(wait=False)
