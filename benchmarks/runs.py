"""Real runs to measure: ``matrix run`` in a process of its own, checked after it has ended."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from benchmarks.measuring import Watched, watch
from matrix.engine.prepare.spec_files import SPEC_NAME
from matrix.model.entries import Settled
from matrix.store.journal.codec import SETTLED
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader

COUNTER_SPEC: Final = """\
version: 1
name: counter
kind: counter
scenarios: [one]
options: {turns: %d}
"""
"""A run spec of the ``counter`` kind: one call per turn, and a checkpoint after each."""

PLENTY_USD: Final = "1000000"
_NO_CAP: Final = ("--max-cost", PLENTY_USD)
_LIMIT_S: Final = 600.0
_PLAYED: Final = ("completed", "timeout", "failed")
"""Ends of a session's own; the others are ends that something else put to it."""


@dataclass(frozen=True)
class Played:
    """A run that ended, with the processes that played it."""

    command: str
    run_dir: Path
    watched: Watched

    @cached_property
    def answered_at(self) -> list[float]:
        """When each call was answered, in UTC seconds, sorted: as the governor journalled it."""
        reader = JournalReader(self.run_dir / JOURNAL_NAME)
        try:
            rows = reader.rows(0, reader.last_seq(), kinds=(SETTLED,))
            return sorted(
                row.entry.at
                for row in rows
                if isinstance(row.entry, Settled) and row.entry.answer is not None
            )
        finally:
            reader.close()

    @cached_property
    def ended_at(self) -> list[float]:
        """When each session ended, in UTC seconds, sorted."""
        from matrix.store.reading.reader import RunTables

        ends = RunTables(self.run_dir).table("sessions", ["ended_at"])["ended_at"]
        return sorted(end.timestamp() for end in ends.to_pylist() if end is not None)

    @property
    def calls(self) -> int:
        """Calls that were answered."""
        return len(self.answered_at)

    @property
    def steady_rate(self) -> float:
        """Calls per second from the first answered call to the last."""
        return _rate(self.answered_at)

    @property
    def middle_rate(self) -> float:
        """Calls per second over the middle 80 % of the answers, without start and tail."""
        tenth = self.calls // 10
        return _rate(self.answered_at[tenth : self.calls - tenth])


class WrongRun(RuntimeError):
    """A run did not do the work that was to be measured."""


def matrix_command(*arguments: str) -> list[str]:
    """The ``matrix`` program of this environment."""
    return [str(Path(sys.executable).with_name("matrix")), *arguments]


@dataclass(frozen=True, slots=True)
class Job:
    """A run to play.

    Attributes:
        sessions: Sessions in all.
        spec: Text of a run spec; the built-in play-tests if left out.
        open_sessions: Sessions being played at the same time, under a cap that does not bind.
        max_turns: Turns per session, if fewer than the spec has.
        in_process: Without Ray.
        memory: Whether to follow the memory of its processes.
        beside: Process id -> role, of servers that work for the run.
        as_paid: Its journal is flushed as that of a run which spends money; else as simulated.
    """

    sessions: int
    spec: str | None = None
    open_sessions: int | None = None
    max_turns: int | None = None
    in_process: bool = False
    memory: bool = False
    beside: Mapping[int, str] = field(default_factory=dict)
    as_paid: bool = True

    @property
    def arguments(self) -> list[str]:
        """Arguments of the ``matrix`` program."""
        return [
            "run",
            *([SPEC_NAME] if self.spec else []),
            *("--sessions", str(self.sessions)),
            *(["--open-sessions", str(self.open_sessions), *_NO_CAP] if self.open_sessions else []),
            *(["--max-turns", str(self.max_turns)] if self.max_turns else []),
            *(["--set", "simulation.fsync=true"] if self.as_paid else []),
            *("--executor", "in-process" if self.in_process else "ray"),
        ]


def play(folder: Path, name: str, job: Job) -> Played:
    """Play a job in ``folder/name``, wait for its end, and check that all of it was played.

    Raises:
        CommandFailed: The command failed.
        WrongRun: It did less than it was asked to do.
    """
    own = folder / name
    own.mkdir(parents=True)
    if job.spec is not None:
        (own / SPEC_NAME).write_text(job.spec)
    command = matrix_command(*job.arguments, "--yes", "--results", ".", "--run-id", "measured")
    watched = watch(command, folder=own, limit_s=_LIMIT_S, memory=job.memory, beside=job.beside)
    played = Played(" ".join(["matrix", *job.arguments]), own / "measured", watched)
    check_tables(played.run_dir, sessions=job.sessions, calls=played.calls)
    return played


def check_tables(run_dir: Path, *, sessions: int, calls: int) -> None:
    """Check that a run's tables hold every session, played to its own end, and every call.

    Raises:
        WrongRun: They do not.
    """
    from matrix.store.reading.reader import RunTables

    tables = RunTables(run_dir)
    ends = tables.table("sessions", ["outcome", "error_class", "end_reason"]).to_pylist()
    rows = tables.table("calls", ["answered"])["answered"].to_pylist().count(True)
    lost = Counter(str(end) for end in ends if end["outcome"] not in _PLAYED)
    if lost or len(ends) != sessions:
        raise WrongRun(f"{run_dir}: {len(ends)} of {sessions} sessions; {dict(lost)}")
    if calls <= sessions or rows != calls:
        raise WrongRun(f"{run_dir}: {rows} answered calls in the tables, {calls} in the journal")


def _rate(times: Sequence[float]) -> float:
    spent = times[-1] - times[0] if len(times) > 1 else 0.0
    return (len(times) - 1) / spent if spent > 0 else 0.0
