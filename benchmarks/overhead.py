"""What the journal costs a call, as a share of everything that the call costs.

Play-tests on simulated models that answer at once, in this process, with the journal on the disk.
The whole is then what the engine, the kind, the models' own work and the tables take: with models
that take their time it is larger, and the journal's share smaller. Every transaction goes through
the loop's default executor, and is timed there, from its first encoded entry to the end of its
fsync. Two runs:

* *in line*: the loop waits while a transaction is written, so that times add up, and the journal's
  share of the wall time is what it is without anything to do meanwhile;
* *on a thread*, as runs are played: the share of CPU only, because the loop may go on meanwhile.

The whole reaches from the first transaction to the end of the last, without start and final tables.
Deciding what to journal is not counted, nor is reading the journal for the tables.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from benchmarks.figures import Section
from benchmarks.hotspots import NoThreads
from benchmarks.runs import PLENTY_USD, WrongRun, check_tables
from benchmarks.sizes import Sizes
from matrix import api
from matrix.engine.prepare.prepared import Prepared
from matrix.engine.run.progress import Silent
from matrix.model.documents.overrides import from_flags
from matrix.store.journal.codec import encode
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter

P = ParamSpec("P")
R = TypeVar("R")

_WARM_UP: Final = 2
"""Play-tests of the run before: imports and caches are not what is asked about."""


@dataclass(slots=True)
class Commits:
    """Every transaction of a run, together; seconds of wall time and of CPU.

    Attributes:
        count: Transactions.
        entries: Entries in them.
        wall_s: From the start of each to its end, added up.
        cpu_s: CPU of the thread that wrote them.
        whole_wall_s: From the start of the first to the end of the last.
        whole_cpu_s: CPU of the process in that time.
    """

    count: int = 0
    entries: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    whole_wall_s: float = 0.0
    whole_cpu_s: float = 0.0
    _first: tuple[float, float] | None = None

    def timed(self, append: Callable[[], R], entries: int) -> R:
        """Write one transaction."""
        wall, cpu, process = time.perf_counter(), time.thread_time(), time.process_time()
        self._first = self._first or (wall, process)
        written = append()
        ended = time.perf_counter()
        self.count += 1
        self.entries += entries
        self.wall_s += ended - wall
        self.cpu_s += time.thread_time() - cpu
        self.whole_wall_s = ended - self._first[0]
        self.whole_cpu_s = time.process_time() - self._first[1]
        return written


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section: in line, then on a thread."""
    _play(sizes, "warm-up", NoThreads(), _WARM_UP)
    commits, calls, run_dir = _play(sizes, "in-line", NoThreads(), sizes.overhead)
    _report("in line", commits, calls, section)
    how, whole = "same run", commits.whole_wall_s
    encoding = min(_encoding_s(run_dir), commits.cpu_s)
    parts = {
        "wall": commits.wall_s,
        "wall, CPU of encoding": encoding,
        "wall, CPU of SQLite": commits.cpu_s - encoding,
        "wall, waiting for the disk": commits.wall_s - commits.cpu_s,
    }
    for part, seconds in parts.items():
        section.add(f"in line: journal's share of {part}", 100 * seconds / whole, "%", how)
    commits, calls, _ = _play(sizes, "thread", ThreadPoolExecutor(), sizes.overhead)
    _report("on a thread", commits, calls, section)
    section.note("The whole: from the first transaction to the end of the last. Encoding is timed")
    section.note("by doing it again after the run; waiting includes what other programs take.")


def _report(way: str, commits: Commits, calls: int, section: Section) -> None:
    how = f"in-process executor, {calls:,} calls"
    section.add(f"{way}: calls per transaction", calls / commits.count, "calls", how)
    each = 1000 / calls
    section.add(f"{way}: wall per call", commits.whole_wall_s * each, "ms/call", "same run")
    section.add(f"{way}: CPU per call", commits.whole_cpu_s * each, "ms/call", "same run")
    share = 100 * commits.cpu_s / commits.whole_cpu_s
    section.add(f"{way}: journal's share of CPU", share, "%", "same run")


def _play(
    sizes: Sizes, name: str, executor: ThreadPoolExecutor, sessions: int
) -> tuple[Commits, int, Path]:
    """Play a run; its transactions, its calls and its folder.

    Raises:
        WrongRun: Not all of it was played, or a transaction was not seen.
    """
    flags = {
        "sessions": sessions,
        "open_sessions": sizes.open_sessions,
        "max_cost": float(PLENTY_USD),
    }
    settings = {"simulation.fsync": "true"}  # as in runs that spend money
    prepared = api.plan(None, overrides=from_flags(flags), settings=settings)
    commits = Commits()
    listener = _Listener(_Watching(executor, commits))
    run = api.start(prepared, executor="in-process", listener=listener, results=sizes.folder / name)
    totals = run.file.totals
    assert totals is not None
    check_tables(run.path, sessions=sessions, calls=totals.calls)
    reader = JournalReader(run.path / JOURNAL_NAME)
    written = reader.last_seq()
    reader.close()
    if written != commits.entries:
        raise WrongRun(f"{run.path}: {written} entries, of which {commits.entries} were timed")
    return commits, totals.calls, run.path


def _encoding_s(run_dir: Path) -> float:
    """CPU seconds that encoding all entries of a journal takes."""
    reader = JournalReader(run_dir / JOURNAL_NAME)
    spent = 0.0
    for row in reader.rows(0, reader.last_seq()):
        began = time.thread_time()
        encode(row.entry)
        spent += time.thread_time() - began
    reader.close()
    return spent


class _Listener(Silent):
    """Gives the run's loop its executor."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self._executor = executor

    def starting(self, prepared: Prepared, run_id: str, run_dir: Path) -> None:
        asyncio.get_running_loop().set_default_executor(self._executor)


class _Watching(ThreadPoolExecutor):
    """Hands all work on to another executor, and times the journal's transactions there."""

    def __init__(self, inner: ThreadPoolExecutor, commits: Commits) -> None:
        super().__init__(max_workers=1)  # its own thread is never started
        self._inner, self._commits = inner, commits

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        work = partial(fn, *args, **kwargs)
        batch = _appended(fn)
        if batch is not None:
            return self._inner.submit(self._commits.timed, work, batch)
        return self._inner.submit(work)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._inner.shutdown(wait, cancel_futures=cancel_futures)
        super().shutdown(wait, cancel_futures=cancel_futures)


def _appended(fn: Callable[..., Any]) -> int | None:
    """How many entries a piece of work writes to the journal; ``None`` if it is something else."""
    match fn:
        case partial(args=(method, entries)):  # as asyncio.to_thread puts it
            writer = getattr(method, "__self__", None)
            return len(entries) if isinstance(writer, JournalWriter) else None
    return None
