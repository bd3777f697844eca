"""The ``matrix`` program in a process of its own, and what its results folder holds afterwards."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from matrix.model.errors import StoreError
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.reading.reader import RunTables
from tests.forked import may_be_forked, run_forked
from tests.waiting import LONGEST_WAIT_S as LONGEST_WAIT_S

PROGRAM = (sys.executable, "-c", "from matrix.cli.main import main; main()")
"""The `matrix` program, of the Python that runs the tests."""

SLOW = {"time": "real", "latency": {"first_token_s": 0.01, "tokens_per_s": 1e6, "jitter": 0}}
"""Simulated models that take their time, so that a run lasts long enough to be killed."""


def counter_spec(**changes: Any) -> dict[str, Any]:
    """Two variants, five rounds, twenty turns with two calls at once: four hundred calls."""
    spec: dict[str, Any] = {
        "name": "count",
        "kind": "counter",
        "scenarios": ["one"],
        "factors": {"step": [1, 2]},
        "options": {"turns": 20, "width": 2},
        "per_cell": 5,
        "limits": {"cost_usd": 10, "turns": 60},
    }
    return spec | changes


def play_spec(**changes: Any) -> dict[str, Any]:
    """A play-test of one story, two prompts, two rounds and four turns."""
    spec: dict[str, Any] = {
        "name": "play",
        "kind": "playtest",
        "scenarios": ["house-too-many"],
        "factors": {"prompt": ["baseline", "pulse-aware"]},
        "per_cell": 2,
        "limits": {"cost_usd": 150, "turns": 4},
    }
    return spec | changes


def deciding_spec(**changes: Any) -> dict[str, Any]:
    """Three variants far apart, forty rounds, and no more of them than it takes to decide."""
    return counter_spec(
        name="decide",
        factors={"step": [1, 4, 7]},
        options={"turns": 3},
        per_cell=40,
        stop="when-decided",
        compare={"failure_margin": 20},
        **changes,
    )


SPECS = {
    "deciding": deciding_spec(),
    "counter": counter_spec(options={"turns": 20, "width": 2, "shared_start": True}),
    "playtest": play_spec(),
    "slow counter": counter_spec(per_cell=10, simulation=SLOW),
}
"""Small runs."""


@dataclass
class Done:
    """How a program ended."""

    code: int
    out: str
    err: str


@dataclass
class Project:
    """A folder with a spec and results, and programs that are run in it.

    Attributes:
        folder: Where it is.
        environment: Variables of the programs.
        inside: What every command begins with.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()

    def write(self, spec: Mapping[str, Any]) -> None:
        (self.folder / "matrix.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(dict(spec)))))

    def path(self, run_id: str) -> Path:
        return self.folder / "results" / run_id

    def tables(self, run_id: str) -> RunTables:
        return RunTables(self.path(run_id))

    def start(
        self,
        *arguments: str,
        file_limit: int | None = None,
        nohup: bool = False,
        terminal: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start ``matrix`` with these arguments.

        Args:
            arguments: After the program's name.
            file_limit: Largest file that it may write, in bytes; then the disk is full for it.
            nohup: Have it started by ``nohup``.
            terminal: The terminal that it is to have; none, if left out.
        """
        return subprocess.Popen(
            [*self.inside, *PROGRAM, *arguments],
            cwd=self.folder,
            env=_clean_environment() | dict(self.environment),
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=partial(_before, file_limit, nohup, terminal),
        )

    def matrix(self, *arguments: str, file_limit: int | None = None) -> Done:
        """Run ``matrix`` to its end."""
        environment = _clean_environment() | dict(self.environment)
        if not self.inside and file_limit is None and may_be_forked(self.environment):
            out, err, code = run_forked(self.folder, arguments, environment)
            return Done(code, out, err)
        with self.started(*arguments, file_limit=file_limit) as process:
            return finished(process)

    @contextmanager
    def started(
        self, *arguments: str, file_limit: int | None = None, terminal: int | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        """A program that does not outlive the block, nor does anything that it started."""
        process = self.start(*arguments, file_limit=file_limit, terminal=terminal)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(LONGEST_WAIT_S)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def undisturbed(folder: Path, spec: Mapping[str, Any]) -> Path:
    """Play a run to its end, undisturbed; its folder, to compare disturbed ones with."""
    project = Project(folder)
    project.write(spec)
    done = project.matrix("run", "--executor", "in-process", "--run-id", "whole", "--quiet")
    assert done.code == 0, done.err
    return project.path("whole")


def finished(process: subprocess.Popen[str]) -> Done:
    """Wait for a program's end."""
    out, err = process.communicate(timeout=LONGEST_WAIT_S)
    return Done(process.returncode, out, err)


def entries_of(run_dir: Path) -> int:
    """How many entries a run's journal has by now; 0 while it is being created."""
    with suppress(StoreError):
        reader = JournalReader(run_dir / JOURNAL_NAME)
        try:
            return reader.last_seq()
        finally:
            reader.close()
    return 0


def wait_for(condition: Callable[[], bool], patience_s: float = LONGEST_WAIT_S) -> None:
    """Return once ``condition`` holds; fail if it does not in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)  # each look opens the journal anew, which is work


def kill_at(process: subprocess.Popen[str], condition: Callable[[], bool]) -> bool:
    """Kill a program once this holds, or it has ended; whether it was still alive."""
    wait_for(lambda: condition() or process.poll() is not None)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait(LONGEST_WAIT_S)
    return alive


def grown_to(run_dir: Path, entries: int) -> Callable[[], bool]:
    """Whether a run's journal has so many entries by now."""
    return lambda: entries_of(run_dir) >= entries


def processes_of(session: int, name: str = "") -> list[int]:
    """Living processes of an operating-system session, by a part of their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, _, _, sid = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (folder / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(sid) == session and state != "Z" and name in command:
            found.append(int(folder.name))
    return found


def _clean_environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MATRIX_")}
    return {**own, "MATRIX_REPORT": "0"}  # a page takes seconds, and has tests of its own


def _before(file_limit: int | None, nohup: bool, terminal: int | None) -> None:
    """What is set in the new process before it becomes the program."""
    hang_up(ignored=nohup)
    if terminal is not None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))


def hang_up(*, ignored: bool) -> None:
    """Ignore SIGHUP as ``nohup`` does, or not, whoever runs the tests in whatever way."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
