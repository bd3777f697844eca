"""The publisher: makes Parquet tables from the journal while the run goes on.

It is synchronous and does a bounded amount of work per :meth:`Publisher.step`. What it has read
but not yet published is only in memory: killed at any moment, the next publisher finds out from
the names of the parts where to go on, and no row is lost or doubled.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Final

import pyarrow as pa

from matrix.model.errors import RunLocked, StoreError
from matrix.model.records import SessionPlan
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.journal.journal import JournalRow as JournalRow
from matrix.store.run.disk import Disk
from matrix.store.run.own_files import open_lock
from matrix.store.run.schema import Row, RunInfo
from matrix.store.tables.folders import WORK_FOLDER, TableFolders
from matrix.store.tables.projection import PROJECTED, ProjectedRows
from matrix.store.tables.tables import TABLES

_LOOK_EVERY_S: Final = 0.1

_UNFINISHED_BATCH: Final = 10_000
"""Rows for sessions that did not end are added in batches of this many."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done at a time.

    Attributes:
        entries: Most journal entries read by one step.
        part_bytes: Rows are published once they take about this much memory, in bytes.
    """

    entries: int = 20_000
    part_bytes: int = 64 * 1024 * 1024


class Publisher:
    """The one publisher of a run. Use from one thread at a time, and close it."""

    def __init__(
        self,
        run_dir: Path,
        info: RunInfo,
        *,
        disk: Disk | None = None,
        pace: Pace | None = None,
        patience_s: float = 0.0,
    ) -> None:
        """Take the tables over as the last publisher left them, however it ended.

        ``patience_s`` is how long to wait for another publisher to let go of them.

        Raises:
            RunLocked: Another process is publishing this run.
            StoreError: The folder cannot be written.
        """
        self._run_dir = run_dir
        self._info = info
        self._pace = pace or Pace()
        self._reader: JournalReader | None = None
        self._folders = TableFolders(run_dir, info, disk or Disk())
        self._projection = ProjectedRows(info, self._look_back)
        self._read_to = 0
        with self._storing():
            (run_dir / WORK_FOLDER).mkdir(parents=True, exist_ok=True)
            self._lock = _lock(run_dir, patience_s)
            try:
                self._folders.recover()
            except BaseException:
                self._lock.close()
                raise
        self._start_over()

    def __enter__(self) -> Publisher:
        """The publisher itself; it is closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    @property
    def open_sessions(self) -> int:
        """Sessions that it holds in memory; finished ones are forgotten."""
        return self._projection.open_sessions

    def step(self, flush: bool = False) -> int:
        """Read the next journal entries, and publish once enough rows have gathered.

        Args:
            flush: Publish what there is, however little.

        Returns:
            Entries consumed; 0 when the journal has no more for now (or does not exist yet).

        Raises:
            StoreError: The tables cannot be written (disk full ...). No half-written part is
                visible and nothing is lost: step again once that is repaired.
        """
        if self._reader is None and not (self._run_dir / JOURNAL_NAME).is_file():
            return 0
        with self._storing():
            last = self._journal().last_seq()
        compacted_to = self._folders.compacted_to
        if compacted_to is not None and last > compacted_to:
            self._drop()
        if self._projection.size >= self._pace.part_bytes:
            self._publish()
        with self._storing():
            consumed = self._read(last)
        if flush or self._projection.size >= self._pace.part_bytes:
            self._publish()
        return consumed

    def finalize(self, planned: Iterable[SessionPlan], reason: str) -> None:
        """Publish the rest, account for every planned session, and compact the tables.

        Planned sessions that did not end get a provisional ``sessions`` row: ``censored``, with
        ``reason`` as its error class and the turns and costs of its newest checkpoint. May be
        called again, with another plan or after a failure; provisional rows are made anew.

        Args:
            planned: Every session of the plan; preludes are passed over.
            reason: Why some did not end, e.g. ``cap`` or ``interrupted``.

        Raises:
            StoreError: The tables cannot be written; call it again once that is repaired.
        """
        while self.step():
            pass
        self._publish()
        done = self._read_to
        with self._storing():
            for name in TABLES:
                if name == "sessions":
                    self._folders.compact(name, done, self._unfinished(planned, reason, done))
                elif not self._folders.is_compacted(name):
                    self._folders.compact(name, done)

    def rebuild(self) -> None:
        """Drop all tables and make them again from the journal, without provisional rows.

        Done when a run is resumed, because its sessions may end after all.

        Raises:
            StoreError: There is no journal (nothing is dropped then), or the tables cannot be
                written.
        """
        self._journal()
        self._drop()
        while self.step():
            pass
        self._publish()

    def close(self) -> None:
        """Let go of the tables. What was not published is read again by the next publisher."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._lock.close()

    def _journal(self) -> JournalReader:
        if self._reader is None:
            self._reader = JournalReader(self._run_dir / JOURNAL_NAME)
        return self._reader

    def _read(self, last: int) -> int:
        before = self._read_to
        up_to = before + self._pace.entries
        for seq, entry in self._journal().rows(before, last, PROJECTED):
            if seq > up_to:
                if self._read_to > before:
                    self._read_to = up_to
                    break
                up_to = seq  # a journal may be anybody's, and its numbers have any gaps
            self._projection.add(seq, entry)
            self._read_to = seq
            if self._projection.size >= self._pace.part_bytes:
                break
        else:
            self._read_to = max(before, last)
        return self._read_to - before

    def _publish(self) -> None:
        projection = self._projection
        if not projection.anything:
            return
        with self._storing():
            self._folders.retract(projection.superseded)
            self._folders.publish(
                {name: projection.live_rows(name) for name in TABLES}, self._read_to
            )
        projection.clear()

    def _unfinished(
        self, planned: Iterable[SessionPlan], reason: str, done: int
    ) -> Iterator[list[Row]]:
        journal = self._journal()
        look = journal.newest_look()
        rows = (
            self._projection.unfinished_row(plan, reason, done + 1, look)
            for plan in planned
            if plan.part == "play" and not journal.has_ended(plan.session_id)
        )
        while batch := list(islice(rows, _UNFINISHED_BATCH)):
            yield batch

    def _drop(self) -> None:
        with self._storing():
            self._folders.drop()
        self._start_over()

    def _start_over(self) -> None:
        self._projection = ProjectedRows(self._info, self._look_back)
        self._read_to = self._folders.published

    def _look_back(self, session_id: str, before: int) -> Iterator[JournalRow]:
        return self._journal().session_rows(session_id, before=before)

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """Failures of the disk as this project's own error."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise StoreError(
                f"cannot write the tables of {self._run_dir}: {error}; nothing is lost, the "
                "journal has everything: free some space or repair the folder and try again"
            ) from error


def _lock(run_dir: Path, patience_s: float) -> IO[bytes]:
    """A lock that dies with its process: two publishers would publish everything twice."""
    handle = open_lock(run_dir / WORK_FOLDER / "lock")
    deadline = time.monotonic() + patience_s
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            handle.close()
            raise RunLocked(
                f"another process is publishing the tables of {run_dir.name}; "
                "wait for it or stop it first"
            )
        time.sleep(_LOOK_EVERY_S)
    return handle


def _try_lock(handle: IO[bytes]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
