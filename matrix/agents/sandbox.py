"""A sandbox for a command: bubblewrap's arguments, and its way to the metered address.

Inside, a command sees the programs of the system and what its agent ``reads``, read-only; the
session's folder at ``/session``, where it may write; an empty home and ``/tmp``; its own processes
only; and no network. Paths are the same for every session, so what an agent writes of them does not
differ from run to run.

The metered address comes in without a relay. A few lines of Python inside open a port of the
sandbox's own loopback, hand the listening socket out through a socket pair, and become the command;
whoever holds that socket outside answers what is asked inside.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

PROGRAM: Final = "bwrap"
PORT: Final = 4000
"""Port of the metered address inside; everything else of that loopback is free."""
WORK: Final = "/session"
"""The session's folder inside."""
HOME: Final = "/home/agent"
_USER: Final = "1000"
"""Inside, nobody is root: some agents refuse to work as root."""
_SHARED_MEMORY: Final = str(64 << 20)
_OPENING_S: Final = 60.0
"""How long a sandbox may take to open its port."""

_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_MORE: Final = ("/opt", "/nix/store", "/snap")
_ETC: Final = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "fonts",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki",
    "protocols",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
)
"""Of ``/etc``, what programs need; keys and passwords are in the rest."""

_OR_NONE: Final = ", or say sandbox: none, with which it may do on this machine whatever you may"
_RUN: Final = ("/bin/sh", "-c", 'exec "$@"', "sh")
"""So that a program that is not there gives 127, as without a sandbox."""

_OPEN_PORT: Final = """
import os, socket, sys
listening = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=1024)
with socket.socket(fileno=int(sys.argv[1])) as way_out:
    socket.send_fds(way_out, [b"."], [listening.fileno()])
listening.close()
os.execv("/bin/sh", ["/bin/sh", "-c", 'exec "$@"', "sh", *sys.argv[3:]])
"""


Listen = Callable[[socket.socket], None]
"""Takes the socket that listens at :data:`PORT` inside, from any thread."""


class Sandbox(NamedTuple):
    """What a command may see beside its folder.

    Attributes:
        reads: Paths that it may read.
        network: Whether it has the network of this machine; else none.
        listen: Takes the socket that listens inside; ``None`` if nobody does.
    """

    reads: tuple[str, ...] = ()
    network: bool = False
    listen: Listen | None = None


class WayOut:
    """The pair of sockets through which a sandbox hands out the one that it listens with."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()

    def __enter__(self) -> WayOut:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._theirs.close()

    def fileno(self) -> int:
        """The end that belongs inside."""
        return self._theirs.fileno()

    def take(self) -> socket.socket | None:
        """The socket that listens inside; ``None`` if the sandbox ended before it had one."""
        self._theirs.close()
        self._ours.settimeout(_OPENING_S)
        try:
            _, handles, _, _ = socket.recv_fds(self._ours, 1, 1)
        except OSError:
            return None
        return socket.socket(fileno=handles[0]) if handles else None


def enclosed(
    sandbox: Sandbox,
    folder: Path,
    scratch: Path,
    arguments: Sequence[str],
    way_out: int | None = None,
) -> list[str]:
    """The command line that runs a command in a sandbox.

    Args:
        sandbox: What it may see.
        folder: The session's folder.
        scratch: An empty folder for its home and its temporary files.
        arguments: The program and its arguments.
        way_out: File descriptor through which the socket that listens is handed out.
    """
    line = [PROGRAM, *_own_world(), *_system()]
    for inside, name in ((HOME, "home"), ("/tmp", "tmp")):  # noqa: S108  of the sandbox
        (scratch / name).mkdir(exist_ok=True)
        line += ["--bind", str(scratch / name), inside]
    own = () if Path(sys.base_prefix).is_relative_to("/usr") else (sys.base_prefix,)
    for path in (*own, *sandbox.reads):
        line += ["--ro-bind-try", path, path]
    line += ["--bind", str(folder), WORK, "--chdir", WORK, "--remount-ro", "/"]
    if not sandbox.network:
        line.append("--unshare-net")
    line.append("--")
    if way_out is None:
        return [*line, *_RUN, *arguments]
    python = os.path.realpath(sys.executable)
    return [*line, python, "-ISc", _OPEN_PORT, str(way_out), str(PORT), *arguments]


def trouble(sandbox: Sandbox, program: str, path: str | None) -> str:
    """What keeps a program from being run in a sandbox here; empty if nothing does.

    Args:
        sandbox: What it may see.
        program: Its name or path.
        path: The folders in which it is looked for, as ``PATH`` names them.
    """
    if shutil.which(PROGRAM) is None:
        return (
            "works in a sandbox, and bubblewrap is not installed here; install it (Debian, Ubuntu: "
            f"apt-get install bubblewrap; Fedora: dnf install bubblewrap){_OR_NONE}"
        )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        looking = ["/bin/sh", "-c", 'command -v "$1" > /dev/null', "sh", program]
        ran = subprocess.run(  # noqa: S603  our own line; the program is only looked for
            enclosed(sandbox, folder, folder, looking),
            env={} if path is None else {"PATH": path},
            capture_output=True,
            check=False,
        )
    if ran.returncode == 0:
        return ""
    if said := ran.stderr.decode(errors="replace").strip():
        return (
            f"works in a sandbox, which cannot be made here ({said.splitlines()[-1]}); allow "
            f"processes to make user namespaces{_OR_NONE}"
        )
    found = shutil.which(program, path=path)
    return (
        f"works in a sandbox, which does not show {program!r} ({found}); add the folder of its "
        f"installation to reads{_OR_NONE}"
    )


def _own_world() -> list[str]:
    names = ("user", "pid", "ipc", "uts")
    return [
        *(f"--unshare-{name}" for name in names),
        "--unshare-cgroup-try",
        *("--uid", _USER, "--gid", _USER),
        *("--cap-drop", "ALL"),
        "--die-with-parent",
    ]


def _system() -> Iterator[str]:
    for path in _SYSTEM:
        if Path(path).is_symlink():
            yield from ("--symlink", str(Path(path).readlink()), path)
        else:
            yield from ("--ro-bind-try", path, path)
    for path in (*_MORE, *(f"/etc/{name}" for name in _ETC)):
        yield from ("--ro-bind-try", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev", "--size", _SHARED_MEMORY, "--tmpfs", "/dev/shm")  # noqa: S108
