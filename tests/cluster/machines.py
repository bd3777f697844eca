"""Ray clusters of separate ``ray start`` nodes, each with a home, folder and variables of its own.

They are on this host and share its disk: what they must not see of each other is put where only
one of them looks.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.executors.programs import processes_of, wait_for
from tests.waiting import LONGEST_WAIT_S

RAY = (sys.executable, "-m", "ray.scripts.scripts")
"""The ``ray`` program, of the Python that runs the tests."""

STORE_BYTES = 80 * 1024 * 1024
TOKEN = "f" * 64
"""What a cluster of these machines asks for, if it asks for anything."""


@dataclass
class Machine:
    """One node: its processes, and where its home is."""

    name: str
    process: subprocess.Popen[str]
    home: Path
    output: Path

    def pids(self, name: str = "") -> list[int]:
        """Its processes, by a part of their command line."""
        return processes_of(self.process.pid, name)

    def vanish(self) -> None:
        """All its processes are gone at once."""
        for signum in (signal.SIGSTOP, signal.SIGKILL):
            for pid in self.pids():
                with suppress(ProcessLookupError):
                    os.kill(pid, signum)
        self.process.wait(LONGEST_WAIT_S)

    def lose(self, *names: str) -> None:
        """Processes of it are killed, by a part of their command line; the others find out."""
        for pid in (pid for name in names for pid in self.pids(name)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def inside(self, folder: Path) -> tuple[str, ...]:
        """What a command begins with that runs in a folder, and sees this machine's processes."""
        (first, *_) = self.pids("/raylet/raylet")
        return ("nsenter", "--target", str(first), "--user", "--pid", "--mount", f"--wd={folder}")


@dataclass
class Machines:
    """A head and its nodes; ``environment`` is that of whoever joins from the head's machine."""

    folder: Path
    token: str = ""
    port: int = 0
    all: list[Machine] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def environment_of(self, name: str, **more: str) -> dict[str, str]:
        """Variables of a machine, with a home of its own in which its token is."""
        home = self.folder / name
        (home / ".ray").mkdir(parents=True, exist_ok=True)
        if self.token:
            (home / ".ray" / "auth_token").write_text(self.token)
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("RAY_", "MATRIX_")) and not key.endswith("_API_KEY")
        }
        mine = {"HOME": str(home), "TMPDIR": str(home), "RAY_TMPDIR": str(self.folder)}
        return kept | mine | more

    def head(self, cpus: int, *more: str, **variables: str) -> Machine:
        """Start the head; only the first of a set of machines."""
        self.port = _free_port()
        board = () if "--include-dashboard=true" in more else ("--include-dashboard=false",)
        ports = ("--port", str(self.port), "--temp-dir", str(self.folder / "ray"), *board)
        return self._start("head", cpus, ("--head", *ports, *more), variables)

    def add(
        self,
        cpus: int,
        *,
        hides: Path | None = None,
        variables: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> Machine:
        """Start another node.

        Args:
            cpus: How many it has.
            hides: A folder in which it finds nothing.
            variables: More of its environment.
            apart: It sees no processes but its own, and so may be the driver's machine.
        """
        joins, begins = ("--address", self.address), _ALONE if apart else _hiding(hides)
        return self._start(f"node-{len(self.all)}", cpus, joins, variables or {}, begins)

    def _start(
        self,
        name: str,
        cpus: int,
        more: tuple[str, ...],
        variables: Mapping[str, str],
        begins: tuple[str, ...] = (),
    ) -> Machine:
        environment = self.environment_of(name, **variables)
        environment["RAY_AUTH_MODE"] = "token" if self.token else "disabled"
        output = self.folder / f"{name}.out"
        size = ("--object-store-memory", str(STORE_BYTES), "--num-cpus", str(cpus))
        agent = ("--dashboard-agent-listen-port", str(_free_port()))  # else one for all of a host
        with output.open("w") as out:
            process = subprocess.Popen(
                [
                    *begins,
                    *RAY,
                    "start",
                    "--block",
                    "--disable-usage-stats",
                    *size,
                    *agent,
                    *more,
                ],
                cwd=environment["HOME"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        machine = Machine(name, process, Path(environment["HOME"]), output)
        self.all.append(machine)
        wait_for(lambda: "Ray runtime started" in output.read_text() or _ended(process, output))
        return machine


_ALONE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
"""What a command begins with that sees no processes but those it starts."""


def namespaces_allowed() -> bool:
    """Whether this system lets this user have machines that are :meth:`Machines.add`-ed apart."""
    return not subprocess.run([*_ALONE, "true"], capture_output=True, check=False).returncode


def _hiding(folder: Path | None) -> tuple[str, ...]:
    """What a command begins with that sees an empty folder in the place of this one."""
    if folder is None:
        return ()
    script = 'mount -t tmpfs none "$0" && exec "$@"'
    return ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, str(folder))


def _ended(process: subprocess.Popen[str], output: Path) -> bool:
    assert process.poll() is None, output.read_text()
    return False


@contextmanager
def machines(token: str = "") -> Iterator[Machines]:
    """A cluster that does not outlive the block; its sockets need a short path."""
    folder = Path(tempfile.mkdtemp(prefix="mx-", dir="/tmp"))
    made = Machines(folder, token)
    try:
        yield made
    finally:
        for machine in reversed(made.all):
            machine.vanish()
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
