"""Running a command in a session's working folder, so that nothing of it outlives its effect.

The command gets a process group of its own, which is killed when the command is over, takes too
long, or when the process that started it dies: a watcher in the group waits for the end of a pipe
that only that process holds. A process that leaves its group is found by what it still has of the
command: that pipe, or a variable. Who lets go of both is ended by a sandbox only; while it has the
folder's lock, which every process of the command inherits, nobody else can use the folder.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import IO, Final, NamedTuple

from matrix.agents.sandbox import HOME, Listen, Sandbox, WayOut, enclosed
from matrix.agents.turns import WallTime, WorkedFor
from matrix.kinds.context import MOST_OUTPUT, CommandResult
from matrix.model.errors import FolderUnavailable

DYING_S: Final = 10.0
"""How long killed processes may take to be gone."""
_LOOK_S: Final = 0.25
"""How often it is looked for those that have left the group meanwhile."""

MARK: Final = "AGENT_TURN_MARK"
"""Variable by which processes of a command are found that have left its group."""

_KEPT_VARIABLES: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")

_WATCHED: Final = """
( read -r _ < "/dev/fd/$0"; kill -KILL 0 ) < /dev/null > /dev/null 2>&1 &
exec "$@"
"""


class Command(NamedTuple):
    """What to run and where.

    Attributes:
        arguments: The program and its arguments.
        folder: Where it runs.
        scratch: Its home and place for temporary files; not kept.
        stdin: What it reads.
        environment: Variables besides the few that are passed on (no keys are).
        timeout_s: Time after which it is killed, in seconds.
        lock: File descriptor of the folder's lock, if it has one.
        worked: How long it has worked, in seconds, by whoever knows; else its wall time counts.
        sandbox: What it may see; ``None`` for all that its user may.
    """

    arguments: Sequence[str]
    folder: Path
    scratch: Path
    stdin: str
    environment: Mapping[str, str]
    timeout_s: float
    lock: int | None
    worked: WorkedFor | None = None
    sandbox: Sandbox | None = None


class Running:
    """One command; ``run`` it in a thread of its own, ``kill`` it from any other."""

    def __init__(self, command: Command) -> None:
        self._command, self._mark = command, secrets.token_hex(8)
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def kill(self) -> None:
        """End it, also one that has not begun yet."""
        with self._guard:
            self._killed = True
            if self._process is not None:
                _kill_group(self._process.pid)

    def run(self) -> CommandResult:
        """Run it to its end, or to the end of its time.

        Raises:
            FolderUnavailable: It left processes behind that could not be ended.
            OSError: It cannot be started.
        """
        with ExitStack() as stack:
            watched, _lifeline = _pipe(stack)
            end, alive = _pipe(stack)
            given = stack.enter_context(self._file())
            given.write(self._command.stdin.encode(errors="replace"))
            given.seek(0)
            out, err = stack.enter_context(self._file()), stack.enter_context(self._file())
            way_out = stack.enter_context(WayOut()) if self._listen is not None else None
            handed = (watched, alive) if way_out is None else (watched, alive, way_out)
            with self._guard:
                if self._killed:
                    raise FolderUnavailable("the session was stopped before its command began")
                self._process = process = subprocess.Popen(  # noqa: S603  the kind says what runs
                    ["/bin/sh", "-c", _WATCHED, str(watched.fileno()), *self._line(way_out)],
                    cwd=self._command.folder,
                    env=self._environment(),
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    pass_fds=(*(one.fileno() for one in handed), *self._locks),
                )
            if way_out is not None:
                self._hand_out(way_out)
            code = self._wait(process)
            alive.close()
            _wait_for_all(end)
            if self._command.sandbox is None:
                _end_marked(f"{MARK}={self._mark}".encode())
            return CommandResult(code, _text(out), _text(err), code is None, _size(out), _size(err))

    @property
    def _locks(self) -> tuple[int, ...]:
        return () if self._command.lock is None else (self._command.lock,)

    @property
    def _listen(self) -> Listen | None:
        return None if self._command.sandbox is None else self._command.sandbox.listen

    def _hand_out(self, way_out: WayOut) -> None:
        """Give the socket that the sandbox listens with to whoever answers there."""
        listening = way_out.take()
        if listening is not None and self._listen is not None:
            self._listen(listening)

    def _line(self, way_out: WayOut | None) -> Sequence[str]:
        command = self._command
        if command.sandbox is None:
            return command.arguments
        handle = None if way_out is None else way_out.fileno()
        return enclosed(command.sandbox, command.folder, command.scratch, command.arguments, handle)

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        worked = self._command.worked or WallTime(time.monotonic)
        worked.begin()
        try:
            while (left := self._command.timeout_s - worked()) > 0:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(left)
            return None
        finally:
            with self._guard:
                _kill_group(process.pid)  # what it left in the background, and the watcher
                self._process = None
            process.wait()

    def _file(self) -> IO[bytes]:
        return tempfile.TemporaryFile(dir=self._command.scratch)

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        scratch = str(self._command.scratch)
        own = {"HOME": scratch, "TMPDIR": scratch, MARK: self._mark}
        if self._command.sandbox is not None:
            own = {"HOME": HOME, "TMPDIR": "/tmp"}  # noqa: S108  of the sandbox
        return {**kept, **own, **self._command.environment}


def _pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """Both ends of a pipe, closed with the stack; no other child inherits them."""
    source, target = os.pipe()
    return stack.enter_context(FileIO(source)), stack.enter_context(FileIO(target, "w"))


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _wait_for_all(end: FileIO) -> None:
    """Wait until no process of the command is left to write into the folder."""
    poll = select.poll()
    poll.register(end, select.POLLIN)
    for _ in range(round(DYING_S / _LOOK_S)):
        if poll.poll(_LOOK_S * 1000) and not end.read(4096):
            return
        _kill_holders(end)
    raise FolderUnavailable(
        f"a command left processes behind that are still there {DYING_S:g} s after they were "
        "killed; a command of a session must not start processes that leave its group"
    )


def _size(output: IO[bytes]) -> int:
    return os.fstat(output.fileno()).st_size


def _kill_holders(end: FileIO) -> None:
    """Kill processes that have left the command's group, but not let go of its pipe (Linux)."""
    held = f"pipe:[{os.fstat(end.fileno()).st_ino}]"
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it has ended, or is somebody else's
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            if os.getpid() in (int(folder.name), int(status[1])):
                continue  # a child of ours is another command, which is about to begin
            if any(str(handle.readlink()) == held for handle in (folder / "fd").iterdir()):
                os.kill(int(folder.name), signal.SIGKILL)


def _end_marked(mark: bytes) -> None:
    """End processes that have left the group and let go of the pipe, but kept the environment.

    One that has cleared that, too, is found by nothing; only a sandbox ends those.
    """
    for _ in range(round(DYING_S / _LOOK_S)):
        found = [pid for pid in _processes() if mark in _environment_of(pid)]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _processes() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]


def _environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is somebody else's
        return []


def _text(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read(MOST_OUTPUT).decode(errors="replace")
