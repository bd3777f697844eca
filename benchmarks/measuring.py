"""Processes seen from outside: processor time and memory of a command with all its descendants.

Reads ``/proc`` (Linux). Memory is given twice: PSS, where pages that processes share count once
in all, and RSS, where they count in every process that maps them.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MOVED: Final = 1024 * 1024
"""Bytes by which a process grows or shrinks before its pages are counted again, which is slow."""
_EVERY_S: Final = 0.25
"""Seconds between two looks at the processes of a command."""
_STOP_S: Final = 15.0
"""How long a command that is interrupted may take to go away by itself."""

DRIVER: Final = "driver"
_RAY_ACTOR: Final = re.compile(r"ray::(\w+?)Actor\b")
_ACTORS: Final = {
    "SessionWorker": "workers",
    "Governor": "governor",
    "ProviderClient": "provider clients",
    "Publisher": "publisher",
}


class Reading(NamedTuple):
    """One process at one moment: bytes of memory, seconds of processor time since its start."""

    pss: int
    rss: int
    cpu_s: float


class Use(NamedTuple):
    """The most memory that the processes of one role took, in bytes."""

    pss: int
    rss: int


@dataclass(slots=True)
class Watched:
    """A command that ran to its end, and what it and its descendants used.

    Attributes:
        started_at: When it was started, in UTC seconds.
        wall_s: Seconds until it exited.
        sampling_s: Processor seconds that looking at it took, in this process.
        roles: Process id -> ``driver``, ``governor``, ``workers``, ``publisher``, ``ray`` ...
        parents: Process id -> the process that started it, of every process seen.
        samples: Process id -> reading, at each moment.
        moments: When those samples were taken, in UTC seconds.
        beside: Process id -> role, of processes that work for the command but are not its own.
    """

    started_at: float = 0.0
    wall_s: float = 0.0
    sampling_s: float = 0.0
    roles: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    samples: list[dict[int, Reading]] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    beside: dict[int, str] = field(default_factory=dict)

    @property
    def peak_pss(self) -> int:
        """Most memory of all processes together, shared pages counted once, in bytes."""
        return max(sum(reading.pss for reading in sample.values()) for sample in self.samples)

    @property
    def peak_rss(self) -> int:
        """The same with shared pages counted in every process, in bytes."""
        return max(sum(reading.rss for reading in sample.values()) for sample in self.samples)

    def pss_at(self, when: float) -> dict[str, int]:
        """Memory of each role at a UTC moment, in bytes, as the last look before it saw it."""
        index = max(bisect_right(self.moments, when) - 1, 0)
        sizes: dict[str, int] = dict.fromkeys(sorted(set(self.roles.values())), 0)
        for pid, reading in self.samples[index].items():
            sizes[self.roles[pid]] += reading.pss
        return sizes

    def by_role(self) -> dict[str, Use]:
        """Peak memory of each role; these peaks need not coincide."""
        return {role: self._use(role) for role in sorted(set(self.roles.values()))}

    def cores_between(self, start: float, end: float) -> dict[str, float]:
        """Processors that each role kept busy, on average, between two UTC moments."""
        inside = [i for i, moment in enumerate(self.moments) if start <= moment <= end]
        if len(inside) < 2:
            return {}
        first, last = self.samples[inside[0]], self.samples[inside[-1]]
        spent = self.moments[inside[-1]] - self.moments[inside[0]]
        busy: dict[str, float] = dict.fromkeys(sorted(set(self.roles.values())), 0.0)
        for pid in first.keys() & last.keys():
            busy[self.roles[pid]] += (last[pid].cpu_s - first[pid].cpu_s) / spent
        return busy

    def _use(self, role: str) -> Use:
        pids = {pid for pid, name in self.roles.items() if name == role}
        moments = [[s[pid] for pid in pids & s.keys()] for s in self.samples]
        return Use(
            max((sum(r.pss for r in moment) for moment in moments), default=0),
            max((sum(r.rss for r in moment) for moment in moments), default=0),
        )


class CommandFailed(RuntimeError):
    """A measured command failed or did not end, so there is nothing to report."""


def watch(
    command: Sequence[str],
    *,
    folder: Path,
    limit_s: float,
    memory: bool = True,
    beside: Mapping[int, str] | None = None,
) -> Watched:
    """Run a command to its end and look at all its processes every quarter of a second.

    Its output goes to ``output.txt`` in ``folder``. After ``limit_s`` seconds it is stopped.
    Looking costs next to nothing without ``memory``. ``beside`` names processes, by id, that work
    for the command without descending from it; of those only the processor time counts.

    Raises:
        CommandFailed: It ended with an error, or not in time.
    """
    seen = Watched(started_at=time.time(), beside=dict(beside or {}))
    seen.roles.update(seen.beside)
    began = time.monotonic()
    log = folder / "output.txt"
    with _started(command, folder, log) as process:
        while process.poll() is None:
            _look(process.pid, seen, memory)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_EVERY_S)
            if time.monotonic() - began > limit_s:
                raise CommandFailed(f"not done after {limit_s:.0f} s: {' '.join(command)}")
    seen.wall_s = time.monotonic() - began
    if process.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise CommandFailed(f"exit code {process.returncode}: {' '.join(command)}\n{tail}")
    return seen


def cpu_of(command: Sequence[str], *, folder: Path, repeats: int) -> tuple[float, float]:
    """Median processor and wall seconds of a short command, its children included.

    Raises:
        CommandFailed: It ended with an error.
    """
    cpu, wall = [], []
    for _ in range(repeats):
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=clean_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall.append(time.monotonic() - began)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise CommandFailed(f"exit code {process.returncode}: {' '.join(command)}")
        cpu.append(used.ru_utime + used.ru_stime)
    return median(cpu), median(wall)


def cpu_s(pid: int) -> float:
    """Processor seconds that a process has used since its start."""
    return _reading(pid, False, None).cpu_s


def timed(work: Callable[[], object], repeats: int = 1) -> float:
    """Median wall seconds of doing something ``repeats`` times."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def clean_environment() -> Mapping[str, str]:
    """This environment without ``MATRIX_*`` variables, which would change what is measured."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MATRIX_")}


class _started:  # noqa: N801  reads as a function where it is used
    """A command that is stopped, with all its descendants, if its block is left early."""

    def __init__(self, command: Sequence[str], folder: Path, log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=folder, env=clean_environment(), stdout=output, stderr=output
            )

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self._process

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is not None:
            return
        family = list(_family(self._process.pid, {}))
        self._process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


def _look(root: int, seen: Watched, memory: bool) -> None:
    began = time.thread_time()
    before = seen.samples[-1] if seen.samples else {}
    sample: dict[int, Reading] = {}
    for pid in _family(root, seen.parents):
        with suppress(OSError, ValueError):  # it may end while it is being looked at
            sample[pid] = _reading(pid, memory, before.get(pid))
            role = DRIVER if pid == root else _role(_PROC / str(pid) / "cmdline")
            if role != "ray" or pid not in seen.roles:
                seen.roles[pid] = role
    for pid in seen.beside:
        with suppress(OSError, ValueError):
            sample[pid] = _reading(pid, False, None)
    seen.samples.append(sample)
    seen.moments.append(time.time())
    seen.sampling_s += time.thread_time() - began


def _reading(pid: int, memory: bool, before: Reading | None) -> Reading:
    """One process now; its shares of pages are counted anew only if it has grown or shrunk."""
    fields = _stat(pid)
    cpu_s = (int(fields[11]) + int(fields[12])) / _TICKS
    if not memory:
        return Reading(0, 0, cpu_s)
    if before is not None and abs(int(fields[21]) * _PAGE - before.rss) < _MOVED:
        return before._replace(cpu_s=cpu_s)
    kib = {"Pss": 0, "Rss": 0}
    for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in kib:
            kib[name] = int(value.split()[0])
    return Reading(kib["Pss"] * 1024, kib["Rss"] * 1024, cpu_s)


def _role(cmdline: Path) -> str:
    text = cmdline.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    if (actor := _RAY_ACTOR.match(text)) is not None:
        return _ACTORS.get(actor[1], actor[1])
    return "ray"


def _family(root: int, parents: dict[int, int]) -> Iterator[int]:
    """A process and all its descendants that are alive; ``parents`` remembers who is whose."""
    children: dict[int, list[int]] = {}
    for pid in [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]:
        with suppress(OSError):
            parent = parents.get(pid)
            if parent is None:
                parent = parents[pid] = int(_stat(pid)[1])
            children.setdefault(parent, []).append(pid)
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _stat(pid: int) -> list[str]:
    """Fields of ``/proc/<pid>/stat`` from the third on: the name before them may hold anything."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
